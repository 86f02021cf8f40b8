"""Tests of a mean over few clusters, by flipping the signs of clusters.

If two systems are equally good, the difference of a cluster has either sign with equal probability,
and so have all 2^(G - 1) ways of flipping the signs of G clusters (up to flipping all).
Randomisation test: R. A. Fisher, "The Design of Experiments" (1935), Sec. 21; its interval: J. A.
Hartigan, "Using subsample values as typical values", JASA 64 (1969), here with clusters of any
size.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from snellen.core.arrays import Floats, np

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
