"""We-Math: composite problems beside their single steps (Qiao et al. 2024,
https://arxiv.org/abs/2407.01284).

One example row: index 0, ID "1", key "2steps_1", question "As shown in the figure, ...", A "12 cm",
..., G "No correct answer", answer "B", knowledge concept "Area of Polygons", requirement "Please
answer ... <Answer>: <<your option>>", image <base64>.

Oddities: the rows of one problem share an `ID`: two or three steps (2steps_1, 2steps_2, ...) and
the composite (2steps_multi); a limit keeps them together. 525 composites.

The headline is the strict score (see below): a composite counts as mastered only if every
one of its steps is right too. Replies are read by the rules for choices, then by a judge; nobody
draws an option at random, as VLMEvalKit does when its judge fails. `cot=on` asks the column
`requirement`. The means per group of the paper's tree of knowledge are given per concept only.

Whether a right answer rests on its steps (Sec. 3.3): a composite problem and its sub-steps, each
right or wrong, fall under one of

IK insufficient knowledge: a step wrong, the composite wrong;
IG inadequate generalisation: every step right, the composite wrong;
CM complete mastery: the composite right, every step right (strict) or at least one (loose);
RM rote memorisation: the composite right, a step wrong (strict) or all wrong (loose).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options
from snellen.benchmarks.declaration.judged import Judged, first_cell
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample, option_cells
from snellen.benchmarks.protocol.judged_flows import ExtractedScoring
from snellen.core.output import Answer, ParsedAnswer
from snellen.core.record import Record
from snellen.core.request import Message
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.extract.choice import parse_choice
from snellen.prompts.choice import PromptTemplate, prompt
from snellen.scoring.accuracy import cluster_samples, mean_metric
from snellen.scoring.headlines import RatioTerm, sum_of_ratios

Mode = Literal["strict", "loose"]
MODES: tuple[Mode, ...] = get_args(Mode)
Dimension = Literal["IK", "IG", "CM", "RM"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
WORTH: Mapping[Dimension, float] = {"IK": 0.0, "IG": 0.5, "CM": 1.0, "RM": 0.0}
"""Score of a problem by dimension."""


class CompositeProblem(NamedTuple):
    """A composite problem: whether each sub-step, and the composite itself, was answered right."""

    steps: tuple[bool, ...]
    is_solved: bool


class Mastery(NamedTuple):
    """Fractions in 0..1. `rote` is RM among the composites that are right (CM and RM), 0 if none
    is."""

    score: float
    insufficient: float
    inadequate: float
    complete: float
    rote: float
    n: int


def dimension(problem: CompositeProblem, mode: Mode) -> Dimension:
    """The dimension of a problem under the strict or loose rule."""
    if not problem.is_solved:
        return "IG" if all(problem.steps) else "IK"
    mastered = all(problem.steps) if mode == "strict" else any(problem.steps)
    return "CM" if mastered else "RM"


def mastery(problems: Iterable[CompositeProblem], mode: Mode) -> Mastery | None:
    """The rates and the mean score of the problems; None without problems."""
    problem_list: Sequence[CompositeProblem] = list(problems)
    if not problem_list:
        return None
    counts = Counter(dimension(problem, mode) for problem in problem_list)
    n = len(problem_list)
    right = counts["CM"] + counts["RM"]
    return Mastery(
        score=sum(WORTH[name] * counts[name] for name in DIMENSIONS) / n,
        insufficient=counts["IK"] / n,
        inadequate=counts["IG"] / n,
        complete=counts["CM"] / n,
        rote=counts["RM"] / right if right else 0.0,
        n=n,
    )


RUBRIC = "short-answer"
STRICT = "score_strict"
KEY, CONCEPT = "key", "knowledge concept"
COMPOSITE = "multi"
_STATED_ANSWER = re.compile(r"<?\bAnswer\b>?\s*:?\s*(?P<rest>[^\n]*)\Z", re.IGNORECASE)
_STEPS = {"S1": "one-step", "2steps_multi": "two-step", "3steps_multi": "three-step"}


def _sample(row: Row, options: Options) -> Sample:
    """A problem's steps and the composite are one unit; `cot=on` asks the column `requirement`."""
    sample = build_sample(
        row,
        kind="choice",
        gold=first_cell(row.cells, "answer").strip().upper(),
        options=option_cells(row.cells),
        # Shown below the options.
        hint=first_cell(row.cells, "requirement") if options["cot"] == "on" else "",
        groups={name: first_cell(row.cells, name) for name in (KEY, CONCEPT)},
        unit=first_cell(row.cells, "id"),
    )
    own_id = row.cells.get("index") or f"{row.cells.get('id', row.index)}/{row.cells.get(KEY, '')}"
    return structs.replace(sample, id=own_id)


def _messages(sample: Sample) -> tuple[Message, ...]:
    """Question and options; the requirement stands below them."""
    return prompt(structs.replace(sample, hint=""), None, PromptTemplate(choose=sample.hint))


def _parse(sample: Sample, reply: str, stop_reason: str) -> Answer:
    """What follows the last "Answer", as the instruction asks for it, else the whole reply."""
    stated = _STATED_ANSWER.search(reply)
    if sample.hint and stated is not None:
        choice = parse_choice(stated["rest"].strip(" <>:."), sample.options)
        if isinstance(choice, ParsedAnswer):
            return ParsedAnswer(choice.value, "stated answer", stated.span("rest"))
    return parse_choice(reply, sample.options, stop_reason=stop_reason)


