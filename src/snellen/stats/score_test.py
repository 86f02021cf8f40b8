"""Tests of paired differences: of two systems that are right or wrong on independent samples, McNemar's test
as a score test with the interval of the difference of their shares that goes with it; of a mean over few
clusters, flips of the clusters' signs.

Score test: Q. McNemar, Psychometrika 12 (1947). Interval: T. Tango, "Equivalence test and confidence
interval for the difference in proportions for the paired-sample design", Statistics in Medicine 17
(1998), eqs. 3 and 7: the differences that the score test does not reject, so that it leaves out 0
exactly where McNemar's test rejects.

Sign flips: if two systems are equally good, the difference of a cluster has either sign with equal
probability, and so have all 2^(G - 1) ways of flipping the signs of G clusters (up to flipping all).
Randomisation test: R. A. Fisher, "The Design of Experiments" (1935), Sec. 21; its interval: J. A.
Hartigan, "Using subsample values as typical values", JASA 64 (1969), here with clusters of any size.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

from snellen.core.arrays import Floats, np

_HALVINGS = 60


def score_statistic(won: Floats, lost: Floats, n: int, difference: float | Floats = 0) -> Floats:
    """Standard errors by which (won - lost) / n exceeds a true `difference` in -1..1.

    `won` and `lost` are the numbers of samples that only one of the two systems has right, of `n`.
    The standard error is that of the most likely shares under the hypothesis. If it is 0, the
    statistic is 0 for exactly the expected difference, and infinite otherwise.
    """
    b = -won - lost + (2 * n - won + lost) * difference
    c = -lost * difference * (1 - difference)
    # The larger root of 2n q^2 + b q + c, q being the share that only the other system has right.
    # Written so that no small root comes from two large numbers that nearly cancel.
    root = np.sqrt(np.maximum(b * b - 8 * n * c, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.where(b > 0, -2 * c / (b + root), (root - b) / (4 * n))
        variance = n * (2 * q + difference * (1 - difference))
        excess = won - lost - n * difference
        statistic = excess / np.sqrt(np.maximum(variance, 0))
    return np.where(excess == 0, 0.0, statistic)


def tango_interval(won: Floats, lost: Floats, n: int, level: float) -> tuple[Floats, Floats]:
    """Tango's interval of the difference, both ends in -1..1, for each pair of counts."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    counts, inverse = np.unique(np.stack([won, lost]), axis=1, return_inverse=True)
    (won, lost), inverse = counts, inverse.ravel()
    estimate = (won - lost) / n
    ends = []
    for outer, sign in ((-1.0, 1.0), (1.0, -1.0)):
        # Bisection between `inside`, which is not rejected, and `outside`, which is.
        inside, outside = estimate.copy(), np.full_like(estimate, outer)
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            rejected = sign * score_statistic(won, lost, n, middle) > z
            inside, outside = (np.where(rejected, inside, middle), np.where(rejected, middle, outside))
        ends.append(inside)
    return ends[0][inverse], ends[1][inverse]


def normal_tails(z: Floats) -> Floats:
    """P(|Z| >= |z|) of the normal distribution."""
    return np.array([math.erfc(abs(value) / math.sqrt(2)) for value in z.tolist()])


_ROUNDING = 1e-12
"""Relative to the largest mean: smaller differences are rounding errors."""
_CELLS = 4_000_000
"""Maximum of means in memory at once."""


class SignFlipTest(NamedTuple):
    """Two-sided p of each column, and the interval of means that are not rejected. Ends are
    infinite if there are too few clusters to bound the mean at this level."""

    p: Floats
    low: Floats
    high: Floats


def sign_flip_test(sums: Floats, sizes: Floats, level: float) -> SignFlipTest:
    """Test and interval of the mean of each column of `sums` (clusters, columns), the sums over
    clusters of `sizes` (clusters,) samples. Time and memory grow with 2^clusters.

    Flipping the clusters of a set A brings the mean at least as far from m as the observed one if
    and only if m lies between the means of A and of the other clusters, because then their two sums
    of differences from m have opposite signs. Hence p at m is the fraction of sets A for which m
    lies between the two means.
    """
    columns = sums.T
    inverse = np.arange(len(columns))
    if sizes.min() == sizes.max():
        # With equal sizes the order of clusters does not matter, and scores of 0 and 1 make few
        # different columns: each is computed once.
        columns, inverse = np.unique(np.sort(columns, axis=1), axis=0, return_inverse=True)
        inverse = inverse.ravel()
    step = max(1, _CELLS >> len(sizes))
    parts = [_flip_columns(columns[start : start + step], sizes, level) for start in range(0, len(columns), step)]
    p, low, high = (np.concatenate(values)[inverse] for values in zip(*parts, strict=True))
    return SignFlipTest(p, low, high)


def _flip_columns(columns: Floats, sizes: Floats, level: float) -> SignFlipTest:
    """`sign_flip_test` of sums (columns, clusters); arrays below are (columns, sets)."""
    sets = _cluster_sets(len(sizes))
    ways = len(sets) + 1  # with the observed signs, which count as a way as far as themselves
    inside, set_sizes = columns @ sets.T, sets @ sizes
    inside_mean = inside / set_sizes
    outside_mean = (columns.sum(axis=1)[:, None] - inside) / (sizes.sum() - set_sizes)
    lows, highs = np.minimum(inside_mean, outside_mean), np.maximum(inside_mean, outside_mean)
    rounding = _ROUNDING * np.maximum(-lows.min(axis=1), highs.max(axis=1))
    p = (1 + ((lows <= rounding[:, None]) & (highs >= -rounding[:, None])).sum(axis=1)) / ways
    # m below the mean is not rejected if 1 + (number of lows up to m) >= (1 - level) * ways: the
    # lower end is therefore an order statistic of the lows, and the upper end one of the highs.
    rank = math.ceil((1 - level) * ways * (1 - 1e-12)) - 1
    if rank <= 0:
        ends = np.full(len(columns), math.inf)
        return SignFlipTest(p, -ends, ends)
    low = np.partition(lows, rank - 1, axis=1)[:, rank - 1]
    high = np.partition(highs, len(sets) - rank, axis=1)[:, len(sets) - rank]
    low, high = (np.where(np.abs(ends) <= rounding, 0.0, ends) for ends in (low, high))
    return SignFlipTest(p, low, high)


@lru_cache(maxsize=16)
def _cluster_sets(clusters: int) -> Floats:
    """All sets of clusters without the last one, except the empty set, as rows of 0 and 1:
    (2^(clusters - 1) - 1, clusters). Sets with the last one are complements of these."""
    numbers = np.arange(1, 2 ** (clusters - 1))
    return ((numbers[:, None] >> np.arange(clusters)) & 1).astype(np.float64)
