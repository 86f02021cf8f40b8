"""Two systems on the same samples: how far apart they are, whether chance explains it, and how
many samples would tell.

One method for the p-value and the interval: p is below 1 - level exactly where the interval leaves
out 0.

- Every sample alone, and right or wrong: McNemar's score test and Tango's interval
  (`stats.score_test`).
- Otherwise: the mean of the differences with the CR2 variance of clusters and Student's t with
  Satterthwaite's degrees of freedom (R. M. Bell and D. F. McCaffrey, "Bias reduction in standard
  errors for linear regression with multi-stage samples", Survey Methodology 28 (2002); G. W. Imbens
  and M. Kolesar, Review of Economics and Statistics 98 (2016)), under the working model, of
  independent samples or of clusters that err as one, that has the fewer of them.
- Few clusters: no surer than flipping the signs of whole clusters (`stats.sign_flips`), all ways up
  to `FLIPPED` clusters; beyond, 2^(1 - k), which is the least that flipping the signs of the k
  clusters with a difference can give.
- Fewer than `FEWEST_CLUSTERS` clusters tell nothing.

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
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.score_test import normal_tails, score_interval_of, score_statistic
from snellen.stats.sign_flips import flipped_signs
from snellen.stats.student import two_sided_quantile, two_sided_tails

if TYPE_CHECKING:
    from numpy import bool_, float64, int64
    from numpy.typing import NDArray

DEFAULT_POWER = 0.8
FEWEST_CLUSTERS = 5
"""Clusters below which neither a p-value nor an interval of a difference is given."""
FLIPPED = 12
"""Clusters up to which all ways of flipping their signs are gone through."""
SCORE_TEST = "McNemar's score test"
CLUSTER_TEST = "t test over clusters"
_NOISE = 1e-12
"""Of the largest difference: an error that is not larger is the rounding of sums."""


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


def paired_mean(
    differences: NDArray[float64], clusters: NDArray[int64], level: float = DEFAULT_LEVEL
) -> PairedMean:
    """Mean of `differences` (n,) of scores in 0..1, whose samples belong to `clusters` (n,),
    numbered from 0 without gaps.

    Raises:
        ValueError: no differences, lengths differ, a cluster without a sample, a level outside
            (0, 1).
    """
    return paired_means(differences[:, None], clusters, level)[0]


def paired_means(
    differences: NDArray[float64], clusters: NDArray[int64], level: float = DEFAULT_LEVEL
) -> list[PairedMean]:
    """`paired_mean` of each column of `differences` (n, columns), such as the pairs of many
    systems, at a fraction of the time. Raises ValueError as it does."""
    import numpy as np

    n = len(differences)
    if not n or n != len(clusters):
        raise ValueError(f"got {n} differences and {len(clusters)} clusters")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    sizes = np.bincount(clusters).astype(np.float64)
    if not sizes.all():
        raise ValueError(f"cluster {int(np.argmin(sizes))} of {len(sizes)} has no sample")
    alone = len(sizes) == n
    order = np.argsort(clusters, kind="stable")
    starts = np.cumsum(sizes.astype(np.int64)) - sizes.astype(np.int64)
    sums = differences if alone else np.add.reduceat(differences[order], starts, axis=0)
    scored = ((differences == 0) | (np.abs(differences) == 1)).all(axis=0) & alone
    largest = np.abs(differences).max(axis=0, initial=0.0)
    return _tested(sums, sizes, scored, largest, level)


def _tested(
    sums: NDArray[float64],
    sizes: NDArray[float64],
    scored: NDArray[bool_],
    largest: NDArray[float64],
    level: float,
) -> list[PairedMean]:
    """`scored`: the columns for the score test; `largest`: the largest difference in each."""
    import numpy as np

    n, groups = float(sizes.sum()), len(sizes)
    mean = sums.sum(axis=0) / n
    if groups < 2:
        return [PairedMean(one, None, None, None, None, 1, CLUSTER_TEST, _too_few(1))
                for one in mean.tolist()]  # fmt: skip
    residuals = sums - sizes[:, None] * mean
    error = np.sqrt(((residuals**2) / (1 - sizes / n)[:, None]).sum(axis=0)) / n
    freedom = satterthwaite(sizes)
    if groups < FEWEST_CLUSTERS:
        why = _too_few(groups)
        return [
            PairedMean(one, spread, freedom, None, None, groups, CLUSTER_TEST, why)
            for one, spread in zip(mean.tolist(), error.tolist(), strict=True)
        ]
    flat = error <= _NOISE * largest
    with np.errstate(divide="ignore", invalid="ignore"):
        p = two_sided_tails(np.where(flat, 0.0, mean / error), freedom)
    p = np.where(flat, np.where(np.abs(mean) <= _NOISE * largest, 1.0, 0.0), p)
    half = two_sided_quantile(level, freedom) * error
    low, high = mean - half, mean + half
    if scored.any():
        won, lost = (sums[:, scored] > 0).sum(axis=0) * 1.0, (sums[:, scored] < 0).sum(axis=0) * 1.0
        nothing = won + lost == 0
        z = np.where(nothing, 0.0, score_statistic(won, lost, groups))
        p[scored] = normal_tails(z)
        low[scored], high[scored] = score_interval_of(won, lost, groups, level)
        flat = flat & ~scored
    # No surer than flipped signs are.
    if groups <= FLIPPED:
        flips = flipped_signs(sums, sizes, level)
        p = np.maximum(p, flips.p)
        low, high = np.minimum(low, flips.low), np.maximum(high, flips.high)
    else:
        unequal = (np.abs(sums) > _NOISE * largest * sizes[:, None]).sum(axis=0)
        p = np.maximum(p, np.minimum(1.0, 2.0 ** (1 - unequal)))
    # Where signs alone keep p above the level the interval reaches to 0, as the test does.
    kept = p >= 1 - level
    low, high = (
        np.where(kept, np.minimum(low, 0.0), low),
        np.where(kept, np.maximum(high, 0.0), high),
    )
    return [
        _paired(*one, freedom, groups, level)
        for one in zip(
            mean.tolist(), error.tolist(), p.tolist(), low.tolist(), high.tolist(),
            flat.tolist(), scored.tolist(), strict=True,
        )
    ]  # fmt: skip


def _paired(
    mean: float,
    error: float,
    p: float,
    low: float,
    high: float,
    flat: bool,
    scored: bool,
    freedom: float,
    groups: int,
    level: float,
) -> PairedMean:
    test, df = (SCORE_TEST, None) if scored else (CLUSTER_TEST, freedom)
    interval, reason = None, ""
    if flat:
        reason = "the difference is the same in every cluster, so its spread is not known"
    elif math.isinf(low):
        reason = (
            f"{groups} clusters cannot bound a difference at {100 * level:g} %: flipping their "
            f"signs gives p of at least {2.0 ** (1 - groups):.2g}"
        )
    else:
        method = "score" if scored else "paired"
        interval = Interval(max(-1.0, low), min(1.0, high), method, level)
    return PairedMean(mean, error, df, interval, p, groups, test, reason)


def _too_few(groups: int) -> str:
    return (
        f"{groups} {'cluster' if groups == 1 else 'clusters'} of samples: no test and no interval "
        f"below {FEWEST_CLUSTERS}"
    )


def satterthwaite(sizes: NDArray[float64]) -> float:
    """Degrees of freedom of the CR2 variance of a mean over clusters of these sizes, at least two
    of them: G - 1 for G equal ones, fewer for unequal ones.

    Bell and McCaffrey's (tr M)^2 / tr(M^2), M being the matrix of the quadratic form, for the
    regression on a constant alone: with samples that are independent, and with clusters whose
    samples are all alike. The first takes large clusters for better known than they are where
    samples of a cluster agree; the smaller of the two holds for both.
    """
    p = sizes / sizes.sum()
    w = p * p / (1 - p)
    squares = float((p * p).sum())
    apart = 1 / (squares + float(w.sum()) ** 2 - float((w * w).sum()))
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
    return min(apart, trace**2 / square)


def mcnemar(first_only: int, second_only: int) -> McNemar:
    """p-values of the hypothesis that a sample which only one has right is as likely the first's.

    Without such a sample nothing speaks against it: both are 1.

    Raises:
        ValueError: a count below 0.
    """
    if min(first_only, second_only) < 0:
        raise ValueError(f"counts must be 0 or more, got {first_only} and {second_only}")
    n, fewer = first_only + second_only, min(first_only, second_only)
    if not n:
        return McNemar(1.0, 1.0)
    whole = n * math.log(2) - math.lgamma(n + 1)
    terms = [
        math.exp(-whole - math.lgamma(k + 1) - math.lgamma(n - k + 1)) for k in range(fewer + 1)
    ]
    tail, last = math.fsum(terms), terms[-1]
    return McNemar(min(1.0, 2 * tail), min(1.0, 2 * tail - last))


def detectable(
    discordance: float,
    n: float,
    *,
    largest: float | None = None,
    level: float = DEFAULT_LEVEL,
    power: float = DEFAULT_POWER,
) -> float | None:
    """The least true difference that a two-sided test at `level` finds with `power` on `n`
    independent samples whose squared differences average `discordance`; None where even the
    `largest` would not be found: the mean size of the differences, which is the discordance
    itself where scores are 0 or 1.

    Solves `needed` for the difference, by halving.
    """
    _check(discordance, level, power)
    if not discordance or n <= 0:
        return None
    low, high = 0.0, discordance if largest is None else largest
    if _needed(high, discordance, level, power) > n:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _needed(middle, discordance, level, power) <= n else (
            middle, high,
        )  # fmt: skip
    return high


def needed(
    difference: float,
    discordance: float,
    *,
    level: float = DEFAULT_LEVEL,
    power: float = DEFAULT_POWER,
    design: float = 1.0,
) -> int | None:
    """Samples that a two-sided test at `level` needs to find `difference` with `power` (Connor
    1987, eq. 3); None for no difference.

    `design` is the design effect: how much larger the variance of the mean is for the clusters.
    """
    _check(discordance, level, power)
    if not difference or not discordance:
        return None
    return math.ceil(design * _needed(abs(difference), discordance, level, power))


def _needed(difference: float, discordance: float, level: float, power: float) -> float:
    if difference <= 0:
        return math.inf
    z_level, z_power = NormalDist().inv_cdf(0.5 + level / 2), NormalDist().inv_cdf(power)
    rest = max(0.0, discordance - difference**2)
    return ((z_level * math.sqrt(discordance) + z_power * math.sqrt(rest)) / difference) ** 2


def _check(discordance: float, level: float, power: float) -> None:
    if not 0 <= discordance <= 1 or not 0 < level < 1 or not 0.5 <= power < 1:
        raise ValueError(
            f"expected a discordance in 0..1, a level in (0, 1) and a power in [0.5, 1); got "
            f"{discordance}, {level} and {power}"
        )


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for their number, in the order given (S. Holm, Scandinavian Journal of
    Statistics 6, 1979): the chance of one false finding among all stays below the level."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for place, at in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[at]))
        adjusted[at] = highest
    return adjusted
