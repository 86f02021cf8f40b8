"""Intervals of proportions and means, of shares over several systems, and of weighted shares.

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
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.arrays import Bools, Floats, np
from snellen.core.summary import Interval
from snellen.stats.student_t import two_sided_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray


DEFAULT_LEVEL = 0.95
MIN_CLUSTERS = 5
"""Clusters below which neither a p-value nor an interval of a difference is given."""


def wilson(successes: float, n: float, level: float = DEFAULT_LEVEL) -> Interval:
    """Wilson score interval of a proportion, both ends in 0..1.

    `successes` may be fractional (partial credit), which makes the interval rather wide; `n` may be
    fractional too (an effective sample size). Raises ValueError for n < 1, successes outside 0..n
    or not a number, level outside (0, 1).
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
    """Inputs of `bounded_interval` for an estimate in 0..1: a mean of scores, or a statistic that
    is one to first order."""

    estimate: float
    variance: float
    """Cluster-robust variance of the estimate."""
    independent_variance: float
    """Variance of the estimate if all samples were independent."""
    cluster_squares: float
    """Sum of the squared weights of the clusters in the estimate: 1 / G for G equal ones."""
    sample_squares: float
    """Sum of the squared weights of the samples: 1 / n for n equal ones."""
    freedom: float | None = None
    """Degrees of freedom of `variance`; None for the normal distribution, as in Wilson's interval.
    """


def bounded_interval(moments: Moments, method: str, level: float = DEFAULT_LEVEL) -> Interval:
    """Interval in 0..1 of an estimate, generalising Wilson's to graded and clustered scores.

    It allows for clusters of low or high scores that happen not to be among the observed ones. The
    lower end is the smallest mean L that is not rejected if samples are a mixture of the observed
    distribution, with mean m (the estimate), and of clusters with score 0, in the proportion
    1 - L / m. With clusters of weights s_g the estimate then has the variance
    V L / m + b S L (m - L), where S is the sum of s_g^2, and L solves
    (m - L)^2 = z^2 (V L / m + b S L (m - L)). The upper end is the same for 1 - score. Independent
    scores of 0 and 1 get Wilson's interval, to the last digit. The observed part enters with V, so
    that scores that differ little have a narrow interval; the unobserved part enters with b S, so
    that no interval has zero width, and near 0 and 1 it is as wide as one of scores of 0 and 1.

    b is the similarity of scores within an unobserved cluster, from 0 (as independent samples) to
    1: the part of the variance of scores that lies between clusters, after adding one cluster whose
    scores are all equal. It is 1 for independent samples. V is at least the variance of independent
    samples. Student's t replaces z at V.

    For independent scores whose mean is at least 2/3, the lower end never rises when a score falls;
    likewise the upper end. Coverage: docs/statistics.md.
    """
    z = _quantile(level)
    t = z if moments.freedom is None else two_sided_quantile(level, moments.freedom)
    estimate = min(1.0, max(0.0, moments.estimate))
    variance = max(moments.variance, moments.independent_variance)
    between = variance / moments.cluster_squares
    within = moments.independent_variance / moments.sample_squares
    similarity = min(1.0, (between + moments.cluster_squares) / (within + moments.cluster_squares))
    unobserved = z * z * similarity * moments.cluster_squares
    low = _min_mean(estimate, t * t * variance, unobserved)
    high = 1 - _min_mean(1 - estimate, t * t * variance, unobserved)
    return Interval(min(low, estimate), max(high, estimate), method, level)


def _min_mean(mean: float, observed: float, unobserved: float) -> float:
    """The smaller root L of (mean - L)^2 = observed * L / mean + unobserved * L * (mean - L)."""
    if mean <= 0:
        return 0.0
    square = 1 + unobserved
    half = mean + (observed / mean + unobserved * mean) / 2
    root = math.sqrt(max(0.0, half * half - square * mean * mean))
    return mean * mean / (half + root)


def standard_error(values: Sequence[float], clusters: Sequence[str] = ()) -> float | None:
    """Cluster-robust standard error of a mean; a sample with an empty cluster name is a cluster of
    its own. None for a single cluster. Raises ValueError for lengths that differ, no values, a
    value that is not finite."""
    _check_finite(values)
    cluster_ids = _cluster_ids(clusters) if clusters else range(len(values))
    if len(values) != len(cluster_ids):
        raise ValueError(f"got {len(values)} values but {len(cluster_ids)} clusters")
    mean = math.fsum(values) / len(values)
    residuals: dict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, cluster_ids, strict=True):
        residuals[cluster] += value - mean
    groups = len(residuals)
    if groups < 2:
        return None
    squares = math.fsum(residual * residual for residual in residuals.values())
    return math.sqrt(groups / (groups - 1) * squares) / len(values)


