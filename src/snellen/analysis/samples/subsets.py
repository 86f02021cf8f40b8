"""How few of a benchmark's samples rank models as all do, and what differences so few can still
detect."""

from __future__ import annotations

import math
from itertools import combinations
from typing import NamedTuple

from msgspec import Struct

from snellen.analysis.comparison.alignment import AlignedRuns
from snellen.core.arrays import Floats, np
from snellen.stats.paired import DEFAULT_POWER, detectable_difference, paired_means
from snellen.stats.paired_statistics import cluster_sums
from snellen.stats.subsets import MIN_SYSTEMS, Subset, choose_subset

_MAX_PAIRS = 500
"""Pairs of runs over which the discordance is averaged."""


class SubsetWorth(Struct, frozen=True):
    """Quality of the best subset of a size on models that were not used to choose it; in percent,
    and points of 100."""

    samples: int
    agreement: float
    error: float
    largest: float
    random_agreement: float
    random_error: float
    detectable: float | None = None
    """The smallest true difference of two models that this many samples detect with a power of 80 %
    at a level of 5 %, at the mean discordance of the runs; None if they detect none."""


class SmallestSubset(NamedTuple):
    """`samples` are the ids of the smallest subset that is good enough, or of half of the samples
    if none is; empty with too few runs. `agreement`, in percent, is that of the whole procedure,
    choice of size included, on models that were not used in it."""

    sizes: tuple[SubsetWorth, ...]
    samples: tuple[str, ...]
    agreement: float | None
    notices: tuple[str, ...]


def smallest_subset(aligned_runs: AlignedRuns, agreement: float) -> SmallestSubset:
    """The smallest subset that orders the fraction `agreement` of the pairs of runs as all samples
    do. Samples of a cluster are chosen together."""
    systems = aligned_runs.scores.shape[1]
    if systems < MIN_SYSTEMS:
        why = f"a subset needs {MIN_SYSTEMS} or more runs, got {systems}"
        return SmallestSubset((), (), None, (why,))
    sums = cluster_sums(aligned_runs.scores, aligned_runs.clusters)
    counts = np.bincount(aligned_runs.clusters).astype(np.float64)
    choice = choose_subset(sums, counts, agreement, "subset")
    spread = _spread(aligned_runs)
    mean = float(counts.mean())
    sizes = tuple(_subset_worth(subset, mean, spread) for subset in choice.sizes)
    units = set(choice.units.tolist())
    ids = tuple(
        sample.id
        for sample, unit in zip(aligned_runs.samples, aligned_runs.clusters.tolist(), strict=True)
        if unit in units
    )
    not_reached = f"no subset up to half of the samples orders {100 * agreement:g} % of the pairs; the largest is given"
    return SmallestSubset(sizes, ids, 100 * choice.agreement, () if choice.is_reached else (not_reached,))


class _PairSpread(NamedTuple):
    """Means over pairs of runs: of the squared differences, of their absolute values, and of the
    factor by which clusters increase the variance (at least 1)."""

    discordance: float
    largest: float
    design: float


def _spread(aligned_runs: AlignedRuns) -> _PairSpread:
    """Average spread over at most `_MAX_PAIRS` evenly chosen pairs of runs."""
    pairs = list(combinations(range(aligned_runs.scores.shape[1]), 2))
    step = math.ceil(len(pairs) / _MAX_PAIRS)
    first, second = np.array(pairs[::step]).T
    differences: Floats = aligned_runs.scores[:, second] - aligned_runs.scores[:, first]
    variances = differences.var(axis=0, ddof=1) / len(differences)
    designs = [
        paired.error**2 / variance
        for paired, variance in zip(paired_means(differences, aligned_runs.clusters), variances.tolist(), strict=True)
        if paired.error is not None and variance
    ]
    design = max(1.0, float(np.mean(designs))) if designs else 1.0
    return _PairSpread(float((differences**2).mean()), float(abs(differences).mean()), design)


def _subset_worth(subset: Subset, mean_unit_size: float, spread: _PairSpread) -> SubsetWorth:
    """The worth of a subset; `mean_unit_size` is the mean number of samples in a unit."""
    samples = round(subset.units * mean_unit_size)
    min_detectable = detectable_difference(
        spread.discordance, samples / spread.design, largest=spread.largest, power=DEFAULT_POWER
    )
    return SubsetWorth(
        samples,
        100 * subset.agreement,
        100 * subset.error,
        100 * subset.largest,
        100 * subset.random_agreement,
        100 * subset.random_error,
        None if min_detectable is None else 100 * min_detectable,
    )
