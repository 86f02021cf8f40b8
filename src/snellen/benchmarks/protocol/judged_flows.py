"""Asked once, then graded: by judges alone, or by rules with judges for what no rule can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.protocol.judging import (
    AGREEMENT,
    Judgement,
    Panel,
    Read,
    common,
    judge_variance,
    judged,
    spread_of,
)
from snellen.benchmarks.protocol.ranking import failure_kind, question_alone
from snellen.core.answer import Answer, Found, NoMatch, Outcome, Unparsed, outcome_of
from snellen.core.flow import Flow, Steps
from snellen.core.message import Message
from snellen.core.output import Generated, Output
from snellen.core.record import Pass, Record, Unscored
from snellen.core.request import Generate, Generation, Ref
from snellen.core.sample import Sample
from snellen.extract.llm import settled
from snellen.extract.quotes import holds_verdict
from snellen.extract.unanswered import BY_FILTER, unanswered
from snellen.extract.verdicts import GRADE, read_answer

BY_RULES = "by_rules"
"""Value: what the rules alone would have scored, where judges were there."""
EXTRACTION = "extraction"
JUDGED = "judge"
"""Name of the rule in answers that a judge extracted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grading:
    """A reply is graded by judges; `score` brings their common grade to 0..1."""

    settings: Generation
    panel: Panel
    rubric: str
    fields: Callable[[Sample, str], Mapping[str, str]]
    """What fills the rubric, from a sample and its reply."""
    read: Read
    score: Callable[[float], float] = float
    names: tuple[str, ...] = (GRADE,)
    """Grades of one verdict; the first is the score, all are kept as values if there are more."""
    shown: Callable[[Sample], tuple[Message, ...]] = question_alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracting:
    """A reply is read by rules; what they cannot match goes to judges, who only copy out the
    answer. It is then compared by rule. Recorded verdicts decide every reply they are about."""

    settings: Generation
    panel: Panel
    rubric: str
    fields: Callable[[Sample, str], Mapping[str, str]]
    read: Callable[[Sample, str, str], Answer]
    """A sample, its reply and why it stopped, to the answer."""
    right: Callable[[Sample, str], bool]
    """Whether the value of an answer is right."""
    short: Callable[[Sample, str], Answer] | None = None
    """Reads what a judge copied out; None: as `read` does."""
    verdict: Read = read_answer
    always: bool = False
    """Whether judges, where there are any, read every reply that says anything."""
    shown: Callable[[Sample], tuple[Message, ...]] = question_alone


def asked(
    sample: Sample, shown: tuple[Message, ...], settings: Generation, turn: int = 0
) -> Steps[Output]:
    """The model's reply to messages about a sample."""
    return (
        yield Generate(
            messages=shown,
            ref=Ref(sample.id, turn),
            settings=settings,
            media=sample.sources(),
            choices=tuple(sample.options),
        )
    )


def graded(how: Grading) -> Callable[[Sample], Flow]:
    """Ask, then have the reply graded. One that is empty or refused is worth nothing, and no judge
    is asked.
    Without judges the reply is kept, ungraded."""

    def flow(sample: Sample) -> Flow:
        shown = how.shown(sample)
        output = yield from asked(sample, shown, how.settings)
        if not isinstance(output, Generated):
            return record_of(sample, (Pass(shown, output, gold=sample.gold),))
        silent = unanswered(output)
        if silent is not None:
            values = dict.fromkeys(how.names, 0.0) if len(how.names) > 1 else {}
            one = Pass(shown, output, silent, sample.gold, False)
            return record_of(sample, (one,), score=0.0, values=values)
        fields = how.fields(sample, output.text)
        found = yield from judged(
            how.panel, how.rubric, fields, how.read, Ref(sample.id), about=output.text
        )
        answer = Found(output.text.strip(), "whole reply")
        one = Pass(shown, output, answer, sample.gold, verdicts=found.verdicts)
        grade = found.grade(how.names[0])
        if grade is None or found.failure is not None:
            return ungraded(sample, (one,), found)
        values = dict(spread_of(found, how.score, how.names[0]))
        if len(how.names) > 1:
            values |= {name: how.score(found.grade(name) or 0.0) for name in how.names}
        return record_of(sample, (one,), score=how.score(grade), values=values)

    return flow


class Extracted(NamedTuple):
    """What a reply answers: read by rules, or copied out by judges, one answer for each."""

    answers: tuple[Answer, ...]
    by_rules: bool
    """Whether the rules had the word."""
    judgement: Judgement = Judgement(())
    rules_answer: Answer | None = None
    """What the rules make of the reply, where the judges had the word."""

    @property
    def answer(self) -> Answer:
        return self.answers[0] if self.answers else Unparsed()

    @property
    def unread(self) -> bool:
        """Whether judges were asked, and one failed or none could be read."""
        return not self.answers or self.judgement.failure is not None