def score_interval(
    scores: Sequence[float], clusters: Sequence[str] = (), level: float = DEFAULT_LEVEL
) -> Interval | None:
    """Interval in 0..1 of the mean of scores in 0..1: the rule of every benchmark for a plain mean.

    `clusters` names the cluster of each score; an empty name is a cluster of its own. Scores of 0
    and 1 without clusters have Wilson's interval; all others `bounded_interval`, with a
    cluster-robust variance, corrected for few and for uneven clusters. None without scores, and for
    scores of a single cluster that differ and are not all 0 or 1. Raises ValueError for lengths that
    differ, or a score that is not finite.
    """
    if not scores:
        return None
    if clusters and len(clusters) != len(scores):
        raise ValueError(f"got {len(scores)} scores but {len(clusters)} clusters")
    _check_finite(scores)
    n = len(scores)
    mean = math.fsum(scores) / n
    binary = {*scores} <= {0.0, 1.0}
    if not any(clusters):
        if binary:
            return wilson(sum(scores), n, level)
        variance = math.fsum((score - mean) ** 2 for score in scores) / n**2
        # Every sample is a cluster: both variances and both sums of squares are the same.
        return bounded_interval(Moments(mean, variance, variance, 1 / n, 1 / n), "wilson, graded", level)
    cluster_ids = _cluster_ids(clusters)
    if len({*cluster_ids}) == n:
        return score_interval(scores, (), level)
    return _clustered_interval(scores, cluster_ids, level)


def _clustered_interval(scores: Sequence[float], cluster_ids: Sequence[Hashable], level: float) -> Interval | None:
    n = len(scores)
    mean = math.fsum(scores) / n
    binary = {*scores} <= {0.0, 1.0}
    method = "wilson, clustered" if binary else "wilson, graded, clustered"
    sizes = Counter(cluster_ids)
    independent = math.fsum((score - mean) ** 2 for score in scores) / n**2
    shares = sum(size * size for size in sizes.values()) / n**2
    if len(sizes) < 2:
        if not binary and min(scores) < max(scores):
            return None
        return bounded_interval(Moments(mean, n * independent, independent, shares, 1 / n), method, level)
    residuals: dict[Hashable, float] = defaultdict(float)
    for score, name in zip(scores, cluster_ids, strict=True):
        residuals[name] += score - mean
    correction = 1 / (1 - shares)
    variance = correction * math.fsum(value * value for value in residuals.values()) / n**2
    freedom = degrees_of_freedom((size / n, correction) for size in sizes.values())
    return bounded_interval(Moments(mean, variance, independent, shares, 1 / n, freedom), method, level)


def degrees_of_freedom(clusters: Iterable[tuple[float, float]]) -> float:
    """Degrees of freedom of a variance between clusters (F. E. Satterthwaite, Biometrics Bulletin 2
    (1946), for equal variances).

    For each cluster: its weight in the estimate, and the correction 1 / (1 - s) of its group, where
    s is the sum of the squared weights of the group's clusters within the group. G - 1 for G equal
    clusters of one group, fewer if some weigh more.
    """
    squares = fourths = 0.0
    for share, correction in clusters:
        squares += share**2
        fourths += correction * share**4
    return max(1.0, squares * squares / fourths)


def _cluster_ids(clusters: Sequence[str]) -> list[Hashable]:
    """The cluster of each sample; without a name its index, a cluster of its own."""
    return [name or index for index, name in enumerate(clusters)]


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


def share_over_systems(parts: Sequence[int], totals: Sequence[int], level: float = DEFAULT_LEVEL) -> Interval | None:
    """Interval in 0..1 of sum(parts) / sum(totals), for further systems of this kind.

    Systems are the clusters: replies of one system are parsed similarly well or badly. The sums of
    residuals are corrected for each system's part in the total (R. Bell and D. McCaffrey, Survey
    Methodology 28, 2002); Student's t has one degree of freedom less than there are systems.

    Never narrower than Wilson's interval of all replies, which ignores differences between systems.
    None for fewer than `MIN_CLUSTERS` systems with replies.
    """
    counted = [(part, total) for part, total in zip(parts, totals, strict=True) if total]
    if len(counted) < MIN_CLUSTERS:
        return None
    n = sum(total for _, total in counted)
    share = sum(part for part, _ in counted) / n
    squares = sum((part - total * share) ** 2 / (1 - total / n) for part, total in counted)
    half = two_sided_quantile(level, len(counted) - 1) * math.sqrt(squares) / n
    wilson_interval = wilson(share * n, n, level)
    low, high = min(wilson_interval.low, share - half), max(wilson_interval.high, share + half)
    return Interval(max(0.0, low), min(1.0, high), "clustered by system", level)


