"""The published numbers of a run's model on its benchmark."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.resources import files
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.core.run import Report, RunInfo
from snellen.core.summary import Metric
from snellen.models.naming.registry import maker_name

_METRIC_MARK = "|"
"""Between a benchmark and the metric, where that is not its headline."""
_FREE_PARAMETERS = frozenset({"reading"})
"""Parameters that say how replies are parsed, not what is asked."""


class PublicationSource(Struct, frozen=True, forbid_unknown_fields=True):
    """A page or paper, and the numbers that stand there."""

    title: str
    url: str
    where: str
    """The table."""
    read: str
    """The day on which it was read, ISO 8601."""
    numbers: Mapping[str, Mapping[str, float]]
    """By hub id or API name in lower case: by benchmark with its options, `|metric` behind it."""
    settings: Mapping[str, str | float] = {}
    """What the source says about how the model was asked, by the names of a recipe's fields."""
    note: str = ""


class PublishedNumber(NamedTuple):
    """One published number."""

    value: float
    metric: str
    """Name of the metric; "" for the headline of the benchmark."""
    source: PublicationSource


Verdict = Literal["inside", "outside", ""]


class PublishedComparison(NamedTuple):
    """A published number beside the run's own."""

    published: PublishedNumber
    own: Metric

    @property
    def verdict(self) -> Verdict:
        """Whether the number lies in the run's interval; "" if the run has none."""
        if self.own.interval is None:
            return ""
        interval = self.own.interval
        is_inside = interval.low <= self.published.value <= interval.high
        return "inside" if is_inside else "outside"

    @property
    def difference(self) -> float:
        """The run's number less the published one."""
        assert self.own.value is not None
        return self.own.value - self.published.value

    def sentence(self) -> str:
        """`published 69.1, yours 59.9 (57.3-62.4): outside`, with the source."""
        source = self.published.source
        own = f"yours {self.own.value:.1f}"
        if self.own.interval is not None:
            own += f" ({self.own.interval.low:.1f}-{self.own.interval.high:.1f}): {self.verdict}"
        number = f"{self.published.value:.2f}".rstrip("0").rstrip(".")
        return f"published {number}, {own} ({source.title}, {source.where})"


@functools.cache
def number_sources() -> tuple[PublicationSource, ...]:
    """All sources: those of makers before those of papers."""
    folder = files(__package__)
    found = [
        msgspec.toml.decode(file.read_bytes(), type=PublicationSource)
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".toml")
    ]
    return tuple(sorted(found, key=lambda source: "arxiv.org" in source.url))


def published_numbers(run: RunInfo) -> list[PublishedNumber]:
    """What is published of the run's model on its benchmark, on these questions."""
    _, _, model = maker_name(run.model, run.config.identity).partition("/")
    model = model.partition(":")[0].lower()
    return [
        PublishedNumber(value, metric, source)
        for source in number_sources()
        for spec, value in source.numbers.get(model, {}).items()
        for benchmark, _, metric in (spec.partition(_METRIC_MARK),)
        if _asks_the_same(run, benchmark)
    ]


def _asks_the_same(run: RunInfo, spec: str) -> bool:
    name, asked = _key_of(spec)
    parameters = run.config.parameters
    return name == run.benchmark and all(
        parameters.get(key, value) == value for key, value in asked.items() if key not in _FREE_PARAMETERS
    )


@functools.cache
def _key_of(spec: str) -> tuple[str, dict[str, str]]:
    from snellen.benchmarks.declaration.registry import member_key

    return member_key(spec)


def compare_with_published(report: Report) -> list[PublishedComparison]:
    """The published numbers beside the run's own. Empty where the comparison means nothing: without
    a score, under a control, or on data that are not the published ones."""
    run, origin = report.run, report.run.data.origin
    if CONTROL in run.config.parameters or (origin is not None and origin.kind != "published"):
        return []
    comparisons = []
    for number in published_numbers(run):
        own = report.summary.metrics.get(number.metric) if number.metric else report.summary.headline
        if own is not None and own.value is not None:
            comparisons.append(PublishedComparison(number, own))
    return comparisons
