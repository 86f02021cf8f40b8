"""Scales of the charts in pages. `charts` draws on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from snellen.core.summary import Metric
from snellen.report.ticks import round_ticks


class Scale(NamedTuple):
    """A linear scale from its first tick to its last."""

    ticks: tuple[float, ...]

    def position(self, value: float) -> float:
        """In percent of the length, between 0 and 100; in the middle of a scale without length."""
        first, last = self.ticks[0], self.ticks[-1]
        return 50.0 if first == last else 100 * min(1.0, max(0.0, (value - first) / (last - first)))


def metric_scale(metrics: Sequence[Metric]) -> Scale:
    """A scale of 0..100, or up to the highest possible value, extended in round steps if a value
    lies outside."""
    top = max((metric.top for metric in metrics), default=100.0)
    ends = [0.0, top]
    for metric in metrics:
        ends += [metric.value] if metric.value is not None else []
        ends += [metric.interval.low, metric.interval.high] if metric.interval else []
    return Scale(tuple(round_ticks(min(ends), max(ends), end=top)))
