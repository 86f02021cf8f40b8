"""Replies about videos that judges mark in points: 0 to 3, or two marks added up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from snellen.benchmarks.protocol.judged_flows import asked, record_of, ungraded
from snellen.benchmarks.protocol.judged_summary import Told, summarise_graded
from snellen.benchmarks.protocol.judging import Panel, Read, judged
from snellen.core.answer import Found, Unparsed
from snellen.core.flow import Flow
from snellen.core.message import Message
from snellen.core.output import Generated
from snellen.core.record import Pass, Record
from snellen.core.request import Generation, Ref
from snellen.core.sample import Sample
from snellen.core.summary import Interval, Metric, Summary
from snellen.extract.unanswered import unanswered
from snellen.prompts.choice import Wording, prompt

BARE = Wording(hint="{hint}", open="")
"""Nothing but the question, and what stands before it about its video."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marking:
    """How one kind of question is marked."""

    rubric: str
    read: Read
    names: tuple[str, ...]
    """The marks of a verdict, which are added up."""
    top: float
    """The highest sum there can be."""


def question_alone(sample: Sample) -> tuple[Message, ...]:
    """The media, what stands before the question about them, and the question."""
    return prompt(sample, wording=BARE)


def whole_reply(sample: Sample, reply: str) -> str | None:
    """The reply as it is."""
    return reply


def marked(
    settings: Generation,
    panel: Panel,
    marking: Callable[[Sample], Marking],
    shown_to: Callable[[Sample], tuple[Message, ...]] = question_alone,
    said_in: Callable[[Sample, str], str | None] = whole_reply,
) -> Callable[[Sample], Flow]:
    """Ask, then have the reply marked; the score is the sum of the marks over the highest.

    `said_in` finds what is marked in a reply. One that is empty, refused or without an answer is
    worth nothing, and no judge is asked. Each of several marks is a value of the record, over its
    top.
    """

    def flow(sample: Sample) -> Flow:
        how = marking(sample)
        shown = shown_to(sample)
        output = yield from asked(sample, shown, settings)
        if not isinstance(output, Generated):
            return record_of(sample, (Pass(shown, output, gold=sample.gold),))
        silent = unanswered(output)
        if silent is not None:
            return record_of(sample, (Pass(shown, output, silent, sample.gold, False),), score=0.0)
        said = said_in(sample, output.text)
        if said is None:
            unread = Pass(shown, output, Unparsed(), sample.gold, False)
            return record_of(sample, (unread,), score=0.0)
        fields = {
            "question": sample.question,
            "gold": sample.gold[0] if sample.gold else "",
            "reply": said,
        }
        found = yield from judged(panel, how.rubric, fields, how.read, Ref(sample.id), about=said)
        answer = Found(said.strip(), "whole reply" if said == output.text else "pack")
        one = Pass(shown, output, answer, sample.gold, verdicts=found.verdicts)
        marks = {name: found.grade(name) for name in how.names}
        most = how.top / len(how.names)
        given = {name: mark for name, mark in marks.items() if mark is not None}
        if len(given) < len(how.names) or found.failure is not None:
            return ungraded(sample, (one,), found)
        return record_of(
            sample,
            (one,),
            score=sum(given.values()) / how.top,
            values={name: mark / most for name, mark in given.items()} if len(given) > 1 else {},
        )

    return flow


def in_points(records: Sequence[Record], told: Told, top: float) -> Summary:
    """The summary with its headline, overall and by group, in points up to `top`; failed and
    ungraded samples are left out."""
    found = summarise_graded(records, told)
    headline = points(found.headline, top)
    return structs.replace(
        found,
        headline=headline,
        metrics={**found.metrics, told.headline: headline},
        groups=_groups(found.groups, top),
        bounds=None,
    )


def points(metric: Metric, top: float) -> Metric:
    """A metric of percent as one of points."""
    scale = top / 100
    value, interval = metric.value, metric.interval
    return structs.replace(
        metric,
        value=None if value is None else value * scale,
        interval=None
        if interval is None
        else Interval(interval.low * scale, interval.high * scale, interval.method, interval.level),
        unit="points",
        top=top,
    )


def _groups(groups: Mapping[str, Mapping[str, Metric]], top: float) -> dict[str, dict[str, Metric]]:
    return {
        column: {label: points(metric, top) for label, metric in labels.items()}
        for column, labels in groups.items()
    }
