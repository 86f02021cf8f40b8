"""Numbers as texts, and intervals as positions on a scale, for bars in SVG."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from snellen.report.format import NONE
from snellen.report.ticks import round_ticks


class IntervalBar(NamedTuple):
    """Where a number and its interval lie, in percent of the width of their scale."""

    at: float
    low: float | None
    high: float | None


class NumberScale(NamedTuple):
    """A scale from one round number to another."""

    low: float
    high: float

    def position(self, value: float) -> float:
        """In percent of the width, between 0 and 100."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(1.0, max(0.0, share)), 1)

    def bar(self, value: float | None, low: float | None, high: float | None) -> IntervalBar | None:
        """None without a number."""
        if value is None:
            return None
        if low is None or high is None:
            return IntervalBar(self.position(value), None, None)
        return IntervalBar(self.position(value), self.position(low), self.position(high))


def scale_of(values: Iterable[float | None]) -> NumberScale:
    """A scale that holds all of the values."""
    numbers = [value for value in values if value is not None]
    if not numbers:
        return NumberScale(0.0, 100.0)
    low, high = min(numbers), max(numbers)
    if high - low < 1e-9:
        low, high = low - 1.0, high + 1.0
    ticks = round_ticks(low, high)
    return NumberScale(ticks[0], ticks[-1])


def number_text(value: float | None, digits: int = 1) -> str:
    """A number with a fixed number of decimals, so that columns of them line up."""
    if value is None:
        return NONE
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


def range_text(low: float | None, high: float | None, digits: int = 1) -> str:
    """Both ends of an interval, such as `61.0–64.2`; empty without one."""
    if low is None or high is None:
        return ""
    joint = " to " if low < 0 or high < 0 else "–"
    return f"{number_text(low, digits)}{joint}{number_text(high, digits)}"
