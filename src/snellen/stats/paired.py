"""Two systems on the same samples: how far apart they are, whether chance explains it, and how
many samples would tell.

Difference: mean of the differences sample by sample, with the cluster-robust standard error of
`intervals.clustered_mean` and Student's t. McNemar's test: Q. McNemar, Psychometrika 12 (1947);
exact and mid-p as in M. W. Fagerland, S. Lydersen and P. Laake, "The McNemar test for binary
matched-pairs data", BMC Medical Research Methodology 13:91 (2013). Samples needed: R. J. Connor,
"Sample size for testing differences in proportions for the paired-sample design", Biometrics 43
(1987), whose discordance is here the mean square of the differences, so that scores between 0 and
1 are covered too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.resampling import seeded, stacked_sums
from snellen.stats.student import two_sided_quantile

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

DEFAULT_POWER = 0.8
PAIRED_DRAWS = 10_000
"""Enough for a p-value of 0.05 to stand to within 0.005."""


class PairedMean(NamedTuple):
    """A mean difference, its standard error, and its interval; None with fewer than two
    clusters, and where all differences are the same: no spread is seen then."""

    value: float
    error: float | None
    interval: Interval | None
    clusters: int


class McNemar(NamedTuple):
    """Two-sided p-values from the samples that only one of two systems has right."""

    exact: float
    mid_p: float


def paired_mean(
    differences: NDArray[float64], clusters: NDArray[int64], level: float = DEFAULT_LEVEL
) -> PairedMean:
    """Mean of `differences` (n,), whose samples belong to `clusters` (n,), numbered from 0.

    Raises:
        ValueError: no differences, or lengths differ.
    """
    import numpy as np

    if not len(differences) or len(differences) != len(clusters):
        raise ValueError(f"got {len(differences)} differences and {len(clusters)} clusters")
    n = len(differences)
    mean = float(differences.mean())
    residuals = np.bincount(clusters, weights=differences - mean)
    groups = len(residuals)
    if groups < 2 or differences.max() == differences.min():
        return PairedMean(mean, None, None, groups)
    error = math.sqrt(groups / (groups - 1) * float(residuals @ residuals)) / n
    half = two_sided_quantile(level, groups - 1) * error
    return PairedMean(mean, error, Interval(mean - half, mean + half, "paired", level), groups)


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


class Resampled(NamedTuple):
    """A percentile interval and a two-sided p-value of `value` being 0."""

    value: float
    interval: Interval | None
    p: float


def paired_bootstrap(
    columns: NDArray[float64],
    statistic: Callable[[NDArray[float64]], NDArray[float64]],
    seed: str,
    *,
    draws: int = PAIRED_DRAWS,
    level: float = DEFAULT_LEVEL,
) -> Resampled:
    """Bootstrap of a difference made of column sums over `columns` (clusters, columns).

    `statistic` maps sums (draws, columns) to values (draws,). The p-value is the share of draws
    that lie as far from the observed value as 0 does, the observed one counted in (B. Efron and
    R. Tibshirani, "An Introduction to the Bootstrap" (1993), Sec. 16.4: the null is the observed
    distribution, shifted).
    """
    import numpy as np

    observed = float(statistic(columns.sum(axis=0, keepdims=True))[0])
    found = statistic(stacked_sums(columns, seeded(seed), draws))
    found = found[~np.isnan(found)]
    if not len(found) or found.max() == found.min():
        return Resampled(observed, None, 1.0 if not observed else 1 / (1 + len(found)))
    tail = (1 - level) / 2
    low, high = np.quantile(found, (tail, 1 - tail)).tolist()
    # Sums of floats: a tie must not fall on either side by its last bit.
    as_far = int((np.abs(found - observed) >= abs(observed) - 1e-12).sum())
    interval = Interval(low, high, "paired bootstrap", level)
    return Resampled(observed, interval, (1 + as_far) / (1 + len(found)))


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
