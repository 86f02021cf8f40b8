"""Intervals of proportions and means.

Wilson score interval: E. B. Wilson, "Probable inference, the law of succession, and statistical
inference", JASA 22 (1927). Cluster-robust standard error: K.-Y. Liang and S. Zeger, Biometrika 73
(1986). Effective sample size in the interval of a proportion: E. L. Korn and B. I. Graubard, Survey
Methodology 24 (1998), for Clopper and Pearson's; C. Franco, R. Little, T. Louis and E. Slud,
Journal of Survey Statistics and Methodology 7 (2019), for Wilson's.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist
from typing import NamedTuple

from snellen.core.summary import Interval
from snellen.stats.student import two_sided_quantile

DEFAULT_LEVEL = 0.95


def wilson(successes: float, n: float, level: float = DEFAULT_LEVEL) -> Interval:
    """Wilson score interval of a proportion, both ends in 0..1.

    `successes` may be fractional (partial credit); the interval then is on the wide side. So may
    `n` be, where it is an effective sample size.

    Raises:
        ValueError: n < 1, successes outside 0..n or not a number, level outside (0, 1).
    """
    z = _quantile(level)
    if n < 1:
        raise ValueError(f"an interval of a proportion needs n >= 1, got n = {n}")
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie in 0..{n}, got {successes}")
    share = successes / n
    shrink = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / shrink
    half = z / shrink * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(low, high, "wilson", level)


def clustered_mean(
    values: Sequence[float], clusters: Sequence[Hashable], level: float = DEFAULT_LEVEL
) -> Interval:
    """Interval of a mean whose values come in clusters (questions about one picture).

    Cluster-robust (sandwich) standard error with the G/(G-1) correction for G clusters, and
    Student's t with G - 1 degrees of freedom.

    Raises:
        ValueError: lengths differ, fewer than two clusters, a value that is not finite.
    """
    mean, error, groups = _clustered(values, clusters)
    if groups < 2:
        raise ValueError(f"a clustered interval needs at least 2 clusters, got {groups}")
    half = two_sided_quantile(level, groups - 1) * error
    return Interval(mean - half, mean + half, "clustered", level)


def effective_size(
    values: Sequence[float], clusters: Sequence[Hashable], level: float = DEFAULT_LEVEL
) -> float:
    """How many independent values of right (1) and wrong (0) would tell as much about the mean.

    That is n divided by the design effect (the cluster-robust variance over that of independent
    values), less for few clusters by the ratio of the normal's quantile to Student's t, squared.
    Never more than n: that values of a cluster differ more than others narrows no interval. Where
    all values are the same, or there is one cluster, nothing is seen of the design effect, and it
    is the number of clusters.

    Raises:
        ValueError: no values, lengths differ, a value that is not finite.
    """
    mean, error, groups = _clustered(values, clusters)
    n = len(values)
    if groups == n:
        return n
    if groups < 2 or not 0 < mean < 1:
        return groups
    if not error:
        return n
    few = _quantile(level) / two_sided_quantile(level, groups - 1)
    return min(n, max(1.0, mean * (1 - mean) * (few / error) ** 2))


def clustered_wilson(
    values: Sequence[float], clusters: Sequence[Hashable], level: float = DEFAULT_LEVEL
) -> Interval:
    """Wilson score interval of a share of right (1) and wrong (0) values that come in clusters:
    that of as many values as `effective_size` says, and the plain one where every value stands
    alone.

    Raises:
        ValueError: as `effective_size`.
    """
    size = effective_size(values, clusters, level)
    found = wilson(size * math.fsum(values) / len(values), size, level)
    alone = len(set(clusters)) == len(values)
    return found if alone else Interval(found.low, found.high, "wilson, clustered", level)


def standard_error(values: Sequence[float], clusters: Sequence[str] = ()) -> float | None:
    """Cluster-robust standard error of a mean; an empty name of a cluster stands alone. None for a
    single cluster.

    Raises:
        ValueError: lengths differ, no values, a value that is not finite.
    """
    held = [name or at for at, name in enumerate(clusters)] if clusters else range(len(values))
    found = _clustered(values, held)
    return None if found.groups < 2 else found.error


def score_interval(
    scores: Sequence[float], clusters: Sequence[str] = (), level: float = DEFAULT_LEVEL
) -> Interval | None:
    """Interval of the mean of scores in 0..1, in 0..1: every benchmark's rule for a plain mean.

    `clusters` names for each score those it may err together with; an empty name stands alone.
    Right or wrong: `clustered_wilson`. Scores between: Student's t over clusters; where all are the
    same, Wilson's over as many as there are clusters, because a width of zero would claim
    certainty. None without scores, and for different scores of a single cluster.

    Raises:
        ValueError: lengths differ, a score that is not finite.
    """
    if not scores:
        return None
    binary = all(score in (0.0, 1.0) for score in scores)
    if binary and not any(clusters):
        return wilson(sum(scores), len(scores), level)
    held = [name or at for at, name in enumerate(clusters)] if clusters else range(len(scores))
    if binary:
        return clustered_wilson(scores, held, level)
    distinct = len(set(held))
    if min(scores) == max(scores):
        return wilson(distinct * scores[0], distinct, level)
    if distinct < 2:
        return None
    found = clustered_mean(scores, held, level)
    return Interval(max(0.0, found.low), min(1.0, found.high), found.method, level)


class _Clustered(NamedTuple):
    mean: float
    error: float
    """Cluster-robust standard error of the mean; NaN for a single cluster."""
    groups: int


def _clustered(values: Sequence[float], clusters: Sequence[Hashable]) -> _Clustered:
    _check_finite(values)
    if len(values) != len(clusters):
        raise ValueError(f"got {len(values)} values but {len(clusters)} clusters")
    mean = math.fsum(values) / len(values)
    residuals: dict[Hashable, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        residuals[cluster] = residuals.get(cluster, 0.0) + (value - mean)
    groups = len(residuals)
    if groups < 2:
        return _Clustered(mean, math.nan, groups)
    squares = math.fsum(residual * residual for residual in residuals.values())
    return _Clustered(mean, math.sqrt(groups / (groups - 1) * squares) / len(values), groups)


def _quantile(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    return NormalDist().inv_cdf(0.5 + level / 2)


def _check_finite(values: Sequence[float]) -> None:
    if not values:
        raise ValueError("an interval needs at least one value, got none")
    for position, value in enumerate(values):
        if not math.isfinite(value):
            raise ValueError(f"value {position} is {value}; every value must be a finite number")
