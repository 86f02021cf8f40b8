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
from snellen.stats.linearised import Value, influences
from snellen.stats.paired import (
    FEWEST_CLUSTERS,
    FLIPPED,
    Contributions,
    PairedMean,
    cluster_tests,
    few_clusters,
    guarded,
    paired_values,
)

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

_CELLS = 4_000_000
"""Sums held at once."""


class Linearised(NamedTuple):
    """A statistic of one system, seen cluster by cluster."""

    value: float
    rows: NDArray[float64]
    """Column sums of each cluster: (clusters, columns)."""
    statistic: Value
    slopes: NDArray[float64]
    """What each cluster adds to the statistic, more than its part of it: (clusters,)."""
    changes: NDArray[float64]
    """The statistic less the statistic without the cluster."""
    weights: NDArray[float64]
    """The part of the statistic that each sample bears, 1 in all: (samples,)."""


def linearised(
    rows: NDArray[float64],
    clusters: NDArray[int64],
    statistic: Value,
    weights: NDArray[float64] | None = None,
) -> Linearised:
    """The `statistic` of sums over samples, each of which adds a row of `rows` (n, columns) and
    belongs to one of the `clusters` (n,), numbered from 0 without gaps. `weights` (n,) say how much
    of the statistic each sample bears; without them all bear the same.

    Raises:
        ValueError: no samples, or lengths differ.
    """
    import numpy as np

    if not len(rows) or len(rows) != len(clusters):
        raise ValueError(f"got {len(rows)} samples and {len(clusters)} clusters")
    held = cluster_sums(rows, clusters)
    total = held.sum(axis=0)
    value = float(statistic(total[None])[0])
    slopes = cluster_sums(influences(rows, statistic)[:, None], clusters)[:, 0]
    bears = np.ones(len(rows)) if weights is None else weights
    bears = bears / bears.sum() if bears.any() else np.full(len(rows), 1 / len(rows))
    # They add up to 0 for a statistic that does not depend on the number of samples; for another,
    # each cluster is measured against its part of the whole.
    slopes -= slopes.sum() * np.bincount(clusters, weights=bears)
    changes = value - _values(total - held, statistic)
    return Linearised(value, held, statistic, slopes, changes, bears)


def cluster_sums(values: NDArray[float64], clusters: NDArray[int64]) -> NDArray[float64]:
    """Sums of `values` (n, columns) within each cluster: (clusters, columns)."""
    import numpy as np

    counts = np.bincount(clusters)
    order, starts = np.argsort(clusters, kind="stable"), np.cumsum(counts) - counts
    found: NDArray[float64] = np.add.reduceat(values[order], starts, axis=0)
    return found


