"""The mean of few clusters, tested by flipping the signs of whole clusters.

If two systems are equally good, the difference of a cluster is as likely to have either sign, and
all 2^(G - 1) ways of flipping the signs of G clusters (up to turning all) are alike. Randomisation
test: R. A. Fisher, "The Design of Experiments" (1935), Sec. 21; its interval: J. A. Hartigan,
"Using subsample values as typical values", JASA 64 (1969), here with clusters of any size.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_ROUNDING = 1e-12
"""Of the largest mean: what is not larger is rounding."""
_CELLS = 4_000_000
"""Means held at once."""


class SignFlipTest(NamedTuple):
    """Of each column its two-sided p and the interval that goes with it; ends are infinite where
    so few clusters cannot bound the mean at this level."""

    p: NDArray[float64]
    low: NDArray[float64]
    high: NDArray[float64]


def sign_flip_test(sums: NDArray[float64], sizes: NDArray[float64], level: float) -> SignFlipTest:
    """Test and interval of the means of columns, by their `sums` (clusters, columns) in clusters
    of these `sizes` (clusters,). Time and memory grow with 2^clusters.

    Flipping the clusters in a set A makes the mean at least as far from m as the observed one
    exactly where m lies between the means of A and of the others: then the two sums of differences
    from m have opposite signs. So p at m is the share of the sets whose two means hold m.
    """
    import numpy as np

    columns = sums.T
    inverse = np.arange(len(columns))
    if sizes.min() == sizes.max():
        # In whatever order the clusters come: right and wrong answers make few different columns.
        columns, inverse = np.unique(np.sort(columns, axis=1), axis=0, return_inverse=True)
        inverse = inverse.ravel()
    step = max(1, _CELLS >> len(sizes))
    parts = [
        _flip_columns(columns[at : at + step], sizes, level) for at in range(0, len(columns), step)
    ]
    p, low, high = (np.concatenate(values)[inverse] for values in zip(*parts, strict=True))
    return SignFlipTest(p, low, high)


def _flip_columns(columns: NDArray[float64], sizes: NDArray[float64], level: float) -> SignFlipTest:
    """Of sums (columns, clusters)."""
    import numpy as np

    sets = _cluster_sets(len(sizes))
    ways = len(sets) + 1  # flipping nothing is a way, too, and as far as the observed by itself
    inside, set_sizes = columns @ sets.T, sets @ sizes
    inside_mean = inside / set_sizes
    outside_mean = (columns.sum(axis=1)[:, None] - inside) / (sizes.sum() - set_sizes)
    lows, highs = np.minimum(inside_mean, outside_mean), np.maximum(inside_mean, outside_mean)
    rounding = _ROUNDING * np.maximum(-lows.min(axis=1), highs.max(axis=1))
    p = (1 + ((lows <= rounding[:, None]) & (highs >= -rounding[:, None])).sum(axis=1)) / ways
    # Not rejected at m below the mean: 1 + (lows up to m) >= (1 - level) * ways.
    rank = math.ceil((1 - level) * ways * (1 - 1e-12)) - 1
    if rank <= 0:
        ends = np.full(len(columns), math.inf)
        return SignFlipTest(p, -ends, ends)
    low = np.partition(lows, rank - 1, axis=1)[:, rank - 1]
    high = np.partition(highs, len(sets) - rank, axis=1)[:, len(sets) - rank]
    low, high = (np.where(np.abs(ends) <= rounding, 0.0, ends) for ends in (low, high))
    return SignFlipTest(p, low, high)


@lru_cache(maxsize=16)
def _cluster_sets(clusters: int) -> NDArray[float64]:
    """Every set of clusters but the empty one that lacks the last: (2^(clusters - 1) - 1, G)."""
    import numpy as np

    numbers = np.arange(1, 2 ** (clusters - 1))
    return ((numbers[:, None] >> np.arange(clusters)) & 1).astype(np.float64)
