"""Paired comparison by a statistic that is not a mean over samples, such as an F1 or a mean of the
accuracies of subtasks: test and interval from what each cluster adds to the difference.

The statistic is a function of sums over samples. It is linearised (D. A. Binder, "On the variances
of asymptotically normal estimators from complex surveys", International Statistical Review 51
(1983)): a cluster adds the derivative of the statistic along its sums. That is too small for
clusters that bear much of the statistic, and the change when the cluster is left out (the
jackknife) is too large; the product of both is the CR2 variance where the statistic is a mean, and
takes its place here. Then the test is that of `stats.paired`: Student's t, no surer than flipping
signs, which is to say exchanging the two systems in a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from snellen.core.arrays import Floats, Indices, Ints, np
from snellen.stats.intervals import DEFAULT_LEVEL, MIN_CLUSTERS
from snellen.stats.linearised import SumStatistic, influences
from snellen.stats.paired import (
    MAX_FLIPPED_CLUSTERS,
    ClusterContributions,
    PairedMean,
    apply_sign_flips,
    cluster_tests,
    paired_means_of,
    untested_means,
)

_CELLS = 4_000_000
"""Maximum of numbers in memory at once when a statistic is evaluated many times."""


class LinearisedStatistic(NamedTuple):
    """A statistic of one system, with what each cluster adds to it."""

    value: float
    rows: Floats
    """Column sums of each cluster: (clusters, columns)."""
    statistic: SumStatistic
    slopes: Floats
    """First-order change of the statistic by each cluster, beyond its part of it: (clusters,)."""
    changes: Floats
    """The statistic minus the statistic without the cluster: (clusters,)."""
    weights: Floats
    """Part of each sample in the statistic, summing to 1: (samples,)."""


def linearise(
    rows: Floats, clusters: Ints, statistic: SumStatistic, weights: Floats | None = None
) -> LinearisedStatistic:
    """Linearise a `statistic` of sums over samples.

    Each sample adds a row of `rows` (n, columns) to the sums and belongs to one of the `clusters`
    (n,), numbered from 0 without gaps. `weights` (n,) are the samples' parts in the statistic;
    equal if omitted. Raises ValueError for no samples, or lengths that differ.
    """
    if not len(rows) or len(rows) != len(clusters):
        raise ValueError(f"got {len(rows)} samples and {len(clusters)} clusters")
    sums = cluster_sums(rows, clusters)
    total = sums.sum(axis=0)
    value = float(statistic(total[None])[0])
    slopes = cluster_sums(influences(rows, statistic)[:, None], clusters)[:, 0]
    shares = np.ones(len(rows)) if weights is None else weights
    shares = shares / shares.sum() if shares.any() else np.full(len(rows), 1 / len(rows))
    # Slopes sum to 0 for a statistic that does not depend on the number of samples. For others,
    # each cluster is measured relative to its part in the statistic.
    slopes -= slopes.sum() * np.bincount(clusters, weights=shares)
    changes = value - _evaluate(total - sums, statistic)
    return LinearisedStatistic(value, sums, statistic, slopes, changes, shares)


def cluster_sums(values: Floats, clusters: Ints) -> Floats:
    """Sums of `values` (n, columns) within each cluster: (clusters, columns)."""
    counts = np.bincount(clusters)
    order, starts = np.argsort(clusters, kind="stable"), np.cumsum(counts) - counts
    sums: Floats = np.add.reduceat(values[order], starts, axis=0)
    return sums


def _evaluate(sums: Floats, statistic: SumStatistic) -> Floats:
    """The statistic of many rows of sums, computed in blocks."""
    step = max(1, _CELLS // max(1, sums.shape[1]))
    parts = [statistic(sums[start : start + step]) for start in range(0, len(sums), step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def paired_statistics(
    systems: Sequence[LinearisedStatistic],
    pairs: Sequence[tuple[int, int]],
    clusters: Ints,
    strata: Ints | None = None,
    *,
    level: float = DEFAULT_LEVEL,
    null: float = 0.0,
    top: float = 1.0,
) -> list[PairedMean]:
    """The difference, second minus first, of each of the `pairs` of systems on the same samples.

    `clusters` (n,) and `strata` (n,) are those of the samples; the statistic's strata are e.g. the
    subtasks of a mean over subtasks. Differences lie in -top..top. `p` is that of the hypothesis
    that the true difference is `null`.
    """
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    values = np.array([system.value for system in systems])
    value = values[second] - values[first]
    groups = int(clusters.max()) + 1
    if groups < MIN_CLUSTERS:
        return untested_means(value, None, groups)
    contributions = _contributions(systems, pairs, value, clusters, strata)
    tests = apply_sign_flips(cluster_tests(contributions, level, null), contributions, level, null)
    return paired_means_of(contributions, tests, np.zeros(len(pairs), dtype=np.bool_), level, top)


def _contributions(
    systems: Sequence[LinearisedStatistic],
    pairs: Sequence[tuple[int, int]],
    value: Floats,
    clusters: Ints,
    strata: Ints | None,
) -> ClusterContributions:
    """What each cluster contributes to the differences (pairs,) in `value`, and to their variances."""
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    groups = int(clusters.max()) + 1
    # All of these are (clusters, pairs), but `weights` and `pull`, which are (samples, pairs).
    slopes = np.stack([system.slopes for system in systems], axis=1)
    changes = np.stack([system.changes for system in systems], axis=1)
    slope, change = (each[:, second] - each[:, first] for each in (slopes, changes))
    single = single_clusters(clusters, strata)
    weights = np.stack([system.weights for system in systems], axis=1)
    pull = (weights[:, second] + weights[:, first]) / 2
    part = cluster_sums(pull, clusters)
    # What each cluster adds to the difference, to first order. Where it matters most, with few
    # clusters (whose signs are flipped) and in single clusters, exactly: by exchanging the systems.
    added = slope + part * value
    _exchange_in_place(added, systems, pairs, np.arange(groups) if groups <= MAX_FLIPPED_CLUSTERS else single)
    # Contributions to the variance: the product of derivative and jackknife (see above).
    squares = np.abs(slope * change)
    # How clusters differ cannot be seen in a stratum with a single one: it counts with all it adds.
    squares[single] = added[single] ** 2
    if strata is not None:
        squares = _shrink_squares(squares, part, _clusters_in_smallest_stratum(clusters, strata))
    sizes = part.mean(axis=1)
    sizes = np.maximum(sizes, sizes.max() * 1e-9)
    # Exchanging clusters one at a time need not sum to the difference: distribute the remainder.
    added += (value - added.sum(axis=0)) * (sizes / sizes.sum())[:, None]
    return ClusterContributions(
        value,
        np.sqrt(squares.sum(axis=0)),
        _freedom(pull, clusters, strata),
        added * sizes.sum(),
        sizes,
        _count_unequal(systems, pairs),
        np.abs(added).max(axis=0),
    )


def _exchange_in_place(
    added: Floats, systems: Sequence[LinearisedStatistic], pairs: Sequence[tuple[int, int]], clusters: Ints
) -> None:
    """Set what these clusters add to each difference, (clusters, pairs), where it is known exactly."""
    for column, pair in enumerate(pairs):
        exchange = _exchange_systems(systems[pair[0]], systems[pair[1]], clusters)
        if exchange is not None:
            added[clusters, column] = exchange


def min_clusters_in_stratum(clusters: Ints, strata: Ints | None) -> int:
    """The number of clusters in the stratum with the fewest."""
    if strata is None:
        return int(clusters.max()) + 1
    return int(_clusters_by_stratum(clusters, strata)[1].min())


def _clusters_by_stratum(clusters: Ints, strata: Ints) -> tuple[Ints, Indices]:
    """The pairs of stratum and cluster that occur, (pairs, 2); and for each of them the number of
    clusters in its stratum, (pairs,)."""
    pairs = np.unique(np.stack([strata, clusters], axis=1), axis=0)
    return pairs, np.bincount(pairs[:, 0])[pairs[:, 0]]


def single_clusters(clusters: Ints, strata: Ints | None) -> Ints:
    """Clusters that are alone in some stratum."""
    if strata is None:
        return np.zeros(0, dtype=np.int64)
    pairs, counts = _clusters_by_stratum(clusters, strata)
    return np.unique(pairs[counts == 1, 1])


def _clusters_in_smallest_stratum(clusters: Ints, strata: Ints) -> Ints:
    """For each cluster, (clusters,), the number of clusters in the smallest of its strata."""
    pairs, counts = _clusters_by_stratum(clusters, strata)
    smallest = np.full(int(clusters.max()) + 1, len(clusters))
    np.minimum.at(smallest, pairs[:, 1], counts)
    return smallest


def _shrink_squares(squares: Floats, part: Floats, counts: Ints) -> Floats:
    """Shrink squared contributions towards their mean over all clusters.

    A stratum of few clusters says little about its own spread. Each is treated as if it had one
    more cluster with the mean squared contribution, relative to its part of the statistic, as
    `stats.stratified` does with the groups of a mean. `counts` are clusters by stratum.
    """
    present = part > 0
    ratios = np.where(present, squares / np.where(present, part, 1.0) ** 2, 0.0)
    mean_ratio = ratios.sum(axis=0) / np.maximum(1, present.sum(axis=0))
    shrunk: Floats = (counts[:, None] * squares + mean_ratio * part**2) / (counts[:, None] + 1)
    return shrunk


def _exchange_systems(first: LinearisedStatistic, second: LinearisedStatistic, clusters: Ints) -> Floats | None:
    """What each cluster adds to the difference: half of its change when the two systems are
    exchanged in that cluster. None if the two statistics are of different sums."""
    if first.rows.shape != second.rows.shape:
        return None
    difference = second.rows[clusters] - first.rows[clusters]
    before, after = first.rows.sum(axis=0), second.rows.sum(axis=0)
    first_change = _evaluate(before + difference, first.statistic) - first.value
    second_change = second.value - _evaluate(after - difference, second.statistic)
    return (first_change + second_change) / 2


def _count_unequal(systems: Sequence[LinearisedStatistic], pairs: Sequence[tuple[int, int]]) -> Ints:
    """Number of clusters in which the sums of two systems differ: (pairs,)."""
    counts = []
    for first, second in pairs:
        rows, other_rows = systems[first].rows, systems[second].rows
        if rows.shape == other_rows.shape:
            counts.append(int((rows != other_rows).any(axis=1).sum()))
        else:
            counts.append(len(rows))
    return np.array(counts, dtype=np.int64)


def _freedom(pull: Floats, clusters: Ints, strata: Ints | None) -> Floats:
    """Degrees of freedom, (pairs,), from the parts of the clusters in the statistic.

    As in `paired.satterthwaite` the smaller one of two working models: independent samples, and
    clusters whose samples are all equal. Every stratum of several clusters uses up one degree of
    freedom for its own mean.
    """
    cluster_pull = cluster_sums(pull, clusters)
    freedom = np.full(pull.shape[1], float(len(cluster_pull)))
    for variances in (cluster_sums(pull**2, clusters), cluster_pull**2):
        freedom = np.minimum(freedom, variances.sum(axis=0) ** 2 / (variances**2).sum(axis=0))
    means = 1 if strata is None else _count_means(clusters, strata)
    return np.maximum(1.0, freedom * (1 - means / len(cluster_pull)))


def _count_means(clusters: Ints, strata: Ints) -> int:
    """Number of strata with more than one cluster, at least 1."""
    pairs, counts = _clusters_by_stratum(clusters, strata)
    return max(1, len(np.unique(pairs[counts > 1, 0])))
