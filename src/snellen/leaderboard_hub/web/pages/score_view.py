"""How the numbers of one submission are drawn: headline, metrics, groups, outcomes, versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from snellen.core.output import OUTCOMES
from snellen.leaderboard_hub.public_scores import PublicNumber, PublicScore
from snellen.leaderboard_hub.web.pages.scales import (
    IntervalBar,
    NumberScale,
    number_text,
    range_text,
    scale_of,
)
from snellen.report import format as fmt

_RUN_FACTS = {
    "model": "Model",
    "benchmark": "Benchmark",
    "title": "Title",
    "status": "Status",
    "created": "Created",
    "finished": "Finished",
    "failures": "Failures",
}
"""Of `run.json`: what says how the replies came about, and nothing of the machine's paths."""
_RUN_TABLES = ("versions", "hardware")
_LONGEST = 300
_MOST_FACTS = 40


class NumberRow(NamedTuple):
    """A number under its name."""

    label: str
    text: str
    range: str
    n: int
    bar: IntervalBar | None
    note: str = ""


class NumberGroup(NamedTuple):
    """Numbers of one grouping on a common scale."""

    title: str
    rows: tuple[NumberRow, ...]


class OutcomePart(NamedTuple):
    """How many replies ended in one way."""

    name: str
    samples: int
    share: float
    """In percent."""
    start: float
    """Where it starts on the bar of all, in percent."""
    kind: str
    """Its class in the style sheet."""


class RunFact(NamedTuple):
    """A line of `run.json`."""

    name: str
    value: str
    is_known: bool
    """Whether the name is a text of the pages; else it is as the submitter sent it."""


def number_row(
    label: str, number: PublicNumber, scale: NumberScale | None = None, digits: int = 1
) -> NumberRow:
    """A number as it is drawn."""
    return NumberRow(
        label=label,
        text=number_text(number.value, digits),
        range=range_text(number.low, number.high, digits),
        n=number.n,
        bar=scale.bar(number.value, number.low, number.high) if scale else None,
        note=number.note,
    )


def headline_row(score: PublicScore) -> NumberRow:
    """The headline on the scale of all that is possible."""
    number = score.headline
    scale = NumberScale(min(0.0, number.value or 0.0), number.top)
    return number_row(fmt.metric_label(score.name), number, scale)


def number_groups(score: PublicScore) -> list[NumberGroup]:
    """Further metrics, then each grouping."""
    groups = []
    metrics = {name: number for name, number in score.metrics.items() if name != score.name}
    if metrics:
        groups.append(_group("Further metrics", metrics, is_metric=True))
    for column, labels in score.groups.items():
        groups.append(_group(column, labels))
    return groups


def outcome_parts(score: PublicScore) -> list[OutcomePart]:
    """Shares of how replies ended, as one bar."""
    counts = [(name, score.outcomes[name]) for name in OUTCOMES if score.outcomes.get(name)]
    total = sum(count for _, count in counts)
    parts, start = [], 0.0
    for name, count in counts:
        share = 100 * count / total
        kind = "right" if name == "answered" else "unread" if name in _UNREAD else "lost"
        parts.append(OutcomePart(fmt.OUTCOME_LABELS[name], count, round(share, 2), round(start, 2),
                                 kind))  # fmt: skip
        start += share
    return parts


_UNREAD = {"no_match", "unparsed", "refused", "truncated"}


def run_facts(run: Mapping[str, Any]) -> list[RunFact]:
    """What `run.json` says of where the replies come from. It is as the submitter sent it."""
    facts = [
        RunFact(label, value, True)
        for name, label in _RUN_FACTS.items()
        if (value := _plain(run.get(name)))
    ]
    for name in _RUN_TABLES:
        table = run.get(name)
        if isinstance(table, Mapping):
            facts += [
                RunFact(str(key)[:_LONGEST], text, False)
                for key, value in table.items()
                if (text := _plain(value))
            ]
    return facts[:_MOST_FACTS]


def safe_link(link: object) -> str:
    """A link that strangers gave, if it leads to a web page; else nothing."""
    text = link if isinstance(link, str) else ""
    return text if text.startswith(("https://", "http://")) and text.isprintable() else ""


def _plain(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)[:_LONGEST]


def _group(
    title: str, numbers: Mapping[str, PublicNumber], *, is_metric: bool = False
) -> NumberGroup:
    ends: Sequence[float | None] = [
        end for number in numbers.values() for end in (number.value, number.low, number.high)
    ]
    scale = scale_of(ends)
    return NumberGroup(
        title,
        tuple(
            number_row(fmt.metric_label(label) if is_metric else label, number, scale)
            for label, number in numbers.items()
        ),
    )