def _values(sums: NDArray[float64], statistic: Value) -> NDArray[float64]:
    """The statistic of many sums, some at a time."""
    import numpy as np

    many = max(1, _CELLS // max(1, sums.shape[1]))
    parts = [statistic(sums[at : at + many]) for at in range(0, len(sums), many)]
    return np.concatenate(parts) if parts else np.zeros(0)


def paired_statistics(
    systems: Sequence[Linearised],
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
    if groups < FEWEST_CLUSTERS:
        return few_clusters(value, None, groups)
    slopes = np.stack([one.slopes for one in systems], axis=1)
    changes = np.stack([one.changes for one in systems], axis=1)
    slope, change = (each[:, second] - each[:, first] for each in (slopes, changes))
    lonely = lonely_clusters(clusters, strata)
    weights = np.stack([one.weights for one in systems], axis=1)
    pull = (weights[:, second] + weights[:, first]) / 2
    part = cluster_sums(pull, clusters)
    added = slope + part * value
    exchanged = np.arange(groups) if groups <= FLIPPED else lonely
    for at, pair in enumerate(pairs):
        whole = _exchanged(systems[pair[0]], systems[pair[1]], exchanged)
        if whole is not None:
            added[exchanged, at] = whole
    squares = np.abs(slope * change)
    # Nothing is seen of how clusters of such a part differ: each counts with all that it adds.
    squares[lonely] = added[lonely] ** 2
    if strata is not None:
        squares = _borrowed(squares, part, _fellows(clusters, strata))
    sizes = part.mean(axis=1)
    sizes = np.maximum(sizes, sizes.max() * 1e-9)
    # What exchanging one cluster at a time leaves over.
    added += (value - added.sum(axis=0)) * (sizes / sizes.sum())[:, None]
    found = Contributions(
        value,
        np.sqrt(squares.sum(axis=0)),
        _freedom(pull, clusters, strata),
        added * sizes.sum(),
        sizes,
        _unequal(systems, pairs),
        np.abs(added).max(axis=0),
    )
    tests = guarded(cluster_tests(found, level, null), found, level, null)
    return paired_values(found, tests, np.zeros(len(pairs), dtype=np.bool_), level, top)


def smallest_part(clusters: NDArray[int64], strata: NDArray[int64] | None) -> int:
    """The fewest clusters that a stratum has."""
    import numpy as np

    if strata is None:
        return int(clusters.max()) + 1
    both = np.unique(np.stack([strata, clusters], axis=1), axis=0)
    return int(np.bincount(both[:, 0]).min())


def lonely_clusters(clusters: NDArray[int64], strata: NDArray[int64] | None) -> NDArray[int64]:
    """Clusters that are the only one of some stratum."""
    import numpy as np

    if strata is None:
        return np.zeros(0, dtype=np.int64)
    both = np.unique(np.stack([strata, clusters], axis=1), axis=0)
    alone = np.bincount(both[:, 0])[both[:, 0]] == 1
    return np.unique(both[alone, 1])


def _fellows(clusters: NDArray[int64], strata: NDArray[int64]) -> NDArray[int64]:
    """For each cluster how many there are in the smallest stratum that it is in."""
    import numpy as np

    both = np.unique(np.stack([strata, clusters], axis=1), axis=0)
    many = np.bincount(both[:, 0])[both[:, 0]]
    found = np.full(int(clusters.max()) + 1, len(clusters))
    np.minimum.at(found, both[:, 1], many)
    return found


def _borrowed(
    squares: NDArray[float64], part: NDArray[float64], fellows: NDArray[int64]
) -> NDArray[float64]:
    """A stratum of few clusters tells little of its own spread. Each is seen with one cluster more,
    whose square is that of all clusters, for its part of the statistic, as `stats.stratified` does
    with the groups of a single mean."""
    import numpy as np

    there = part > 0
    ratios = np.where(there, squares / np.where(there, part, 1.0) ** 2, 0.0)
    usual = ratios.sum(axis=0) / np.maximum(1, there.sum(axis=0))
    found: NDArray[float64] = (fellows[:, None] * squares + usual * part**2) / (
        fellows[:, None] + 1
    )
    return found


def _exchanged(
    one: Linearised, other: Linearised, clusters: NDArray[int64]
) -> NDArray[float64] | None:
    """Half of what the difference loses when the two systems are exchanged in a cluster: all that
    the cluster adds to it. None where the two are made of different sums."""
    if one.rows.shape != other.rows.shape:
        return None
    apart = other.rows[clusters] - one.rows[clusters]
    before, after = one.rows.sum(axis=0), other.rows.sum(axis=0)
    first = _values(before + apart, one.statistic) - one.value
    second = other.value - _values(after - apart, other.statistic)
    return (first + second) / 2


def _unequal(systems: Sequence[Linearised], pairs: Sequence[tuple[int, int]]) -> NDArray[int64]:
    import numpy as np

    found = []
    for one, other in pairs:
        rows, others = systems[one].rows, systems[other].rows
        alike = rows.shape == others.shape
        found.append(int((rows != others).any(axis=1).sum()) if alike else len(rows))
    return np.array(found, dtype=np.int64)


def _freedom(
    pull: NDArray[float64], clusters: NDArray[int64], strata: NDArray[int64] | None
) -> NDArray[float64]:
    """Degrees of freedom by how unequally the clusters bear the statistic, as in
    `paired.satterthwaite`: with independent samples, and with clusters whose samples are alike,
    the smaller of the two. Every stratum of several clusters uses up one, for its own mean."""
    import numpy as np

    whole = cluster_sums(pull, clusters)
    found = np.full(pull.shape[1], float(len(whole)))
    for variances in (cluster_sums(pull**2, clusters), whole**2):
        found = np.minimum(found, variances.sum(axis=0) ** 2 / (variances**2).sum(axis=0))
    means = 1 if strata is None else _means(clusters, strata)
    return np.maximum(1.0, found * (1 - means / len(whole)))


def _means(clusters: NDArray[int64], strata: NDArray[int64]) -> int:
    import numpy as np

    both = np.unique(np.stack([strata, clusters], axis=1), axis=0)
    return max(1, int((np.bincount(both[:, 0]) > 1).sum()))
