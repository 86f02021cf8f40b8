"""Two systems compared by a statistic that is no mean of samples, such as an F1 or a mean of
subtasks' accuracies: what each cluster adds to it, and from that test and interval.

The statistic is a function of sums over samples. It is linearised (D. A. Binder, "On the variances
of asymptotically normal estimators from complex surveys", International Valueal Review 51
(1983)): a cluster adds the derivative of the statistic along its sums. That is too small for
clusters that bear much of the statistic, and the change when the cluster is left out (the
jackknife) is too large; the product of both is the CR2 variance where the statistic is a mean, and
takes its place here. Then the test is that of `stats.paired`: Student's t, no surer than flipping
signs, which is to say exchanging the two systems in a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.linearised import SumStatistic, influences
from snellen.stats.paired import (
    MAX_FLIPPED_CLUSTERS,
    MIN_CLUSTERS,
    ClusterContributions,
    PairedMean,
    apply_sign_flips,
    cluster_tests,
    paired_means_of,
    untested_means,
)

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

_CELLS = 4_000_000
"""Sums held at once."""


class LinearisedStatistic(NamedTuple):
    """A statistic of one system, seen cluster by cluster."""

    value: float
    rows: NDArray[float64]
    """Column sums of each cluster: (clusters, columns)."""
    statistic: SumStatistic
    slopes: NDArray[float64]
    """What each cluster adds to the statistic, more than its part of it: (clusters,)."""
    changes: NDArray[float64]
    """The statistic less the statistic without the cluster."""
    weights: NDArray[float64]
    """The part of the statistic that each sample bears, 1 in all: (samples,)."""


def linearise(
    rows: NDArray[float64],
    clusters: NDArray[int64],
    statistic: SumStatistic,
    weights: NDArray[float64] | None = None,
) -> LinearisedStatistic:
    """The `statistic` of sums over samples, each of which adds a row of `rows` (n, columns) and
    belongs to one of the `clusters` (n,), numbered from 0 without gaps. `weights` (n,) say how much
    of the statistic each sample bears; without them all bear the same.

    Raises:
        ValueError: no samples, or lengths differ.
    """
    import numpy as np

    if not len(rows) or len(rows) != len(clusters):
        raise ValueError(f"got {len(rows)} samples and {len(clusters)} clusters")
    sums = cluster_sums(rows, clusters)
    total = sums.sum(axis=0)
    value = float(statistic(total[None])[0])
    slopes = cluster_sums(influences(rows, statistic)[:, None], clusters)[:, 0]
    shares = np.ones(len(rows)) if weights is None else weights
    shares = shares / shares.sum() if shares.any() else np.full(len(rows), 1 / len(rows))
    # They add up to 0 for a statistic that does not depend on the number of samples; for another,
    # each cluster is measured against its part of the whole.
    slopes -= slopes.sum() * np.bincount(clusters, weights=shares)
    changes = value - _evaluate(total - sums, statistic)
    return LinearisedStatistic(value, sums, statistic, slopes, changes, shares)


def cluster_sums(values: NDArray[float64], clusters: NDArray[int64]) -> NDArray[float64]:
    """Sums of `values` (n, columns) within each cluster: (clusters, columns)."""
    import numpy as np

    counts = np.bincount(clusters)
    order, starts = np.argsort(clusters, kind="stable"), np.cumsum(counts) - counts
    sums: NDArray[float64] = np.add.reduceat(values[order], starts, axis=0)
    return sums


def _evaluate(sums: NDArray[float64], statistic: SumStatistic) -> NDArray[float64]:
    """The statistic of many sums, some at a time."""
    import numpy as np

    step = max(1, _CELLS // max(1, sums.shape[1]))
    parts = [statistic(sums[at : at + step]) for at in range(0, len(sums), step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def paired_statistics(
    systems: Sequence[LinearisedStatistic],
    pairs: Sequence[tuple[int, int]],
    clusters: NDArray[int64],
    strata: NDArray[int64] | None = None,
    *,
    level: float = DEFAULT_LEVEL,
    null: float = 0.0,
    top: float = 1.0,
) -> list[PairedMean]:
    """The second less the first of each of the `pairs` of systems, on the same samples.

    `clusters` (n,) are those of the samples, `strata` (n,) the parts of the statistic's design
    they are drawn from. Differences lie in -top..top. `p` is of the hypothesis that the true
    difference is `null`.
    """
    import numpy as np

    first, second = ([pair[at] for pair in pairs] for at in (0, 1))
    values = np.array([one.value for one in systems])
    value = values[second] - values[first]
    groups = int(clusters.max()) + 1
    if groups < MIN_CLUSTERS:
        return untested_means(value, None, groups)
    slopes = np.stack([one.slopes for one in systems], axis=1)
    changes = np.stack([one.changes for one in systems], axis=1)
    slope, change = (each[:, second] - each[:, first] for each in (slopes, changes))
    single = single_clusters(clusters, strata)
    weights = np.stack([one.weights for one in systems], axis=1)
    pull = (weights[:, second] + weights[:, first]) / 2
    part = cluster_sums(pull, clusters)
    added = slope + part * value
    exchanged_clusters = np.arange(groups) if groups <= MAX_FLIPPED_CLUSTERS else single
    for at, pair in enumerate(pairs):
        exchange = _exchange_systems(systems[pair[0]], systems[pair[1]], exchanged_clusters)
        if exchange is not None:
            added[exchanged_clusters, at] = exchange
    squares = np.abs(slope * change)
    # Nothing is seen of how clusters of such a part differ: each counts with all that it adds.
    squares[single] = added[single] ** 2
    if strata is not None:
        squares = _shrink_squares(squares, part, _clusters_in_smallest_stratum(clusters, strata))
    sizes = part.mean(axis=1)
    sizes = np.maximum(sizes, sizes.max() * 1e-9)
    # What exchanging one cluster at a time leaves over.
    added += (value - added.sum(axis=0)) * (sizes / sizes.sum())[:, None]
    contributions = ClusterContributions(
        value,
        np.sqrt(squares.sum(axis=0)),
        _freedom(pull, clusters, strata),
        added * sizes.sum(),
        sizes,
        _count_unequal(systems, pairs),
        np.abs(added).max(axis=0),
    )
    tests = apply_sign_flips(cluster_tests(contributions, level, null), contributions, level, null)
    return paired_means_of(contributions, tests, np.zeros(len(pairs), dtype=np.bool_), level, top)


def min_clusters_in_stratum(clusters: NDArray[int64], strata: NDArray[int64] | None) -> int:
    """The fewest clusters that a stratum has."""
    import numpy as np

    if strata is None:
        return int(clusters.max()) + 1
    both = np.unique(np.stack([strata, clusters], axis=1), axis=0)
    return int(np.bincount(both[:, 0]).min())


def single_clusters(clusters: NDArray[int64], strata: NDArray[int64] | None) -> NDArray[int64]:
    """Clusters that are the only one of some stratum."""
    import numpy as np

    if strata is None:
        return np.zeros(0, dtype=np.int64)
    both = np.unique(np.stack([strata, clusters], axis=1), axis=0)
    alone = np.bincount(both[:, 0])[both[:, 0]] == 1
    return np.unique(both[alone, 1])


def _clusters_in_smallest_stratum(
    clusters: NDArray[int64], strata: NDArray[int64]
) -> NDArray[int64]:
    """For each cluster how many there are in the smallest stratum that it is in."""
    import numpy as np

    both = np.unique(np.stack([strata, clusters], axis=1), axis=0)
    counts = np.bincount(both[:, 0])[both[:, 0]]
    smallest = np.full(int(clusters.max()) + 1, len(clusters))
    np.minimum.at(smallest, both[:, 1], counts)
    return smallest


def _shrink_squares(
    squares: NDArray[float64], part: NDArray[float64], counts: NDArray[int64]
) -> NDArray[float64]:
    """A stratum of few clusters tells little of its own spread. Each is seen with one cluster more,
    whose square is that of all clusters, for its part of the statistic, as `stats.stratified` does
    with the groups of a single mean."""
    import numpy as np

    present = part > 0
    ratios = np.where(present, squares / np.where(present, part, 1.0) ** 2, 0.0)
    mean_ratio = ratios.sum(axis=0) / np.maximum(1, present.sum(axis=0))
    shrunk: NDArray[float64] = (counts[:, None] * squares + mean_ratio * part**2) / (
        counts[:, None] + 1
    )
    return shrunk


def _exchange_systems(
    first: LinearisedStatistic, second: LinearisedStatistic, clusters: NDArray[int64]
) -> NDArray[float64] | None:
    """Half of what the difference loses when the two systems are exchanged in a cluster: all that
    the cluster adds to it. None where the two are made of different sums."""
    if first.rows.shape != second.rows.shape:
        return None
    difference = second.rows[clusters] - first.rows[clusters]
    before, after = first.rows.sum(axis=0), second.rows.sum(axis=0)
    first_change = _evaluate(before + difference, first.statistic) - first.value
    second_change = second.value - _evaluate(after - difference, second.statistic)
    return (first_change + second_change) / 2


def _count_unequal(
    systems: Sequence[LinearisedStatistic], pairs: Sequence[tuple[int, int]]
) -> NDArray[int64]:
    import numpy as np

    counts = []
    for one, other in pairs:
        rows, others = systems[one].rows, systems[other].rows
        alike = rows.shape == others.shape
        counts.append(int((rows != others).any(axis=1).sum()) if alike else len(rows))
    return np.array(counts, dtype=np.int64)


def _freedom(
    pull: NDArray[float64], clusters: NDArray[int64], strata: NDArray[int64] | None
) -> NDArray[float64]:
    """Degrees of freedom by how unequally the clusters bear the statistic, as in
    `paired.satterthwaite`: with independent samples, and with clusters whose samples are alike,
    the smaller of the two. Every stratum of several clusters uses up one, for its own mean."""
    import numpy as np

    cluster_pull = cluster_sums(pull, clusters)
    freedom = np.full(pull.shape[1], float(len(cluster_pull)))
    for variances in (cluster_sums(pull**2, clusters), cluster_pull**2):
        freedom = np.minimum(freedom, variances.sum(axis=0) ** 2 / (variances**2).sum(axis=0))
    means = 1 if strata is None else _count_means(clusters, strata)
    return np.maximum(1.0, freedom * (1 - means / len(cluster_pull)))


def _count_means(clusters: NDArray[int64], strata: NDArray[int64]) -> int:
    import numpy as np

    both = np.unique(np.stack([strata, clusters], axis=1), axis=0)
    return max(1, int((np.bincount(both[:, 0]) > 1).sum()))
