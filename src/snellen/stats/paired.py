"""Paired comparison of two systems on the same samples: the mean difference, its test and interval,
and how many samples a study needs.

The p-value and the interval come from the same method: p is below 1 - level exactly if the interval
excludes 0.

- Independent samples with scores of 0 and 1: McNemar's score test and Tango's interval
  (`stats.score_test`).
- Otherwise: the mean of the differences with the CR2 variance of clusters and Student's t with
  Satterthwaite's degrees of freedom (R. M. Bell and D. F. McCaffrey, "Bias reduction in standard
  errors for linear regression with multi-stage samples", Survey Methodology 28 (2002); G. W. Imbens
  and M. Kolesar, Review of Economics and Statistics 98 (2016)), under the working model, of
  independent samples or of clusters that err as one, that has the fewer of them.
- Few clusters: p is at least that of flipping the signs of clusters (`stats.sign_flips`), in all
  ways up to `MAX_FLIPPED_CLUSTERS` clusters; with more, at least 2^(1 - k), the smallest p that
  flipping the signs of the k clusters with a difference can give.
- Fewer than `MIN_CLUSTERS` clusters: neither a p-value nor an interval.

McNemar's exact and mid-p tests: M. W. Fagerland, S. Lydersen and P. Laake, "The McNemar test for
binary matched-pairs data", BMC Medical Research Methodology 13:91 (2013). Samples needed: R. J.
Connor, "Sample size for testing differences in proportions for the paired-sample design",
Biometrics 43 (1987), whose discordance is here the mean square of the differences, so that scores
between 0 and 1 are covered too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from snellen.core.arrays import Bools, Floats, Ints, np
from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL, MIN_CLUSTERS
from snellen.stats.score_test import normal_tails, score_statistic, tango_interval
from snellen.stats.sign_flips import sign_flip_test
from snellen.stats.student_t import two_sided_quantile, two_sided_tail

DEFAULT_POWER = 0.8
MANY_CLUSTERS = 30
"""Clusters with a difference below which a design effect is not taken to be less than 1."""
MAX_FLIPPED_CLUSTERS = 12
"""Clusters up to which all ways of flipping their signs are enumerated."""
SCORE_TEST = "McNemar's score test"
CLUSTER_TEST = "t test over clusters"
_ROUNDING = 1e-12
"""Relative to the largest difference: smaller errors are rounding errors of sums."""


class PairedMean(NamedTuple):
    """A mean difference with its test and interval.

    `error` is the standard error (None with one cluster), `df` the degrees of freedom of Student's
    t (None for the score test). Where `p` or `interval` is None, `reason` says why in a sentence.
    """

    mean: float
    error: float | None
    df: float | None
    interval: Interval | None
    p: float | None
    clusters: int
    test: str
    reason: str = ""


class McNemar(NamedTuple):
    """Two-sided p-values from the samples that only one of two systems has right."""

    exact: float
    mid_p: float


class ClusterContributions(NamedTuple):
    """What each cluster adds to several differences (columns), e.g. of all pairs of systems."""

    value: Floats
    """The differences: (columns,)."""
    error: Floats
    """Their standard errors."""
    freedom: Floats
    """Degrees of freedom of the standard errors."""
    sums: Floats
    """(clusters, columns); a column sums to its value times the sum of all sizes."""
    sizes: Floats
    """Weight of each cluster: (clusters,)."""
    unequal: Ints
    """Number of clusters in which the two systems differ: (columns,)."""
    largest: Floats
    """Magnitude of the differences, against which rounding errors are measured: (columns,)."""


class PairedTests(NamedTuple):
    """Two-sided p and interval of each column. `flat` columns have the same difference in every
    cluster, so that the interval would have no width."""

    p: Floats
    low: Floats
    high: Floats
    flat: Bools


def paired_mean(differences: Floats, clusters: Ints, level: float = DEFAULT_LEVEL, null: float = 0.0) -> PairedMean:
    """Mean of `differences` (n,) of scores in 0..1, with test and interval.

    `clusters` (n,) are the samples' clusters, numbered from 0 without gaps. `p` is that of the
    hypothesis that the true mean is `null`. Raises ValueError for no differences, lengths that
    differ, a cluster without a sample, a level outside (0, 1), a `null` outside -1..1.
    """
    return paired_means(differences[:, None], clusters, level, null)[0]


def paired_means(
    differences: Floats, clusters: Ints, level: float = DEFAULT_LEVEL, null: float = 0.0
) -> list[PairedMean]:
    """`paired_mean` of each column of `differences` (n, columns), e.g. of all pairs of systems, in
    a fraction of the time. Raises ValueError as it does."""
    n = len(differences)
    if not n or n != len(clusters):
        raise ValueError(f"got {n} differences and {len(clusters)} clusters")
    if not 0 < level < 1 or not -1 <= null <= 1:
        raise ValueError(f"expected a level in (0, 1) and a null in -1..1, got {level} and {null}")
    counts = np.bincount(clusters)
    if not counts.all():
        raise ValueError(f"cluster {int(np.argmin(counts))} of {len(counts)} has no sample")
    sizes, groups = counts.astype(np.float64), len(counts)
    # Sums of the differences in each cluster, (groups, columns).
    sums = differences
    if groups < n:
        order, starts = np.argsort(clusters, kind="stable"), np.cumsum(counts) - counts
        sums = np.add.reduceat(differences[order], starts, axis=0)
    mean = sums.sum(axis=0) / n
    if groups < 2:
        return untested_means(mean, None, groups)
    # CR2: each squared residual is divided by 1 minus the cluster's part of the samples.
    residuals = sums - sizes[:, None] * mean
    error = np.sqrt((residuals**2 / (1 - sizes / n)[:, None]).sum(axis=0)) / n
    if groups < MIN_CLUSTERS:
        return untested_means(mean, error, groups)
    largest = np.abs(differences).max(axis=0)
    unequal = (np.abs(sums) > _ROUNDING * largest * sizes[:, None]).sum(axis=0)
    freedom = np.full_like(mean, satterthwaite(sizes))
    contributions = ClusterContributions(mean, error, freedom, sums, sizes, unequal, largest)
    tests = cluster_tests(contributions, level, null)
    use_score_test = ((differences == 0) | (np.abs(differences) == 1)).all(axis=0) & (groups == n)
    if use_score_test.any():
        tests = _apply_score_test(tests, sums, use_score_test, level, null)
    return paired_means_of(contributions, apply_sign_flips(tests, contributions, level, null), use_score_test, level)


def binary_p_values(scores: Floats, pairs: Ints) -> Floats | None:
    """The p that `paired_means` gives each of the `pairs` (pairs, 2) of columns of scores (samples,
    systems), in a fraction of its time; None if not all scores are 0 or 1, or if so few samples
    need sign flips. Each sample is a cluster of its own."""
    n = len(scores)
    if n <= MAX_FLIPPED_CLUSTERS or not ((scores == 0) | (scores == 1)).all():
        return None
    both, right, (first, second) = scores.T @ scores, scores.sum(axis=0), pairs.T
    won, lost = right[second] - both[first, second], right[first] - both[first, second]
    exact_minimum = np.minimum(1.0, 2.0 ** (1.0 - won - lost))
    p: Floats = np.maximum(normal_tails(score_statistic(won, lost, n)), exact_minimum)
    return p


def cluster_tests(contributions: ClusterContributions, level: float, null: float = 0.0) -> PairedTests:
    """Student's t tests over clusters. With few clusters they reject too often, which
    `apply_sign_flips` corrects."""
    rounding = _ROUNDING * contributions.largest
    flat, distance = contributions.error <= rounding, contributions.value - null
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(flat, 0.0, distance / contributions.error)
    p, quantile = np.ones_like(t), np.ones_like(t)
    for freedom in set(contributions.freedom.tolist()):
        columns = contributions.freedom == freedom
        p[columns] = [two_sided_tail(value, freedom) for value in t[columns].tolist()]
        quantile[columns] = two_sided_quantile(level, freedom)
    p = np.where(flat, np.where(np.abs(distance) <= rounding, 1.0, 0.0), p)
    half = quantile * contributions.error
    return PairedTests(p, contributions.value - half, contributions.value + half, flat)


def _apply_score_test(
    tests: PairedTests, sums: Floats, use_score_test: Bools, level: float, null: float
) -> PairedTests:
    """Replace tests by the score test and its interval in the columns with `use_score_test`."""
    p, low, high, flat = tests.p.copy(), tests.low.copy(), tests.high.copy(), tests.flat
    n = len(sums)
    won = (sums[:, use_score_test] > 0).sum(axis=0).astype(np.float64)
    lost = (sums[:, use_score_test] < 0).sum(axis=0).astype(np.float64)
    p[use_score_test] = normal_tails(score_statistic(won, lost, n, null))
    low[use_score_test], high[use_score_test] = tango_interval(won, lost, n, level)
    return PairedTests(p, low, high, flat & ~use_score_test)


def apply_sign_flips(
    tests: PairedTests, contributions: ClusterContributions, level: float, null: float = 0.0
) -> PairedTests:
    """Raise each p to that of flipping the signs of clusters, and widen the interval likewise."""
    p, low, high, flat = tests
    if len(contributions.sizes) <= MAX_FLIPPED_CLUSTERS:
        shifted = contributions.sums - null * contributions.sizes[:, None]
        flips = sign_flip_test(shifted, contributions.sizes, level)
        p = np.maximum(p, flips.p)
        low, high = np.minimum(low, null + flips.low), np.maximum(high, null + flips.high)
    else:
        unequal = contributions.unequal if not null else np.full(len(p), len(contributions.sizes))
        p = np.maximum(p, np.minimum(1.0, 2.0 ** (1.0 - unequal)))
    # An interval must contain `null` if the test does not reject it, also after p was raised.
    not_rejected = p >= 1 - level
    low = np.where(not_rejected, np.minimum(low, null), low)
    return PairedTests(p, low, np.where(not_rejected, np.maximum(high, null), high), flat)


def untested_means(values: Floats, errors: Floats | None, clusters: int) -> list[PairedMean]:
    """Differences without test and interval, because there are too few clusters."""
    reason = (
        f"the samples form {clusters} {'cluster' if clusters == 1 else 'clusters'}, and below "
        f"{MIN_CLUSTERS} there is neither test nor interval"
    )
    known_errors = [None] * len(values) if errors is None else errors.tolist()
    return [
        PairedMean(value, error, None, None, None, clusters, CLUSTER_TEST, reason)
        for value, error in zip(values.tolist(), known_errors, strict=True)
    ]


def paired_means_of(
    contributions: ClusterContributions, tests: PairedTests, use_score_test: Bools, level: float, top: float = 1.0
) -> list[PairedMean]:
    """A `PairedMean` for each column; `top` is the largest possible difference."""
    columns = zip(
        contributions.value.tolist(),
        contributions.error.tolist(),
        contributions.freedom.tolist(),
        use_score_test.tolist(),
        *(values.tolist() for values in tests),
        strict=True,
    )
    return [_paired_mean(len(contributions.sizes), level, top, *column) for column in columns]


def _paired_mean(
    clusters: int,
    level: float,
    top: float,
    value: float,
    error: float,
    freedom: float,
    use_score_test: bool,
    p: float,
    low: float,
    high: float,
    flat: bool,
) -> PairedMean:
    """The value of one column, with the reason if it has no interval."""
    interval, reason = None, ""
    if flat:
        reason = "the difference is the same in every cluster, so its spread is not known"
    elif math.isinf(low):
        reason = (
            f"{clusters} clusters cannot bound a difference at {100 * level:g} %: flipping their "
            f"signs gives p of at least {2.0 ** (1 - clusters):.2g}"
        )
    else:
        method = "score" if use_score_test else "paired"
        interval = Interval(max(-top, low), min(top, high), method, level)
    test, df = (SCORE_TEST, None) if use_score_test else (CLUSTER_TEST, freedom)
    return PairedMean(value, error, df, interval, p, clusters, test, reason)


def satterthwaite(sizes: Floats) -> float:
    """Degrees of freedom of the CR2 variance of a mean over at least two clusters of these sizes:
    G - 1 for G equal ones, fewer for unequal ones.

    Bell and McCaffrey's (tr M)^2 / tr(M^2), where M is the matrix of the quadratic form, for the
    regression on a constant, under two working models: independent samples, and clusters whose
    samples are all equal. The first is too optimistic about large clusters whose samples agree; the
    smaller of the two values is valid for both.
    """
    # p: parts of the clusters in the mean; w: weights of their squared residuals.
    p = sizes / sizes.sum()
    w = p * p / (1 - p)
    squares = float((p * p).sum())
    independent = 1 / (squares + float(w.sum()) ** 2 - float((w * w).sum()))
    # M_gh = sqrt(w_g w_h) (1[g = h] - p_g - p_h + sum of p^2), up to a factor.
    zeroth, first, second = float(w.sum()), float((w * p).sum()), float((w * p * p).sum())
    trace = float((w * (1 - 2 * p + squares)).sum())
    square = (
        (squares * zeroth) ** 2
        + 2 * second * zeroth
        + 2 * first**2
        - 4 * squares * first * zeroth
        + float((w * w * (1 + 2 * (squares - 2 * p))).sum())
    )
    return min(independent, trace**2 / square)


def mcnemar(first_only: int, second_only: int) -> McNemar:
    """p-values of the hypothesis that a sample that one system has right and the other wrong is
    equally likely to be either way.

    Without such samples both are 1. Raises ValueError for a count below 0.
    """
    if min(first_only, second_only) < 0:
        raise ValueError(f"counts must be 0 or more, got {first_only} and {second_only}")
    n, smaller = first_only + second_only, min(first_only, second_only)
    if not n:
        return McNemar(1.0, 1.0)
    # Binomial probabilities by logarithms of factorials, which do not overflow.
    log_total = n * math.log(2) - math.lgamma(n + 1)
    terms = [math.exp(-log_total - math.lgamma(k + 1) - math.lgamma(n - k + 1)) for k in range(smaller + 1)]
    tail, last = math.fsum(terms), terms[-1]
    return McNemar(min(1.0, 2 * tail), min(1.0, 2 * tail - last))


def design_effect(differences: Floats, clusters: Ints, error: float | None) -> float:
    """Design effect: the factor by which clusters increase the variance of a mean of differences
    (L. Kish, "Survey Sampling", 1965). `error` is the standard error of the mean over clusters.

    Below 1 only if at least `MANY_CLUSTERS` clusters have a difference: with fewer it is chance,
    and a study planned with it would be too small.
    """
    variance = float(differences.var(ddof=1)) / len(differences) if len(differences) > 1 else 0.0
    if error is None or not variance:
        return 1.0
    differing = len(np.unique(clusters[differences != 0]))
    return max(error**2 / variance, 0.01 if differing >= MANY_CLUSTERS else 1.0)


def detectable_difference(
    discordance: float,
    n: float,
    *,
    largest: float | None = None,
    level: float = DEFAULT_LEVEL,
    power: float = DEFAULT_POWER,
) -> float | None:
    """The smallest true difference that a two-sided test at `level` detects with `power`.

    On `n` independent samples whose squared differences average `discordance`. `largest` is the
    mean absolute difference, which bounds the true one; for scores of 0 and 1 it equals the
    discordance, the default. None if not even that would be detected. Solves `required_samples` for
    the difference, by bisection.
    """
    _check_study(discordance, level, power)
    if not discordance or n <= 0:
        return None
    low, high = 0.0, discordance if largest is None else largest
    if _solve_samples(high, discordance, level, power) > n:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        if _solve_samples(middle, discordance, level, power) <= n:
            high = middle
        else:
            low = middle
    return high


def detectable_by_error(error: float, *, level: float = DEFAULT_LEVEL, power: float = DEFAULT_POWER) -> float:
    """The smallest true difference that a two-sided test at `level` detects with `power`, for a
    statistic with this standard error, by the normal distribution."""
    return error * (NormalDist().inv_cdf(0.5 + level / 2) + NormalDist().inv_cdf(power))


def required_samples(
    difference: float,
    discordance: float,
    *,
    level: float = DEFAULT_LEVEL,
    power: float = DEFAULT_POWER,
    design: float = 1.0,
) -> int | None:
    """Samples that a two-sided test at `level` needs to detect `difference` with `power` (Connor
    1987, eq. 3); None if the difference or the discordance is 0.

    `design` is the design effect, by which clusters increase the variance of the mean.
    """
    _check_study(discordance, level, power)
    if not difference or not discordance:
        return None
    return math.ceil(design * _solve_samples(abs(difference), discordance, level, power))


def _solve_samples(difference: float, discordance: float, level: float, power: float) -> float:
    if difference <= 0:
        return math.inf
    z_level, z_power = NormalDist().inv_cdf(0.5 + level / 2), NormalDist().inv_cdf(power)
    remaining = max(0.0, discordance - difference**2)
    return ((z_level * math.sqrt(discordance) + z_power * math.sqrt(remaining)) / difference) ** 2


def _check_study(discordance: float, level: float, power: float) -> None:
    if not 0 <= discordance <= 1 or not 0 < level < 1 or not 0.5 <= power < 1:
        raise ValueError(
            f"expected a discordance in 0..1, a level in (0, 1) and a power in [0.5, 1); got "
            f"{discordance}, {level} and {power}"
        )


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for multiple tests, in the same order (S. Holm, Scandinavian Journal of
    Statistics 6, 1979): bounds the probability of any false rejection."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def holm_of_tested(p_values: Sequence[float | None]) -> list[float | None]:
    """`holm` among the hypotheses that were tested; None stays for the others."""
    adjusted = iter(holm([p for p in p_values if p is not None]))
    return [None if p is None else next(adjusted) for p in p_values]


def holm_of_sides(sides: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """`holm` for pairs of hypotheses of which at most one can be true, such as "worse by more than
    the margin" and "better by more than the margin".

    The number of hypotheses that can be true is that of the pairs with one not rejected yet (J. P.
    Shaffer, "Modified sequentially rejective multiple test procedures", JASA 81, 1986).
    """
    order = sorted((p, index, side) for index, pair in enumerate(sides) for side, p in enumerate(pair))
    adjusted = [[0.0, 0.0] for _ in sides]
    remaining = [2] * len(sides)
    possible, highest = len(sides), 0.0
    for p, index, side in order:
        highest = max(highest, min(1.0, possible * p))
        adjusted[index][side] = highest
        remaining[index] -= 1
        possible -= not remaining[index]
    return [(first, second) for first, second in adjusted]
