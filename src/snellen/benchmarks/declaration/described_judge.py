"""Judges in a family's file: what they are asked, what their words count, what is reported of them.

    [[judges]]
    rubric = "worldvqa"
    mark = "Label:"
    grades = { Correct = 1, Incorrect = 0, Unattempted = 0 }
    unattempted = "Unattempted"

The rubric's fields are `{question}`, `{gold}`, `{reply}`, `{rule}` and the cells that the file
keeps. With several judges' tasks each reply is judged by all of them, and scores their product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec import Struct, structs

from snellen.benchmarks.declaration.declaration import Headline
from snellen.benchmarks.declaration.judged import Judged, plain_messages
from snellen.benchmarks.protocol.judged_flows import JudgedScoring, product_flow
from snellen.benchmarks.protocol.judging import JudgePanel
from snellen.core import lazy_re as re
from snellen.core.record import Flow, Record
from snellen.core.request import Generation, Message
from snellen.core.sample import Sample
from snellen.core.summary import Metric, Summary, SummaryContext
from snellen.extract.boxes import boxed_texts
from snellen.extract.verdicts import GRADE, ParsedVerdict, parse_marked_number, parse_word
from snellen.prompts.choice import PromptTemplate, prompt
from snellen.scoring.grouped import apply_failure_policy
from snellen.scoring.headlines import RatioTerm, headline_interval, sum_of_ratios

ATTEMPTED = "attempted"
"""Value: 1 for a reply that attempts an answer, right or wrong."""
GIVEN_ATTEMPTED = "accuracy_given_attempted"
F_SCORE = "f_score"
_OTHER = "other"
_FIELD = re.compile(r"\{([a-z_]+)\}")


class DescribedJudge(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that judges are asked about each reply."""

    rubric: str
    grades: dict[str, float] = {}
    """Score of a verdict by its word (`extract.verdicts.parse_word`)."""
    mark: str = ""
    """What stands before the word or number."""
    span: tuple[float, float] | None = None
    """The verdict is a number in this range; its upper end scores 1."""
    unattempted: str = ""
    """The word for a reply that attempts no answer: the accuracy of attempts and the F-score are
    then reported beside."""
    boxed: bool = False
    """Whether only the last box of a reply is judged, where there is one."""
    rule: str = ""
    """The rubric's rule for `{rule}`, which names the task among several. It may have fields itself."""
    rule_by: str = ""
    """The group whose label selects the rubric's rule for `{rule}`; another label: rule `other`."""
    max_tokens: int = 1024

    def parse(self, reply: str) -> ParsedVerdict | None:
        """A judge's reply to its grade."""
        if self.span is not None:
            return parse_marked_number(reply, self.mark, *self.span)
        word = parse_word(reply, self.grades, self.mark)
        if word is None:
            return None
        values = {GRADE: self.grades[word]}
        if self.unattempted:
            values[ATTEMPTED] = float(word != self.unattempted)
        return ParsedVerdict(values)

    def score(self, grade: float) -> float:
        return grade if self.span is None else grade / self.span[1]

    def fields(self, rules: Mapping[str, str], sample: Sample, reply: str) -> Mapping[str, str]:
        boxes = boxed_texts(reply) if self.boxed else []
        fields = {
            **sample.metadata,
            "question": sample.question,
            "gold": " or ".join(sample.gold),
            "reply": boxes[-1] if boxes else reply,
        }
        label = self.rule or sample.groups.get(self.rule_by, "")
        rule = rules.get(label, rules.get(_OTHER, "")).strip()
        return {**fields, "rule": _FIELD.sub(lambda match: fields.get(match[1], match[0]), rule)}

    def scoring(self, ask: _Ask, settings: Generation, panel: JudgePanel) -> JudgedScoring:
        return JudgedScoring(
            rubric=self.rubric,
            step=self.rule or self.rubric,
            fields=partial(self.fields, panel.rubric(self.rubric).rules),
            parse=self.parse,
            score=self.score,
            beside=(ATTEMPTED,) if self.unattempted else (),
            counts_refusals=ask.refused is not None,
            refused=ask.refused or 0.0,
            build_messages=ask.build_messages,
            settings=settings,
            panel=panel,
        )


class _Ask(NamedTuple):
    """How questions are asked, and what a reply scores that a content filter withheld; None:
    refusals are not counted."""

    build_messages: Callable[[Sample], tuple[Message, ...]]
    refused: float | None


def described_judging(
    judges: Sequence[DescribedJudge], template: PromptTemplate | None, refused: float | None
) -> Judged:
    """The scoring by these tasks; without a template questions are asked as they stand. `refused` is
    what a reply that a content filter withheld scores; where it is given, refusals are counted."""
    ask = _Ask(plain_messages if template is None else partial(prompt, template=template), refused)
    return Judged(
        flow=partial(_flow, tuple(judges), ask),
        rubrics=tuple(dict.fromkeys(judge.rubric for judge in judges)),
        must_judge=True,
        max_judge_tokens=max(judge.max_tokens for judge in judges),
    )


def _flow(
    judges: Sequence[DescribedJudge], ask: _Ask, settings: Generation, panel: JudgePanel, options: Mapping[str, str]
) -> Callable[[Sample], Flow]:
    parts = [judge.scoring(ask, settings, panel) for judge in judges]
    return parts[0].ask if len(parts) == 1 else product_flow(parts)


def judged_headline(judges: Sequence[DescribedJudge], name: str) -> Headline:
    """The mean of the scores under this name."""
    if any(judge.unattempted for judge in judges):
        return Headline(name=name, summarise=summarise_attempts)
    return Headline(name=name)


def summarise_attempts(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The plain summary, with the accuracy of the attempted questions and its harmonic mean with
    the accuracy of all, the F-score of SimpleQA (Wei et al. 2024, https://arxiv.org/abs/2411.04368)."""
    summary = context.plain(records)
    attempted = summary.metrics.get(ATTEMPTED)
    correct = summary.headline.value
    if attempted is None or attempted.value is None or correct is None:
        return summary
    # Right answers to attempts, and twice the right answers to all questions and attempts.
    metrics = {
        name: _ratio(name, weight, questions, apply_failure_policy(records, context.failures))
        for name, weight, questions in ((GIVEN_ATTEMPTED, 1.0, 0.0), (F_SCORE, 2.0, 1.0))
    }
    return structs.replace(
        summary, metrics={**summary.metrics, **metrics}, beside=(*summary.beside, ATTEMPTED, *metrics)
    )


def _ratio(name: str, weight: float, questions: float, records: Sequence[Record]) -> Metric:
    """The sum of `weight` times the scores over that of the attempts and `questions` for each question."""
    terms = [
        (RatioTerm(name, weight * one.score, questions + one.values.get(ATTEMPTED, 0.0)),)
        if one.score is not None
        else ()
        for one in records
    ]
    low = sum(term.denominator for of_one in terms for term in of_one)
    value = 100 * sum(term.numerator for of_one in terms for term in of_one) / low if low else 0.0
    return Metric(name, value, sum(map(len, terms)), headline_interval(sum_of_ratios(terms), records))
