"""Ranks of systems on the same samples and their bootstrap intervals; the interval of the largest
of several scores.

Bootstrap of ranks over samples: H. Goldstein and D. J. Spiegelhalter, "League tables and their
limitations", JRSS A 159 (1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from snellen.core.arrays import Floats, np
from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL, wilson
from snellen.stats.resampling import DEFAULT_DRAWS, bootstrap_sums, seeded_generator


class RankInterval(NamedTuple):
    """A system's rank (1 is best; ties share the smaller), the central `level` interval of its
    ranks over the draws, and the fraction of the draws in which no system is better."""

    rank: int
    low: int
    high: int
    first: float
    level: float


def rank_intervals(
    sums: Floats, seed: str, *, draws: int = DEFAULT_DRAWS, level: float = DEFAULT_LEVEL
) -> list[RankInterval]:
    """Ranks by the sum of scores, higher is better, with bootstrap intervals over clusters.

    `sums` (clusters, systems) is what each system scored in each cluster. Every draw takes the same
    clusters for all systems. Raises ValueError for no clusters, or no systems.
    """
    if sums.ndim != 2 or 0 in sums.shape:
        raise ValueError(f"expected clusters by systems, got the shape {sums.shape}")
    observed = ranks(sums.sum(axis=0, keepdims=True))[0]
    return rank_intervals_of_draws(observed, ranks(bootstrap_sums(sums, seeded_generator(seed), draws)), level)


def rank_intervals_of_draws(observed: Floats, drawn: Floats, level: float = DEFAULT_LEVEL) -> list[RankInterval]:
    """Rank intervals from observed ranks (systems,) and those of the draws (draws, systems)."""
    tail = (1 - level) / 2
    low = np.quantile(drawn, tail, axis=0, method="lower")
    high = np.quantile(drawn, 1 - tail, axis=0, method="higher")
    first = (drawn == 1).mean(axis=0)
    return [
        RankInterval(int(observed[system]), int(low[system]), int(high[system]), float(first[system]), level)
        for system in range(len(observed))
    ]


def mean_rank_intervals(observed: Floats, drawn: Floats, level: float = DEFAULT_LEVEL) -> list[Interval]:
    """Intervals of the systems' expected mean ranks over tasks, 1 is best, on benchmarks of this
    size.

    `observed` (tasks, systems) are the scores, higher is better. `drawn` (draws, tasks, systems)
    are scores of bootstrap samples of clusters, the same for all systems
    (`resampling.bootstrap_sums`), a few hundred or more. A system that stands for a constant, such
    as guessing, has the same scores in all draws.

    The intervals are not for ranks of the true scores: noise moves the mean ranks of close systems
    towards the middle, in every table. In the draws noise has acted twice; therefore not their
    centre is used, but their root mean square distance from the observed ranks. Raises ValueError
    for shapes that do not go together, or no tasks.
    """
    if observed.ndim != 2 or drawn.shape[1:] != observed.shape or not observed.size:
        raise ValueError(f"expected tasks by systems, got {observed.shape} and {drawn.shape}")
    means = ranks(observed).mean(axis=0)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    half_widths = z * np.sqrt(((ranks(drawn).mean(axis=1) - means) ** 2).mean(axis=0))
    last = float(observed.shape[1])
    return [
        Interval(max(1.0, mean - half), min(last, mean + half), "bootstrap", level)
        for mean, half in zip(means.tolist(), half_widths.tolist(), strict=True)
    ]


def largest_interval(shares: Sequence[float], intervals: Sequence[Interval], level: float = DEFAULT_LEVEL) -> Interval:
    """Interval of the largest of several true shares in 0..1, from their estimates and `level`
    intervals.

    The largest estimate is partly so by luck, and too high. The largest true share, whichever it
    is, lies below the highest upper end with at least the probability that it lies below its own;
    and above every lower end of a level that is corrected for their number (Bonferroni). This holds
    for estimates on the same samples too. Raises ValueError for no shares, or not as many
    intervals.
    """
    if not shares or len(shares) != len(intervals):
        raise ValueError(f"got {len(shares)} shares and {len(intervals)} intervals")
    stricter = 1 - (1 - level) / len(shares)
    low = max(_lower_end(share, interval, stricter) for share, interval in zip(shares, intervals, strict=True))
    high = max(interval.high for interval in intervals)
    return Interval(min(low, max(shares)), high, f"largest of {len(shares)}", level)


def _lower_end(share: float, interval: Interval, level: float) -> float:
    """Lower end at another level, by the Wilson interval that has the lower end of `interval`."""
    if share <= interval.low or interval.low <= 0:
        return 0.0
    z = NormalDist().inv_cdf(0.5 + interval.level / 2)
    size = z * z * interval.low * (1 - interval.low) / (share - interval.low) ** 2
    return wilson(max(1.0, size) * share, max(1.0, size), level).low


def ranks(values: Floats) -> Floats:
    """Competition ranks along the last axis, 1 for the highest: 1 + how many are higher."""
    # Equal sums of scores such as 0.3 may differ in their last bits, and must still be ties.
    rounded = -np.round(values, 9)
    order = np.argsort(rounded, axis=-1)
    ordered = np.take_along_axis(rounded, order, axis=-1)
    # The place where the run of equal values begins is the number of higher ones.
    places = np.broadcast_to(np.arange(ordered.shape[-1]), ordered.shape).copy()
    places[..., 1:][ordered[..., 1:] == ordered[..., :-1]] = 0
    places = np.maximum.accumulate(places, axis=-1)
    higher = np.empty_like(rounded)
    np.put_along_axis(higher, order, places.astype(np.float64), axis=-1)
    return 1.0 + higher
