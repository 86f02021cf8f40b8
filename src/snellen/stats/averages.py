"""Averages over independent benchmarks: their intervals, and the difference of two of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.paired import PairedMean
from snellen.stats.student_t import two_sided_quantile, two_sided_tail


def interval_of_average(
    values: Sequence[float], intervals: Sequence[Interval], weights: Sequence[float] | None = None
) -> Interval:
    """Interval of the mean of independent estimates (of different samples), plain or with weights.

    Variances add, separately on each side: the lower end of the plain mean is sqrt(sum of (value -
    low)^2) / k below it, and its upper end follows from the upper ends likewise (G. Y. Zou and A.
    Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27
    (2008)), so that intervals that are asymmetric near 0 and 100 stay asymmetric. Raises ValueError
    for no values, not as many intervals or weights, weights that are not positive, or intervals of
    different levels.
    """
    shares = [1.0] * len(values) if weights is None else list(weights)
    if len(shares) != len(values) or any(share <= 0 for share in shares):
        raise ValueError(f"got {len(values)} values and the weights {shares}")
    levels = {interval.level for interval in intervals}
    if not values or len(values) != len(intervals) or len(levels) != 1:
        raise ValueError(
            f"got {len(values)} values and {len(intervals)} intervals of the levels "
            f"{sorted(levels)}; expected as many, of one level"
        )
    parts = list(zip(shares, values, intervals, strict=True))
    below = math.hypot(*(share * (value - interval.low) for share, value, interval in parts))
    above = math.hypot(*(share * (interval.high - value) for share, value, interval in parts))
    total = sum(shares)
    mean = sum(share * value for share, value, _ in parts) / total
    return Interval(mean - below / total, mean + above / total, "average", levels.pop())


class AverageDifference(NamedTuple):
    """A difference of two averages: `p` is below 1 - level exactly if `interval` excludes 0.

    Both are None if a part has no standard error, or if no part has any spread.
    """

    mean: float
    interval: Interval | None
    p: float | None


def difference_of_averages(
    parts: Sequence[PairedMean], weights: Sequence[float], level: float = DEFAULT_LEVEL
) -> AverageDifference:
    """The weighted sum of paired differences on independent benchmarks.

    Both systems answer the same samples of each benchmark. Variances add, with the degrees of
    freedom of F. E. Satterthwaite, Biometrics Bulletin 2 (1946), and Student's t. Raises ValueError
    for no parts, or not as many weights.
    """

    if not parts or len(parts) != len(weights):
        raise ValueError(f"got {len(parts)} parts and {len(weights)} weights")
    mean = sum(weight * part.mean for weight, part in zip(weights, parts, strict=True))
    if any(part.error is None or part.p is None for part in parts):
        return AverageDifference(mean, None, None)
    variances = [(weight * (part.error or 0.0)) ** 2 for weight, part in zip(weights, parts, strict=True)]
    total = sum(variances)
    if total <= 0:
        return AverageDifference(mean, None, None)
    freedoms = [part.clusters - 1.0 if part.df is None else part.df for part in parts]
    squares = sum(variance**2 / freedom for variance, freedom in zip(variances, freedoms, strict=True))
    freedom = total**2 / squares
    error = math.sqrt(total)
    p = two_sided_tail(mean / error, freedom)
    half_width = two_sided_quantile(level, freedom) * error
    return AverageDifference(mean, Interval(mean - half_width, mean + half_width, "paired average", level), p)
