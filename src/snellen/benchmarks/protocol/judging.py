"""Judges as steps of a flow: `verdicts = yield from ask_judges(panel, "mm-vet", ...)`.

A judge is whatever model has the role `judge` (`judge-2`, ... if there are several). Each is asked
with a stored rubric; a function of `extract.verdicts` parses its reply. If it cannot, the judge is
asked again at a higher temperature; after the last try it has no verdict. No number ever stands in
for a verdict: without any the sample is `ungraded`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean, variance
from typing import NamedTuple

from msgspec import structs

from snellen.core.benchmark import Variant
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Steps, Verdict
from snellen.core.request import Generate, Generation, Ref
from snellen.core.sample import MediaRef
from snellen.data.toml_files import read_toml
from snellen.extract.quotes import without_quotes
from snellen.extract.unanswered import model_text
from snellen.extract.verdicts import GRADE, ParsedVerdict
from snellen.prompts.judging import Rubric, load_rubric, reworded_rubrics

JUDGE = "judge"
VOTES = ("1", "3", "5")
"""How often each judge may be asked about one reply: the option `votes`."""
JUDGE_REPEATS = "judge_repeats"
"""Parameter: how often each verdict was asked for, where more than once."""
RUBRIC_PREFIX = "rubric_"
"""Begins the names of what a run records about its rubrics."""
RUBRIC_FILE = f"{RUBRIC_PREFIX}file"
"""Parameter: the name of the user's file with the words in which judges are asked."""
AGREEMENT = "agreement"
"""Value: 1 where all verdicts about a sample are the same, else 0."""
JUDGE_VARIANCE = "judge_variance"
"""Value: the variance between repeated verdicts of one judge, where verdicts were repeated."""
_TEMPERATURES = (0.0, 0.5, 1.0)
"""Temperature of each try; the first of several votes is greedy too."""
_VOTE_TEMPERATURE = 0.2

VerdictParser = Callable[[str], ParsedVerdict | None]
"""A judge's reply to what it says, or None where that cannot be told."""


def judge_roles(count: int) -> tuple[str, ...]:
    """`judge`, `judge-2`, ..."""
    return tuple(JUDGE if number == 1 else f"{JUDGE}-{number}" for number in range(1, count + 1))


@dataclass(frozen=True, slots=True)
class JudgePanel:
    """The judges of a run, and how each is asked."""

    roles: tuple[str, ...] = ()
    votes: int = 1
    """How often each is asked about the same reply; its verdicts count alike."""
    repeats: int = 1
    """How often it is asked for each verdict in the very same way, to see how far it varies; these
    verdicts count alike too."""
    max_new_tokens: int = 1024
    has_recorded_verdicts: bool = False
    """Whether their verdicts stand in a file, and so decide every reply they are about."""
    custom_rubrics: Mapping[str, Rubric] = field(default_factory=dict)
    """Rubrics in the words of the user's file, by name; the others are the stored ones."""
    rubrics_file: str = ""

    def __bool__(self) -> bool:
        return bool(self.roles)

    def rubric(self, name: str) -> Rubric:
        """The rubric as these judges are asked it."""
        return self.custom_rubrics.get(name) or load_rubric(name)


def panel_of(variant: Variant, *rubrics: str, votes: int = 1, max_new_tokens: int = 1024) -> JudgePanel:
    """The judges of a run, who are asked with these rubrics. Raises UsageError for a file of
    other words that does not fit them."""
    path = variant.judge_prompt
    return JudgePanel(
        roles=judge_roles(variant.judges),
        votes=votes,
        repeats=variant.judge_repeats,
        max_new_tokens=max_new_tokens,
        has_recorded_verdicts=variant.recorded_verdicts,
        custom_rubrics=reworded_rubrics(read_toml(path), rubrics, path) if path else {},
        rubrics_file=Path(path).name if path else "",
    )


def judge_parameters(panel: JudgePanel, *rubrics: str) -> dict[str, str]:
    """What a run records about how its judges are asked; which models they are is in its roles."""
    if not panel:
        return {}
    parameters = {f"{RUBRIC_PREFIX}{name}": panel.rubric(name).short_digest for name in rubrics}
    if panel.rubrics_file:
        parameters[RUBRIC_FILE] = panel.rubrics_file
    counts = {"votes": panel.votes, JUDGE_REPEATS: panel.repeats}
    return parameters | {name: str(count) for name, count in counts.items() if count > 1}


def rubric_parameter(*rubrics: str) -> dict[str, str]:
    """The digests of stored rubrics for an extractor, as a run records them."""
    return {f"{RUBRIC_PREFIX}{name}": load_rubric(name).short_digest for name in rubrics}


