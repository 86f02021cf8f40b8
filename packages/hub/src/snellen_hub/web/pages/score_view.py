"""How the numbers of one submission are drawn: headline, metrics, groups, outcomes, versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from snellen.core.output import OUTCOMES
from snellen.report import format as fmt
from snellen_hub.public_scores import PublicNumber, PublicScore
from snellen_hub.web.pages.scales import IntervalBar, NumberScale, scale_of

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


class NumberGroup(NamedTuple):
    """Numbers of one grouping on a common scale."""

    title: str
    numbers: Mapping[str, PublicNumber]
    """By their names."""
    scale: NumberScale


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


def headline_bar(score: PublicScore) -> IntervalBar | None:
    """The headline on the scale of all that is possible."""
    number = score.headline
    scale = NumberScale(min(0.0, number.value or 0.0), number.top)
    return scale.bar(number.value, number.low, number.high)


def number_groups(score: PublicScore) -> list[NumberGroup]:
    """Further metrics, then each grouping."""
    metrics = {fmt.metric_label(name): number for name, number in score.metrics.items() if name != score.name}
    groups = {"Further metrics": metrics} if metrics else {}
    return [
        NumberGroup(title, numbers, scale_of(end for one in numbers.values() for end in (one.value, one.low, one.high)))
        for title, numbers in (groups | score.groups).items()
    ]


def outcome_parts(score: PublicScore) -> list[OutcomePart]:
    """Shares of how replies ended, as one bar."""
    counts = [(name, score.outcomes[name]) for name in OUTCOMES if score.outcomes.get(name)]
    total = sum(count for _, count in counts)
    parts, start = [], 0.0
    for name, count in counts:
        share = 100 * count / total
        kind = "right" if name == "answered" else "unread" if name in _UNREAD else "lost"
        parts.append(OutcomePart(fmt.OUTCOME_LABELS[name], count, round(share, 2), round(start, 2), kind))
        start += share
    return parts


_UNREAD = {"no_match", "unparsed", "refused", "truncated"}


def run_facts(run: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    """What `run.json` says of where the replies come from, as the submitter sent it: names, values,
    and whether the name is a text of the pages."""
    facts = [(label, value, True) for name, label in _RUN_FACTS.items() if (value := _plain(run.get(name)))]
    for name in _RUN_TABLES:
        table = run.get(name)
        if isinstance(table, Mapping):
            facts += [(str(key)[:_LONGEST], text, False) for key, value in table.items() if (text := _plain(value))]
    return facts[:_MOST_FACTS]


def safe_link(link: object) -> str:
    """A link that strangers gave, if it leads to a web page; else nothing."""
    text = link if isinstance(link, str) else ""
    return text if text.startswith(("https://", "http://")) and text.isprintable() else ""


def _plain(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)[:_LONGEST]