def _fields(rules: Mapping[str, str], sample: Sample, reply: str) -> Mapping[str, str]:
    listed = " ".join(f"{label}. {text}" for label, text in sample.options.items())
    return {"question": sample.question, "choices": f"Choices: {listed}\n", "reply": reply, "form": rules["choice"]}


def summarise_wemath(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The four dimensions, strict and loose, and the accuracy of single steps and composites."""
    plain = context.plain(records)
    if plain.headline.value is None:
        return plain
    lost = context.failed_score
    problems = [problem for _, problem in composites(records, lost)]
    metrics: dict[str, Metric] = {}
    for mode in MODES:
        metrics |= _mode_metrics(problems, mode)
    kinds: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for record, cluster in zip(records, cluster_samples(records), strict=True):
        if record.score is not None:
            key = record.groups.get(KEY, "")
            kinds[_STEPS.get(key, _STEPS["S1"])].append((record.score, cluster))
    steps = {name: mean_metric(name, *zip(*kinds[name], strict=True)) for name in kinds}
    others = {name: metric for name, metric in plain.metrics.items() if name != context.plain_headline}
    return structs.replace(
        plain,
        headline=metrics[STRICT],
        metrics={**metrics, **steps, **others},
        bounds=None,
        beside=("score_loose", *steps, *plain.beside),
    )


def _strict_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """The strict score is a mean over problems."""
    lost = context.failed_score
    worth: dict[str, list[float]] = defaultdict(list)
    for unit, problem in composites(records, lost):
        worth[unit].append(WORTH[dimension(problem, "strict")])
    first = {record.unit: index for index, record in reversed(list(enumerate(records)))}
    added: list[list[RatioTerm]] = [[] for _ in records]
    for unit, scores in worth.items():
        added[first[unit]] = [RatioTerm(STRICT, sum(scores), len(scores))]
    return sum_of_ratios(added)


def composites(records: Sequence[Record], failed_score: float | None) -> list[tuple[str, CompositeProblem]]:
    """Problems with all of their parts, each with the unit it is of; those with a part that has no
    score are left out, unless failed parts count as `failed_score`."""
    parts: dict[str, dict[str, float | None]] = defaultdict(dict)
    for record in records:
        owed = record.is_retryable
        parts[record.unit][record.groups.get(KEY, "")] = failed_score if owed else record.score
    problems = []
    for unit, scores_by_key in parts.items():
        for steps in ("2steps", "3steps"):
            mine = {key: score for key, score in scores_by_key.items() if key.startswith(steps)}
            whole = mine.pop(f"{steps}_{COMPOSITE}", None)
            scores = [score for score in mine.values() if score is not None]
            if whole is not None and len(scores) == len(mine) == int(steps[0]):
                right = tuple(score == 1.0 for score in scores)
                problems.append((unit, CompositeProblem(right, whole == 1.0)))
    return problems


def _mode_metrics(problems: Sequence[CompositeProblem], mode: Mode) -> dict[str, Metric]:
    rates = mastery(problems, mode)
    if rates is None:
        name = f"score_{mode}"
        return {name: Metric(name, None, 0, note="no composite problem has all of its parts")}
    named = {
        f"score_{mode}": rates.score,
        f"insufficient_knowledge_{mode}": rates.insufficient,
        f"inadequate_generalisation_{mode}": rates.inadequate,
        f"complete_mastery_{mode}": rates.complete,
        f"rote_memorisation_{mode}": rates.rote,
    }
    worth = _rate_scores(problems, mode)
    return {
        name: Metric(name, 100 * value, rates.n, mean_metric(name, worth[index]).interval)
        for index, (name, value) in enumerate(named.items())
    }


def _rate_scores(problems: Sequence[CompositeProblem], mode: Mode) -> list[list[float]]:
    """What the rates are means of, in the order of `Mastery`."""
    kinds = [dimension(problem, mode) for problem in problems]
    shares = [[float(kind == name) for kind in kinds] for name in ("IK", "IG", "CM")]
    rote = [float(kind == "RM") for kind in kinds if kind in ("CM", "RM")]
    return [[WORTH[kind] for kind in kinds], *shares, rote]


BENCHMARK = Declaration(
    name="wemath",
    version="4",
    title="We-Math, composite problems beside their steps",
    paper="https://arxiv.org/abs/2407.01284",
    provenance="We-Math (CC BY-NC 4.0), as VLMEvalKit's TSV",
    data=single_tsv("https://opencompass.openxlab.space/utils/VLMEval/WeMath.tsv", "b5e969a075f01290a542411fb7766388"),
    aliases={"WeMath": {"cot": "off"}, "WeMath_COT": {"cot": "on"}},
    options={"cot": ("off", "on")},
    max_new_tokens=1024,
    scoring=Judged(
        flow=ExtractedScoring(
            rubric=RUBRIC,
            fields=_fields,
            parse=_parse,
            is_right=lambda sample, answer: answer in sample.gold,
            build_messages=_messages,
        ).flow,
        rubrics=(RUBRIC,),
    ),
    headline=Headline(name=STRICT, summarise=summarise_wemath, sums=_strict_sums),
    coverage="generic type",
    sample=_sample,
)
