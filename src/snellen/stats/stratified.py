"""Interval of a plain mean of shares, each from its own sample (a benchmark's subtasks).

MOVER: the Wilson limits of the shares are put together by the distances from their estimates
(G. Y. Zou, W. Huang and X. Zhang, "A note on confidence interval estimation for a linear function
of binomial proportions", Computational Statistics & Data Analysis 53 (2009)). For one share it is
the Wilson interval itself; unlike a bootstrap it keeps its width where every answer was wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL, wilson


def mean_of_shares(
    right: Sequence[float],
    sizes: Sequence[int],
    level: float = DEFAULT_LEVEL,
    *,
    weights: Sequence[float] | None = None,
) -> Interval:
    """Interval of the mean of `right[i] / sizes[i]`, each weighing the same unless `weights` say
    what each weighs, which then sum to 1; ends in 0..1.

    Raises:
        ValueError: no shares, as many counts as sizes are not given, or a count outside 0..size.
    """
    if not sizes or len(right) != len(sizes):
        raise ValueError(
            f"a mean of shares needs one count for each of at least one size, got {len(right)} "
            f"counts and {len(sizes)} sizes"
        )
    number = len(sizes)
    mean = below = above = 0.0
    for count, size, weight in zip(right, sizes, weights or [1 / number] * number, strict=True):
        limits = wilson(count, size, level)
        share = count / size
        mean += weight * share
        below += (weight * (share - limits.low)) ** 2
        above += (weight * (limits.high - share)) ** 2
    low = max(0.0, mean - math.sqrt(below))
    high = min(1.0, mean + math.sqrt(above))
    return Interval(low, high, "wilson" if number == 1 else "wilson, combined", level)
