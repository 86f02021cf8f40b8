"""Ask once, then grade: by judges alone, or by rules with judges for what no rule can parse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.protocol.judging import (
    AGREEMENT,
    JudgePanel,
    PanelVerdicts,
    VerdictParser,
    ask_judges,
    consensus_grade,
    judge_values,
    judge_variance,
)
from snellen.benchmarks.protocol.ranking import bare_question, failure_kind
from snellen.core.output import Answer, Generated, NoMatch, Outcome, Output, ParsedAnswer, Unparsed, outcome_of
from snellen.core.record import Flow, Pass, Record, Steps, Unscored
from snellen.core.request import Generate, Generation, Message, Ref
from snellen.core.sample import MediaRef, Sample
from snellen.extract.llm import resolve_answer
from snellen.extract.open_text import refuses
from snellen.extract.quotes import contains_verdict
from snellen.extract.unanswered import FILTER_REFUSAL, non_answer
from snellen.extract.verdicts import GRADE, parse_extracted_answer

BY_RULES = "by_rules"
"""Value: what the rules alone would have scored, where judges were there."""
REFUSED = "refused"
"""Value, where refusals are counted: 1 for a reply that refuses, whatever it scores."""
EXTRACTION = "extraction"
JUDGE_RULE = "judge"
"""Name of the rule in answers that a judge extracted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedScoring:
    """Judges grade each reply; `score` scales their consensus to 0..1."""

    rubric: str
    fields: Callable[[Sample, str], Mapping[str, str]]
    """What fills the rubric, from a sample and its reply."""
    parse: VerdictParser
    score: Callable[[float], float] = float
    names: tuple[str, ...] = (GRADE,)
    """Grades of one verdict; the first is the score, all are kept as values if there are more."""
    step: str = ""
    """What the task is called among several about a reply."""
    beside: tuple[str, ...] = ()
    """Further grades of one verdict, 0..1, kept as values; 0 for a reply without an answer."""
    refused: float = 0.0
    """Score of a reply that a content filter withheld."""
    counts_refusals: bool = False
    """Whether the value `refused` tells which replies refuse."""
    build_messages: Callable[[Sample], tuple[Message, ...]] = bare_question
    settings: Generation = field(default_factory=Generation)
    panel: JudgePanel = field(default_factory=JudgePanel)

    @property
    def rubrics(self) -> tuple[str, ...]:
        """All rubrics that its judges are asked with."""
        return (self.rubric,)

    def flow(self, settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
        """The flow under the settings and the judges of a run."""
        return replace(self, settings=settings, panel=panel).ask

    def ask(self, sample: Sample) -> Flow:
        """Ask the model, then the judges. An empty or refused reply scores 0, and no judge is asked.
        Without judges the reply is kept, ungraded."""
        messages = self.build_messages(sample)
        nothing = dict.fromkeys(self.names, 0.0) if len(self.names) > 1 else {}
        nothing |= dict.fromkeys((*self.beside, *((REFUSED,) if self.counts_refusals else ())), 0.0)
        output = yield from ask_for_reply(sample, messages, self.settings, nothing or None, refused=self.refused)
        if isinstance(output, Record):
            return output
        fields = self.fields(sample, output.text)
        verdicts = yield from ask_judges(
            self.panel,
            self.rubric,
            fields,
            self.parse,
            Ref(sample.id),
            about=output.text,
            media=self.media_for_judges(sample),
        )
        answer = ParsedAnswer(output.text.strip(), "whole reply")
        result = Pass(messages, output, answer, sample.gold, verdicts=verdicts.verdicts)
        grade = verdicts.grade(self.names[0])
        if grade is None or verdicts.failure is not None:
            return ungraded_record(sample, (result,), verdicts)
        values = dict(judge_values(verdicts, self.score, self.names[0]))
        if len(self.names) > 1:
            values |= {name: self.score(verdicts.grade(name) or 0.0) for name in self.names}
        values |= {name: verdicts.grade(name) or 0.0 for name in self.beside}
        if self.counts_refusals:
            values[REFUSED] = float(refuses(output.text))
        return build_record(sample, (result,), score=self.score(grade), values=values)

    def media_for_judges(self, sample: Sample) -> tuple[MediaRef, ...]:
        """What the judges see of the question."""
        return sample.media if self.panel and self.panel.rubric(self.rubric).images != "none" else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedScoring:
    """Rules parse each reply; judges copy out the answer of replies that no rule can parse.

    The answer is then compared by rule. Recorded verdicts decide every reply they are about.
    """

    rubric: str
    fields: Callable[[Mapping[str, str], Sample, str], Mapping[str, str]]
    """What fills the rubric, from its `rules`, a sample and its reply."""
    parse: Callable[[Sample, str, str], Answer]
    """A sample, its reply and why it stopped, to the answer."""
    is_right: Callable[[Sample, str], bool]
    """Whether the value of an answer is right."""
    parse_short: Callable[[Sample, str], Answer] | None = None
    """Reads what a judge copied out; None: as `parse` does."""
    parse_verdict: VerdictParser = parse_extracted_answer
    always: bool = False
    """Whether judges, where there are any, read every reply that says anything."""
    build_messages: Callable[[Sample], tuple[Message, ...]] = bare_question
    settings: Generation = field(default_factory=Generation)
    panel: JudgePanel = field(default_factory=JudgePanel)

    def flow(self, settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
        """The flow under the settings and the judges of a run."""
        return replace(self, settings=settings, panel=panel).ask

    def ask(self, sample: Sample) -> Flow:
        """Ask the model and extract its answers; with several extractors, the score is the grade of
        their consensus."""
        read = yield from ask_and_extract(sample, self)
        if isinstance(read, Record):
            return read
        result, extracted = read
        rights = [
            float(isinstance(answer, ParsedAnswer) and self.is_right(sample, answer.value))
            for answer in extracted.answers
        ]
        score = consensus_grade(rights)
        values = {}
        if self.panel:
            alone = extracted.rules_answer if extracted.rules_answer is not None else extracted.answer
            values[BY_RULES] = float(isinstance(alone, ParsedAnswer) and self.is_right(sample, alone.value))
        if len(rights) > 1:
            values[AGREEMENT] = float(len(set(rights)) == 1)
            values |= judge_variance(zip(extracted.verdicts.readable, rights, strict=True))
            values |= dict(zip([verdict.judge for verdict in extracted.verdicts.readable], rights, strict=True))
        result = structs.replace(result, correct=score > 0.5)
        return build_record(sample, (result,), score=score, values=values)


def ask_model(sample: Sample, messages: tuple[Message, ...], settings: Generation, index: int = 0) -> Steps[Output]:
    """Ask the model the messages about a sample."""
    return (
        yield Generate(
            messages=messages,
            ref=Ref(sample.id, index),
            settings=settings,
            media=sample.sources(),
            choices=tuple(sample.options),
        )
    )


def ask_for_reply(
    sample: Sample,
    messages: tuple[Message, ...],
    settings: Generation,
    values: Mapping[str, float] | None = None,
    *,
    refused: float = 0.0,
) -> Steps[Generated | Record]:
    """Ask the model, for a reply to be judged. Else the record of the request that failed, or of
    a reply without an answer: it scores 0, or `refused` if a content filter withheld it, with these
    `values`, and no judge is asked."""
    output = yield from ask_model(sample, messages, settings)
    if not isinstance(output, Generated):
        return build_record(sample, (Pass(messages, output, gold=sample.gold),))
    no_answer = non_answer(output)
    if no_answer is None:
        return output
    score = refused if output.is_refusal else 0.0
    result = Pass(messages, output, no_answer, sample.gold, score == 1.0)
    if values is not None and REFUSED in values:
        values = {**values, REFUSED: float(output.is_refusal)}
    return build_record(sample, (result,), score=score, values=values)


def product_flow(parts: Sequence[JudgedScoring]) -> Callable[[Sample], Flow]:
    """Ask, then have judges grade the reply in several respects: its score is the product of their
    scores, which are values by the names of their steps. The first part says how it is asked."""
    first = parts[0]

    def flow(sample: Sample) -> Flow:
        messages = first.build_messages(sample)
        nothing = dict.fromkeys((part.step for part in parts), 0.0)
        if first.counts_refusals:
            nothing[REFUSED] = 0.0
        output = yield from ask_for_reply(sample, messages, first.settings, nothing, refused=first.refused)
        if isinstance(output, Record):
            return output
        answer = ParsedAnswer(output.text.strip(), "whole reply")
        result = Pass(messages, output, answer, sample.gold)
        values = dict(nothing)
        for turn, part in enumerate(parts):
            verdicts = yield from ask_judges(
                part.panel,
                part.rubric,
                part.fields(sample, output.text),
                part.parse,
                Ref(sample.id, turn),
                about=output.text,
                step=part.step,
                media=part.media_for_judges(sample),
            )
            result = structs.replace(result, verdicts=(*result.verdicts, *verdicts.verdicts))
            grade = verdicts.grade()
            if grade is None or verdicts.failure is not None:
                return ungraded_record(sample, (result,), verdicts)
            values[part.step] = part.score(grade)
        if first.counts_refusals:
            values[REFUSED] = float(refuses(output.text))
        score = prod(values[part.step] for part in parts)
        return build_record(sample, (result,), score=score, values=values)

    return flow


class ExtractedAnswers(NamedTuple):
    """The answers to one reply: the rules' own, or one copied out by each judge."""

    answers: tuple[Answer, ...]
    by_rules: bool
    """Whether the rules had the word."""
    verdicts: PanelVerdicts = PanelVerdicts(())
    rules_answer: Answer | None = None
    """What the rules make of the reply, where the judges had the word."""

    @property
    def answer(self) -> Answer:
        return self.answers[0] if self.answers else Unparsed()

    @property
    def is_unread(self) -> bool:
        """Whether judges were asked and one failed, or no verdict could be parsed."""
        return not self.answers or self.verdicts.failure is not None


def extract_answers(sample: Sample, output: Generated, scoring: ExtractedScoring) -> Steps[ExtractedAnswers]:
    """Parse a reply by rules; if they match nothing, have judges copy out the answer.

    If the judges find none either, a refused or truncated reply stays refused or truncated.
    """
    if output.is_refusal:
        return ExtractedAnswers((FILTER_REFUSAL,), by_rules=True)
    answer = scoring.parse(sample, output.text, output.stop_reason)
    decided = isinstance(answer, ParsedAnswer) and not (scoring.always or scoring.panel.has_recorded_verdicts)
    if decided or not scoring.panel or not output.text.strip():
        return ExtractedAnswers((answer,), by_rules=True)
    rules = scoring.panel.rubric(scoring.rubric).rules
    verdicts = yield from ask_judges(
        scoring.panel,
        scoring.rubric,
        scoring.fields(rules, sample, output.text),
        scoring.parse_verdict,
        Ref(sample.id),
        step=EXTRACTION,
    )
    if isinstance(answer, ParsedAnswer) and not scoring.always and verdicts.is_missing:
        return ExtractedAnswers((answer,), by_rules=True)
    answers = tuple(
        resolve_answer(answer, _parse_copied(sample, verdict.text or "", scoring)) or answer
        for verdict in verdicts.readable
    )
    return ExtractedAnswers(answers, False, verdicts, answer)


def ask_and_extract(sample: Sample, scoring: ExtractedScoring) -> Steps[Record | tuple[Pass, ExtractedAnswers]]:
    """Ask, and parse the reply: the pass with its answers, or the record if nothing can be
    compared."""
    messages = scoring.build_messages(sample)
    output = yield from ask_model(sample, messages, scoring.settings)
    if not isinstance(output, Generated):
        return build_record(sample, (Pass(messages, output, gold=sample.gold),))
    extracted = yield from extract_answers(sample, output, scoring)
    result = Pass(
        messages,
        output,
        extracted.answer,
        sample.gold,
        verdicts=extracted.verdicts.verdicts,
        by_rules=extracted.rules_answer,
    )
    if extracted.is_unread:
        return ungraded_record(sample, (result,), extracted.verdicts)
    return (result, extracted) if sample.gold else build_record(sample, (result,))


def ungraded_record(sample: Sample, passes: tuple[Pass, ...], verdicts: PanelVerdicts) -> Record:
    """The record of a reply without a grade: failed if a judge did not answer, else ungraded."""
    failure = verdicts.failure
    if failure is not None:
        missing = failure.kind == "missing"
        return build_record(
            sample,
            passes,
            outcome="missing" if missing else "failed",
            unscored="missing" if missing else "failed",
            failure_of=failure,
        )
    return build_record(sample, passes, unscored="ungraded")


def build_record(
    sample: Sample,
    passes: tuple[Pass, ...],
    *,
    score: float | None = None,
    values: Mapping[str, float] | None = None,
    outcome: Outcome | None = None,
    unscored: Unscored | None = None,
    failure_of: Output | None = None,
) -> Record:
    """Build a sample's record. Without a score or a reason, the last pass decides: it failed, or
    the sample has no gold."""
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
        answer=passes[0].answer.value if isinstance(passes[0].answer, ParsedAnswer) else None,
        gold=sample.gold,
        options=dict(sample.options),
        groups=dict(sample.groups),
        media=tuple(ref.digest for ref in sample.media),
        passes=passes,
        values=dict(values or {}) if unscored is None else {},
        failure=failure,
        unit=sample.unit,
        metadata=dict(sample.metadata),
        holds_verdict=any(map(states_verdict, passes)),
    )


def states_verdict(result: Pass) -> bool:
    """Whether a judged reply states a verdict of its own."""
    return bool(result.verdicts) and isinstance(result.output, Generated) and contains_verdict(result.output.text)


def _parse_copied(sample: Sample, text: str, scoring: ExtractedScoring) -> Answer:
    if not text:
        return NoMatch(JUDGE_RULE)
    answer = scoring.parse_short(sample, text) if scoring.parse_short else scoring.parse(sample, text, "stop")
    return ParsedAnswer(answer.value, JUDGE_RULE) if isinstance(answer, ParsedAnswer) else answer
