"""Intervals of proportions and means.

Wilson score interval: E. B. Wilson, "Probable inference, the law of succession, and statistical
inference", JASA 22 (1927). Cluster-robust standard error: K.-Y. Liang and S. Zeger, Biometrika 73
(1986). Wilson's interval with a variance that clusters make larger: C. Franco, R. Little, T. Louis
and E. Slud, Journal of Survey Statistics and Methodology 7 (2019).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from statistics import NormalDist
from typing import NamedTuple

from snellen.core.summary import Interval
from snellen.stats.student_t import two_sided_quantile

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
    half_width = z / shrink * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, centre - half_width)
    high = 1.0 if successes == n else min(1.0, centre + half_width)
    return Interval(low, high, "wilson", level)


class Moments(NamedTuple):
    """What the interval of an estimate in 0..1 is made of: a mean of scores, or what is one to
    first order."""

    estimate: float
    variance: float
    """Of the estimate, robust to clusters."""
    independent_variance: float
    """What the variance would be if every sample stood alone."""
    cluster_squares: float
    """Sum of the squared shares that the clusters have in the estimate: 1 / G for G equal ones."""
    sample_squares: float
    """The same of samples: 1 / n for n equal ones."""
    freedom: float | None = None
    """Degrees of freedom of `variance`; None takes the normal distribution, as Wilson does."""


def bounded_interval(moments: Moments, method: str, level: float = DEFAULT_LEVEL) -> Interval:
    """Interval in 0..1 of an estimate that clusters of low or high scores, none of which was seen,
    could move.

    The lower end is the least mean L that is not rejected if samples are a mixture of what was
    seen, which has the estimate m as its mean, and of clusters worth nothing: of a share 1 - L / m.
    With clusters of shares s_g that gives the estimate the variance V L / m + b S L (m - L), where
    S is the sum of s_g^2, and L solves (m - L)^2 = z^2 (V L / m + b S L (m - L)); the upper end is
    the same of 1 - score. Scores of right and wrong that stand alone have Wilson's interval, to
    the last digit. What was seen counts with V, so that scores that differ little have a narrow
    interval; what was not seen with b S alone, so that none has a width of zero, and near 0 and 1
    the interval is as wide as one of right and wrong.

    b is how alike the scores of such a cluster are, from 0 (as samples that stand alone) to 1: the
    part of the variance of scores that lies between clusters, seen with one cluster more, whose
    scores are all alike. It is 1 where samples stand alone. V is no less than if all did. Student's
    t takes the place of z at V.

    For scores that stand alone, the lower end never rises when one of them falls, if their mean is
    at least 2/3; likewise the upper end. Coverage: docs/statistics.md.
    """
    z = _quantile(level)
    t = z if moments.freedom is None else two_sided_quantile(level, moments.freedom)
    estimate = min(1.0, max(0.0, moments.estimate))
    variance = max(moments.variance, moments.independent_variance)
    between, within = (
        variance / moments.cluster_squares,
        moments.independent_variance / moments.sample_squares,
    )
    similarity = min(1.0, (between + moments.cluster_squares) / (within + moments.cluster_squares))
    unobserved = z * z * similarity * moments.cluster_squares
    low = _min_mean(estimate, t * t * variance, unobserved)
    high = 1 - _min_mean(1 - estimate, t * t * variance, unobserved)
    return Interval(min(low, estimate), max(high, estimate), method, level)


def _min_mean(mean: float, observed: float, unobserved: float) -> float:
    """The smaller root L of (mean - L)^2 = seen * L / mean + unseen * L * (mean - L)."""
    if mean <= 0:
        return 0.0
    square = 1 + unobserved
    half = mean + (observed / mean + unobserved * mean) / 2
    root = math.sqrt(max(0.0, half * half - square * mean * mean))
    return mean * mean / (half + root)


def standard_error(values: Sequence[float], clusters: Sequence[str] = ()) -> float | None:
    """Cluster-robust standard error of a mean; an empty name of a cluster stands alone. None for a
    single cluster.

    Raises:
        ValueError: lengths differ, no values, a value that is not finite.
    """
    cluster_ids = (
        [name or at for at, name in enumerate(clusters)] if clusters else range(len(values))
    )
    clustered = _clustered_mean(values, cluster_ids)
    return None if clustered.cluster_count < 2 else clustered.error


def score_interval(
    scores: Sequence[float], clusters: Sequence[str] = (), level: float = DEFAULT_LEVEL
) -> Interval | None:
    """Interval of the mean of scores in 0..1, in 0..1: every benchmark's rule for a plain mean.

    `clusters` names for each score those it may err together with; an empty name stands alone.
    Scores of 0 and 1 without clusters have Wilson's interval; all others `bounded_interval`, with
    a cluster-robust variance, corrected for few and for uneven clusters. None without scores, and
    for scores of a single cluster that differ and are not all 0 or 1.

    Raises:
        ValueError: lengths differ, a score that is not finite.
    """
    if not scores:
        return None
    if clusters and len(clusters) != len(scores):
        raise ValueError(f"got {len(scores)} scores but {len(clusters)} clusters")
    _check_finite(scores)
    n = len(scores)
    mean = math.fsum(scores) / n
    binary = all(score in (0.0, 1.0) for score in scores)
    if not any(clusters):
        if binary:
            return wilson(sum(scores), n, level)
        variance = math.fsum((score - mean) ** 2 for score in scores) / n**2
        return bounded_interval(
            Moments(mean, variance, variance, 1 / n, 1 / n), "wilson, graded", level
        )
    method = "wilson, clustered" if binary else "wilson, graded, clustered"
    cluster_ids = [name or at for at, name in enumerate(clusters)]
    sizes = Counter(cluster_ids)
    if len(sizes) == n:
        return score_interval(scores, (), level)
    independent = math.fsum((score - mean) ** 2 for score in scores) / n**2
    shares = sum(size * size for size in sizes.values()) / n**2
    if len(sizes) < 2:
        if not binary and min(scores) < max(scores):
            return None
        return bounded_interval(
            Moments(mean, n * independent, independent, shares, 1 / n), method, level
        )
    residuals: dict[Hashable, float] = defaultdict(float)
    for score, name in zip(scores, cluster_ids, strict=True):
        residuals[name] += score - mean
    correction = 1 / (1 - shares)
    variance = correction * math.fsum(one * one for one in residuals.values()) / n**2
    freedom = degrees_of_freedom((size / n, correction) for size in sizes.values())
    return bounded_interval(
        Moments(mean, variance, independent, shares, 1 / n, freedom), method, level
    )


def degrees_of_freedom(clusters: Iterable[tuple[float, float]]) -> float:
    """Degrees of freedom of a variance between clusters, of the share of each cluster in the
    estimate and the correction 1 / (1 - s) of its group, whose clusters have shares in the group
    with squares that sum to s: G - 1 for G equal clusters of one group, fewer where a few of them
    weigh more (F. E. Satterthwaite, Biometrics Bulletin 2 (1946), for equal variances)."""
    squares = fourths = 0.0
    for share, correction in clusters:
        squares += share**2
        fourths += correction * share**4
    return max(1.0, squares * squares / fourths)


class _ClusteredMean(NamedTuple):
    mean: float
    error: float
    """Cluster-robust standard error of the mean; NaN for a single cluster."""
    cluster_count: int


def _clustered_mean(values: Sequence[float], clusters: Sequence[Hashable]) -> _ClusteredMean:
    _check_finite(values)
    if len(values) != len(clusters):
        raise ValueError(f"got {len(values)} values but {len(clusters)} clusters")
    mean = math.fsum(values) / len(values)
    residuals: dict[Hashable, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        residuals[cluster] = residuals.get(cluster, 0.0) + (value - mean)
    groups = len(residuals)
    if groups < 2:
        return _ClusteredMean(mean, math.nan, groups)
    squares = math.fsum(residual * residual for residual in residuals.values())
    return _ClusteredMean(mean, math.sqrt(groups / (groups - 1) * squares) / len(values), groups)


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
