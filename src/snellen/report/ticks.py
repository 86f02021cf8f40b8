"""Round numbers for the axes of charts and plots, and the scales of the charts in pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from snellen.core.summary import Metric

_MIN_STEPS = 4
"""The least number of steps of an axis."""


def round_ticks(low: float, high: float, end: float | None = None) -> list[float]:
    """Round numbers from at most `low` to at least `high`.

    `end` is the highest value that can occur: if `high` does not exceed it, it is the last tick,
    round or not.
    """
    smallest = ((high - low) or 1.0) / _MIN_STEPS
    power = 10.0 ** math.floor(math.log10(smallest))
    step = next(digit * power for digit in (1, 2, 2.5, 5, 10) if digit * power >= smallest - 1e-9)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [step * index for index in range(first, max(last, first + 1) + 1)]
    if end is None or high > end:
        return ticks
    return [*(tick for tick in ticks if tick <= end - step / 2), end]


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
