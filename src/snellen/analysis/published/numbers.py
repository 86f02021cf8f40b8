"""The published numbers of a run's model on its benchmark, and the settings that differ, as far as known."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.resources import files
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from snellen.analysis.comparison.deviations import deviations
from snellen.analysis.comparison.setup_gaps import recipe_of, setup_gaps
from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.core.errors import UsageError
from snellen.core.run import Report, RunInfo
from snellen.core.summary import Metric
from snellen.models.naming.registry import maker_name
from snellen.prompts.recipes import Recipe

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


_DESCRIBED_BY_GAPS = frozenset({"prompt", "sampling", "tokens"})
"""Deviations that the differing settings name already."""


class DifferingSetting(Struct, frozen=True):
    """A setting of the run that is not that of the published number."""

    setting: str
    published: str
    own: str
    basis: str
    """What is known of the published setting: `the source` names it, or `the makers' set-up`."""


class PublishedNumberExplained(Struct, frozen=True):
    """A published number, and the settings of the run that differ from its own."""

    sentence: str
    verdict: str
    published: float
    own: float
    difference: float
    url: str
    note: str
    settings: tuple[DifferingSetting, ...]


class PublishedExplanation(Struct, frozen=True):
    """A run against the published numbers of its model on its benchmark."""

    model: str
    benchmark: str
    setup: str
    """The family whose set-up is compared; "" if none is known."""
    setup_source: str
    setup_note: str
    """What the makers do beyond their settings, which is not applied."""
    numbers: tuple[PublishedNumberExplained, ...]
    deviations: tuple[str, ...]
    """Other ways in which the run differs from the plain setting of its benchmark."""


def explain_published(report: Report) -> PublishedExplanation:
    """Compare a run with what is published. Raises UsageError if nothing comparable is
    published."""
    run = report.run
    comparisons = compare_with_published(report)
    if not comparisons:
        raise UsageError(
            f"no published number is known that {run.name} can be compared with (it needs the "
            "published data, a score, and a model and benchmark of which Snellen knows one); give "
            "a second run"
        )
    recipe = recipe_of(run)
    numbers = []
    for comparison in comparisons:
        source, own = comparison.published.source, comparison.own.value
        assert own is not None
        stated = {
            name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in source.settings.items()
        }
        by_makers = () if recipe is None else setup_gaps(run)
        settings = [DifferingSetting(*gap, "the source") for gap in setup_gaps(run, stated)] + [
            DifferingSetting(*gap, "the makers' set-up") for gap in by_makers if gap.setting not in stated
        ]
        numbers.append(
            PublishedNumberExplained(
                comparison.sentence(),
                comparison.verdict,
                comparison.published.value,
                own,
                comparison.difference,
                source.url,
                source.note,
                tuple(settings),
            )
        )
    others = [each.sentence for each in deviations(run) if each.key not in _DESCRIBED_BY_GAPS]
    named = recipe or Recipe()
    return PublishedExplanation(
        run.model, run.benchmark, named.title or named.name, named.source, named.note, tuple(numbers), tuple(others)
    )