class SampledStratum(NamedTuple):
    """A stratum of `size` items; of `sample_size` examined ones `hits` have the property. Items
    with weights are counted by these, and examined ones by their effective number."""

    size: float
    sample_size: float
    hits: float


class WeightedShare(NamedTuple):
    """A share in 0..1. The interval is for a population of such items: the examined ones count as
    drawn from many, even if they are all there are."""

    share: float
    interval: Interval


def weighted_share(strata: Sequence[SampledStratum], level: float = DEFAULT_LEVEL) -> WeightedShare:
    """The share of all items that have the property, strata weighted by size.

    W. G. Cochran, "Sampling Techniques" (1977), Secs. 5.3 to 5.5. The effective sample size in
    Wilson's interval: E. L. Korn and B. I. Graubard, Survey Methodology 24 (1998), at most what the
    weights allow: L. Kish, "Survey Sampling" (1965), Sec. 11.7.

    Strata without examined items are ignored. A stratum with one examined item is assumed to have
    the spread of all strata. A single stratum has Wilson's interval. Raises ValueError for no
    examined items, or more than the stratum has.
    """
    sampled = [stratum for stratum in strata if stratum.sample_size]
    if not sampled:
        raise ValueError("a share needs at least one thing that was looked at")
    for stratum in sampled:
        if not 0 <= stratum.hits <= stratum.sample_size <= stratum.size:
            raise ValueError(f"expected hits <= sample_size <= size, got {stratum}")
    if len(sampled) == 1:
        hits, n = sampled[0].hits, sampled[0].sample_size
        return WeightedShare(hits / n, wilson(hits, n, level))
    total = sum(stratum.size for stratum in sampled)
    share = sum(stratum.size * stratum.hits / stratum.sample_size for stratum in sampled) / total
    share = min(1.0, max(0.0, share))
    kish = 1 / sum((stratum.size / total) ** 2 / stratum.sample_size for stratum in sampled)
    variance = 0.0
    for stratum in sampled:
        own, n = stratum.hits / stratum.sample_size, stratum.sample_size
        spread = share * (1 - share) if n == 1 else own * (1 - own) * n / (n - 1)
        variance += (stratum.size / total) ** 2 * spread / n
    size = min(kish, share * (1 - share) / variance) if variance else kish
    # The variance is estimated from few items: Student's t for the normal quantile reduces the
    # effective sample size by the squared ratio of the two.
    quantile = two_sided_quantile(level, max(1, round(kish) - 1))
    size = max(1.0, size * (NormalDist().inv_cdf(0.5 + level / 2) / quantile) ** 2)
    return WeightedShare(share, wilson(share * size, size, level))


def share_interval(
    right: Bools, clusters: NDArray[np.uint64] | None = None, level: float = DEFAULT_LEVEL
) -> Interval | None:
    """Interval of the share of true values, as `score_interval` of scores of 0 and 1.

    `clusters` names the cluster of each value by a number. None without values.
    """
    n, successes = len(right), int(np.count_nonzero(right))
    if not n:
        return None
    if clusters is None:
        return wilson(successes, n, level)
    _, index, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    if len(sizes) == n:
        return wilson(successes, n, level)
    mean = successes / n
    independent = mean * (1 - mean) / n
    weights: Floats = sizes / n
    squares = float((weights**2).sum())
    method = "wilson, clustered"
    if len(sizes) < 2:
        moments = Moments(mean, n * independent, independent, squares, 1 / n)
        return bounded_interval(moments, method, level)
    residuals = np.bincount(index, weights=right - mean)
    variance = float((residuals**2).sum()) / n**2 / (1 - squares)
    # As `intervals.degrees_of_freedom`: Satterthwaite's, for clusters of one group.
    freedom = max(1.0, squares**2 * (1 - squares) / float((weights**4).sum()))
    moments = Moments(mean, variance, independent, squares, 1 / n, freedom)
    return bounded_interval(moments, method, level)
