"""Intervals of averages of independent numbers, each with an interval of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from snellen.core.summary import Interval


def interval_of_average(values: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """Interval of the plain mean of independent estimates (of different samples).

    Variances add, apart on each side: the mean's lower end lies sqrt(sum of (value - low)^2) / k
    below it, the upper end as far above as the others' upper ends say (G. Y. Zou and A. Donner,
    "Construction of confidence limits about effect measures", Statistics in Medicine 27 (2008)).
    Asymmetric intervals, near 0 and 100, stay so.

    Raises:
        ValueError: no values, not as many intervals, or intervals of different levels.
    """
    levels = {one.level for one in intervals}
    if not values or len(values) != len(intervals) or len(levels) != 1:
        raise ValueError(
            f"got {len(values)} values and {len(intervals)} intervals of the levels "
            f"{sorted(levels)}; expected as many, of one level"
        )
    pairs = list(zip(values, intervals, strict=True))
    below = math.sqrt(sum((value - one.low) ** 2 for value, one in pairs))
    above = math.sqrt(sum((one.high - value) ** 2 for value, one in pairs))
    mean = sum(values) / len(values)
    return Interval(mean - below / len(values), mean + above / len(values), "average", levels.pop())
