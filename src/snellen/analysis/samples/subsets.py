"""How few of a benchmark's samples rank models as all do, and what so few can still tell."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from snellen.analysis.comparison.aligned import Aligned
from snellen.stats.paired import DEFAULT_POWER, detectable, paired_means
from snellen.stats.paired_statistics import cluster_sums
from snellen.stats.subsets import FEWEST_SYSTEMS, Subset, choose_subset

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_MOST_PAIRS = 500
"""Pairs of runs that the discordance is averaged over."""


class Size(Struct, frozen=True):
    """What the best subset of a size is worth to models that had no part in choosing it; in
    percent, and points of 100."""

    samples: int
    agreement: float
    error: float
    largest: float
    random_agreement: float
    random_error: float
    detectable: float | None = None
    """The least true difference of two models that so many samples find with a power of 80 % at a
    level of 5 %, at the mean discordance of the runs; None where they find none."""


class SmallestSubset(NamedTuple):
    """`samples`: ids of the smallest subset that is good enough, or of half of the samples where
    none is; empty where there are too few runs. `agreement`, in percent: what the procedure, choice
    of size included, is worth to models that had no part in it."""

    sizes: tuple[Size, ...]
    samples: tuple[str, ...]
    agreement: float | None
    notices: tuple[str, ...]


def smallest_subset(together: Aligned, agreement: float) -> SmallestSubset:
    """The smallest subset that orders the share `agreement` of the pairs of runs as all samples do.

    Samples of a cluster stay together.
    """
    import numpy as np

    systems = together.scores.shape[1]
    if systems < FEWEST_SYSTEMS:
        why = f"a subset is chosen from {FEWEST_SYSTEMS} runs on, here are {systems}"
        return SmallestSubset((), (), None, (why,))
    sums = cluster_sums(together.scores, together.clusters)
    counts = np.bincount(together.clusters).astype(np.float64)
    found = choose_subset(sums, counts, agreement, "subset")
    spread = _spread(together)
    mean = float(counts.mean())
    sizes = tuple(_size(one, mean, spread) for one in found.sizes)
    units = set(found.units.tolist())
    ids = tuple(
        one.id
        for one, unit in zip(together.samples, together.clusters.tolist(), strict=True)
        if unit in units
    )
    missed = (
        f"no subset up to half of the samples orders {100 * agreement:g} % of the pairs; the "
        "largest is given"
    )
    return SmallestSubset(sizes, ids, 100 * found.agreement, () if found.reached else (missed,))


class _Spread(NamedTuple):
    """Means over pairs of runs: of the squared differences, of their size, and how much larger the
    variance is for the clusters (at least 1)."""

    discordance: float
    largest: float
    design: float


def _spread(together: Aligned) -> _Spread:
    import numpy as np

    pairs = list(combinations(range(together.scores.shape[1]), 2))
    step = math.ceil(len(pairs) / _MOST_PAIRS)
    first, second = np.array(pairs[::step]).T
    differences: NDArray[float64] = together.scores[:, second] - together.scores[:, first]
    variances = differences.var(axis=0, ddof=1) / len(differences)
    designs = [
        one.error**2 / variance
        for one, variance in zip(
            paired_means(differences, together.clusters), variances.tolist(), strict=True
        )
        if one.error is not None and variance
    ]
    design = max(1.0, float(np.mean(designs))) if designs else 1.0
    return _Spread(float((differences**2).mean()), float(abs(differences).mean()), design)


def _size(one: Subset, mean: float, spread: _Spread) -> Size:
    """`mean`: samples of a unit."""
    samples = round(one.units * mean)
    least = detectable(
        spread.discordance, samples / spread.design, largest=spread.largest, power=DEFAULT_POWER
    )
    return Size(
        samples,
        100 * one.agreement,
        100 * one.error,
        100 * one.largest,
        100 * one.random_agreement,
        100 * one.random_error,
        None if least is None else 100 * least,
    )
