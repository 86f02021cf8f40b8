"""Replies about videos that judges grade in points: 0 to 3, or two marks added up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec import structs

from snellen.benchmarks.protocol.judged_flows import ask_for_reply, build_record, ungraded_record
from snellen.benchmarks.protocol.judging import JudgePanel, VerdictParser, ask_judges
from snellen.core.output import ParsedAnswer, Unparsed
from snellen.core.record import Flow, Pass, Record
from snellen.core.request import Generation, Message, Ref
from snellen.core.sample import Sample
from snellen.core.summary import Metric, Summary, SummaryContext
from snellen.prompts.choice import PromptTemplate, prompt

BARE_TEMPLATE = PromptTemplate(hint="{hint}", open="")
"""Nothing but the question, and what stands before it about its video."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointScale:
    """How one kind of question is graded."""

    rubric: str
    parse: VerdictParser
    names: tuple[str, ...]
    """The marks of a verdict, which are added up."""
    top: float
    """The highest sum there can be."""


def question_messages(sample: Sample) -> tuple[Message, ...]:
    """The media, the hint about them, and the question."""
    return prompt(sample, template=BARE_TEMPLATE)


def same_reply(sample: Sample, reply: str) -> str | None:
    """The reply as it is."""
    return reply


def point_graded_flow(
    settings: Generation,
    panel: JudgePanel,
    scale_of: Callable[[Sample], PointScale],
    build_messages: Callable[[Sample], tuple[Message, ...]] = question_messages,
    judged_part: Callable[[Sample, str], str | None] = same_reply,
) -> Callable[[Sample], Flow]:
    """Ask, then have judges give the reply points; the score is their sum over the highest sum.

    `judged_part` finds the part of a reply that is judged. A reply that is empty, refused or
    without that part scores 0, and no judge is asked. If a verdict has several marks, each is a
    value of the record, over its own highest.
    """

    def flow(sample: Sample) -> Flow:
        """Ask the model, then the judges, who grade the judged part of the reply on the sample's
        scale. A reply without an answer, or without that part, scores 0 without a judge."""
        scale = scale_of(sample)
        messages = build_messages(sample)
        output = yield from ask_for_reply(sample, messages, settings)
        if isinstance(output, Record):
            return output
        judged_text = judged_part(sample, output.text)
        if judged_text is None:
            unread = Pass(messages, output, Unparsed(), sample.gold, False)
            return build_record(sample, (unread,), score=0.0)
        fields = {"question": sample.question, "gold": sample.gold[0] if sample.gold else "", "reply": judged_text}
        verdicts = yield from ask_judges(panel, scale.rubric, fields, scale.parse, Ref(sample.id), about=judged_text)
        answer = ParsedAnswer(judged_text.strip(), "whole reply" if judged_text == output.text else "pack")
        result = Pass(messages, output, answer, sample.gold, verdicts=verdicts.verdicts)
        marks = {name: verdicts.grade(name) for name in scale.names}
        top_of_mark = scale.top / len(scale.names)
        readable_marks = {name: mark for name, mark in marks.items() if mark is not None}
        if len(readable_marks) < len(scale.names) or verdicts.failure is not None:
            return ungraded_record(sample, (result,), verdicts)
        return build_record(
            sample,
            (result,),
            score=sum(readable_marks.values()) / scale.top,
            values={name: mark / top_of_mark for name, mark in readable_marks.items()}
            if len(readable_marks) > 1
            else {},
        )

    return flow


def summarise_in_points(context: SummaryContext, records: Sequence[Record], *, top: float) -> Summary:
    """The summary with its headline, overall and by group, in points up to `top`.

    Failed and ungraded samples are left out.
    """
    summary = context.plain(records)
    headline = to_points(summary.headline, top)
    return structs.replace(
        summary,
        headline=headline,
        metrics={**summary.metrics, context.plain_headline: headline},
        groups={
            column: {label: to_points(metric, top) for label, metric in labels.items()}
            for column, labels in summary.groups.items()
        },
        bounds=None,
    )


def to_points(metric: Metric, top: float) -> Metric:
    """A metric in percent as one in points."""
    scale = top / 100
    value, interval = metric.value, metric.interval
    return structs.replace(
        metric,
        value=None if value is None else value * scale,
        interval=interval and interval.scale(scale),
        unit="points",
        top=top,
    )
