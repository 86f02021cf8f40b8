"""Interval of a plain mean of shares, each from its own sample (a benchmark's subtasks).

MOVER: the limits of the shares are put together by the distances from their estimates (G. Y. Zou,
W. Huang and X. Zhang, "A note on confidence interval estimation for a linear function of binomial
proportions", Computational Statistics & Data Analysis 53 (2009)). Unlike a bootstrap it keeps its
width where every answer was wrong. The shares are taken as independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from snellen.core.summary import Interval


def mean_of_shares(
    shares: Sequence[float],
    intervals: Sequence[Interval],
    *,
    weights: Sequence[float] | None = None,
    top: float = 1.0,
) -> Interval:
    """Interval of the mean of `shares` in 0..`top` from that of each; every share weighs the same
    unless `weights` say what each weighs, which then sum to 1. For one share it is its own.

    Raises:
        ValueError: no shares, or not as many intervals.
    """
    number = len(shares)
    if not number or number != len(intervals):
        raise ValueError(
            f"a mean of shares needs one interval for each of at least one share, got {number} "
            f"shares and {len(intervals)} intervals"
        )
    if number == 1:
        return intervals[0]
    mean = below = above = 0.0
    for share, limits, weight in zip(
        shares, intervals, weights or [1 / number] * number, strict=True
    ):
        mean += weight * share
        below += (weight * (share - limits.low)) ** 2
        above += (weight * (limits.high - share)) ** 2
    low, high = max(0.0, mean - math.sqrt(below)), min(top, mean + math.sqrt(above))
    # One share whose interval is over clusters makes the whole one over clusters.
    method = max((limits.method for limits in intervals), key=len)
    return Interval(low, high, f"{method}, combined", intervals[0].level)