class PanelVerdicts(NamedTuple):
    """The verdicts of all judges on one reply."""

    verdicts: tuple[Verdict, ...]

    @property
    def failure(self) -> Failure | None:
        """The first judge that did not answer: the sample failed, and is asked again on resume."""
        outputs = (verdict.output for verdict in self.verdicts)
        return next((output for output in outputs if isinstance(output, Failure)), None)

    @property
    def is_missing(self) -> bool:
        """Whether no verdict about the reply is recorded."""
        kinds = [verdict.output.kind for verdict in self.verdicts if isinstance(verdict.output, Failure)]
        return len(kinds) == len(self.verdicts) and set(kinds) <= {"missing"}

    @property
    def readable(self) -> tuple[Verdict, ...]:
        """The verdicts that could be parsed."""
        return tuple(verdict for verdict in self.verdicts if verdict.is_legible)

    def by_judge(self, name: str = GRADE) -> dict[str, float]:
        """Each judge's mean grade, in the range of the rubric."""
        grades: dict[str, list[float]] = {}
        for verdict in self.readable:
            grades.setdefault(verdict.judge, []).append(verdict.values[name])
        return {judge: sum(values) / len(values) for judge, values in grades.items()}

    def grade(self, name: str = GRADE) -> float | None:
        """The judges' consensus (see `consensus_grade`); None if no verdict could be parsed."""
        grades = [verdict.values[name] for verdict in self.readable]
        return consensus_grade(grades) if grades else None


def consensus_grade(grades: Sequence[float]) -> float:
    """One grade of several: of grades 0 and 1 the majority, a tie being one half because
    nobody's vote is preferred; of other grades the mean."""
    mean = sum(grades) / len(grades)
    if set(grades) <= {0.0, 1.0}:
        return float(mean > 0.5) if mean != 0.5 else 0.5
    return mean


def ask_judges(
    panel: JudgePanel,
    rubric_name: str,
    fields: Mapping[str, str],
    parse: VerdictParser,
    ref: Ref,
    *,
    about: str = "",
    step: str = GRADE,
    media: Sequence[MediaRef] = (),
) -> Steps[PanelVerdicts]:
    """Ask every judge, each as often as there are votes and repeats, and parse their verdicts.

    `fields` fill the rubric; `step` names the task in the records. `about` is the reply that is
    judged: what a judge merely quotes from it is no verdict (`extract.quotes`). It is empty if the
    task is to copy from the reply, or if the authors' own parsing is requested. `media` are those
    of the question, for rubrics that show them. Without judges there are no requests and no
    verdicts.
    """
    messages = panel.rubric(rubric_name).messages(media, **fields)
    sources = {ref.digest: ref.source for ref in media}
    if about:
        parse = partial(_parse_own_text, parse=parse, about=about)
    verdicts = []
    for role, vote, repeat in product(panel.roles, range(panel.votes), range(panel.repeats)):
        request = Generate(messages=messages, ref=ref, media=sources, to=role, repeat=repeat)
        verdict = yield from _ask_judge(panel, request, vote, parse)
        verdicts.append(structs.replace(verdict, step=step, repeat=repeat))
    return PanelVerdicts(tuple(verdicts))


def _parse_own_text(verdict: str, *, parse: VerdictParser, about: str) -> ParsedVerdict | None:
    return parse(without_quotes(verdict, about))


def judge_values(
    verdicts: PanelVerdicts, score: Callable[[float], float], name: str = GRADE
) -> Iterator[tuple[str, float]]:
    """Values of a record with several verdicts: each judge's score under its role, and whether
    all agree."""
    grades = [verdict.values[name] for verdict in verdicts.readable]
    if len(verdicts.verdicts) < 2 or not grades:
        return
    by_judge = verdicts.by_judge(name)
    if len(by_judge) > 1:
        for judge, grade in by_judge.items():
            yield judge, score(grade)
    if len(grades) > 1:
        yield AGREEMENT, float(len(set(grades)) == 1)
    yield from judge_variance((verdict, score(verdict.values[name])) for verdict in verdicts.readable)


def judge_variance(scored: Iterable[tuple[Verdict, float]]) -> Iterator[tuple[str, float]]:
    """The value `judge_variance`: the variance of the scores (0..1) of one judge's repeated
    verdicts, mean over the judges; nothing if no verdict was repeated."""
    scores_by_judge: dict[str, list[float]] = {}
    repeated = False
    for verdict, score in scored:
        scores_by_judge.setdefault(verdict.judge, []).append(score)
        repeated = repeated or verdict.repeat > 0
    variances = [variance(scores) for scores in scores_by_judge.values() if len(scores) > 1]
    if repeated and variances:
        yield JUDGE_VARIANCE, fmean(variances)


def _ask_judge(panel: JudgePanel, request: Generate, vote: int, parse: VerdictParser) -> Steps[Verdict]:
    """Ask one judge until its reply can be parsed, at most `len(_TEMPERATURES)` times.

    Without a legible reply the verdict has the last output and no grade.
    """
    output: Output = Failure("request", "not asked")
    for number, temperature in enumerate(_TEMPERATURES):
        temperature_used = temperature or (_VOTE_TEMPERATURE if vote else 0.0)
        output = yield structs.replace(
            request,
            settings=Generation(max_new_tokens=panel.max_new_tokens, temperature=temperature_used),
            # Attempts count through the votes: the store keeps a reply by its attempt, and a retry
            # of one vote must not stand in for another vote.
            attempt=vote * len(_TEMPERATURES) + number,
        )
        if not isinstance(output, Generated):
            return Verdict(request.to, output, tries=number + 1)
        reading = parse(model_text(output))
        if reading is not None:
            return Verdict(request.to, output, values=dict(reading.values), text=reading.text, tries=number + 1)
    return Verdict(request.to, output, tries=len(_TEMPERATURES))