def extracted_by(sample: Sample, output: Generated, how: Extracting) -> Steps[Extracted]:
    """Read a reply by rules, and where they match nothing in it, have judges copy out the answer.
    Where these find none either, a reply known as refused or cut short stays so."""
    if output.refused:
        return Extracted((BY_FILTER,), by_rules=True)
    answer = how.read(sample, output.text, output.stop_reason)
    decided = isinstance(answer, Found) and not (how.always or how.panel.recorded)
    if decided or not how.panel or not output.text.strip():
        return Extracted((answer,), by_rules=True)
    fields = how.fields(sample, output.text)
    found = yield from judged(
        how.panel, how.rubric, fields, how.verdict, Ref(sample.id), step=EXTRACTION
    )
    if isinstance(answer, Found) and not how.always and found.absent:
        return Extracted((answer,), by_rules=True)
    answers = tuple(
        settled(answer, _copied(sample, one.text or "", how)) or answer for one in found.read
    )
    return Extracted(answers, False, found, answer)


def asked_and_read(sample: Sample, how: Extracting) -> Steps[Record | tuple[Pass, Extracted]]:
    """The pass with what its reply answers; the record where there is nothing to compare."""
    shown = how.shown(sample)
    output = yield from asked(sample, shown, how.settings)
    if not isinstance(output, Generated):
        return record_of(sample, (Pass(shown, output, gold=sample.gold),))
    found = yield from extracted_by(sample, output, how)
    one = Pass(
        shown, output, found.answer, sample.gold,
        verdicts=found.judgement.verdicts, by_rules=found.rules_answer,
    )  # fmt: skip
    if found.unread:
        return ungraded(sample, (one,), found.judgement)
    return (one, found) if sample.gold else record_of(sample, (one,))


def extracted(how: Extracting) -> Callable[[Sample], Flow]:
    """Ask, read by rules, and have judges copy out the answer where no rule matched one."""

    def flow(sample: Sample) -> Flow:
        read = yield from asked_and_read(sample, how)
        if isinstance(read, Record):
            return read
        one, found = read
        rights = [
            float(isinstance(answer, Found) and how.right(sample, answer.value))
            for answer in found.answers
        ]
        score = common(rights)
        values = {}
        if how.panel:
            alone = found.rules_answer if found.rules_answer is not None else found.answer
            values[BY_RULES] = float(isinstance(alone, Found) and how.right(sample, alone.value))
        if len(rights) > 1:
            values[AGREEMENT] = float(len(set(rights)) == 1)
            values |= judge_variance(zip(found.judgement.read, rights, strict=True))
            values |= dict(zip([one.judge for one in found.judgement.read], rights, strict=True))
        one = structs.replace(one, correct=score > 0.5)
        return record_of(sample, (one,), score=score, values=values)

    return flow


def ungraded(sample: Sample, passes: tuple[Pass, ...], found: Judgement) -> Record:
    """A reply that nobody graded: failed where a judge did not answer, else ungraded."""
    failure = found.failure
    if failure is not None:
        missing = failure.kind == "missing"
        return record_of(
            sample,
            passes,
            outcome="missing" if missing else "failed",
            unscored="missing" if missing else "failed",
            failure_of=failure,
        )
    return record_of(sample, passes, unscored="ungraded")


def record_of(
    sample: Sample,
    passes: tuple[Pass, ...],
    *,
    score: float | None = None,
    values: Mapping[str, float] | None = None,
    outcome: Outcome | None = None,
    unscored: Unscored | None = None,
    failure_of: Output | None = None,
) -> Record:
    """A sample's record. Without a score or a reason, the last pass tells: it failed, or the
    sample has no gold."""
    last = passes[-1]
    failure = failure_kind(failure_of if failure_of is not None else last.output)
    if outcome is None and failure is not None:
        ended: Outcome = "missing" if failure == "missing" else "failed"
        outcome, unscored = ended, "missing" if failure == "missing" else "failed"
    if score is None and unscored is None:
        unscored = "no_gold"
    return Record(
        id=sample.id,
        kind=sample.kind,
        question=sample.question,
        outcome=outcome or (outcome_of(last.answer) if last.answer is not None else "unparsed"),
        score=score if unscored is None else None,
        unscored=unscored,
        answer=passes[0].answer.value if isinstance(passes[0].answer, Found) else None,
        gold=sample.gold,
        options=dict(sample.options),
        groups=dict(sample.groups),
        media=tuple(ref.digest for ref in sample.media),
        passes=passes,
        values=dict(values or {}) if unscored is None else {},
        failure=failure,
        unit=sample.unit,
        holds_verdict=any(map(states_verdict, passes)),
    )


def states_verdict(one: Pass) -> bool:
    """Whether a judged reply states a verdict of its own."""
    return (
        bool(one.verdicts) and isinstance(one.output, Generated) and holds_verdict(one.output.text)
    )


def _copied(sample: Sample, text: str, how: Extracting) -> Answer:
    if not text:
        return NoMatch(JUDGED)
    answer = how.short(sample, text) if how.short else how.read(sample, text, "stop")
    return Found(answer.value, JUDGED) if isinstance(answer, Found) else answer
