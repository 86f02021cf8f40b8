"""Intervals of statistics of sums over samples (F1, a ratio, BLEU), from the influence of samples.

Linearisation of such a statistic, and its variance over clusters: K. M. Wolter, "Introduction to
Variance Estimation" (2007), Ch. 6; the influence of a sample is the infinitesimal jackknife of B.
Efron, "The Jackknife, the Bootstrap and Other Resampling Plans" (1982), Ch. 6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from snellen.core.arrays import Floats, Ints, np
from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL, Moments, bounded_interval, degrees_of_freedom
from snellen.stats.student_t import two_sided_quantile

SumStatistic = Callable[["Floats"], "Floats"]
"""Maps sums, (draws, columns), to the statistic of each draw, (draws,)."""
_STEP = 1e-5
"""Step of a numerical derivative, relative to the absolute sum of a column."""


def influences(rows: Floats, statistic: SumStatistic) -> Floats:
    """How much each sample moves the statistic, to first order: (samples,).

    `rows` (samples, columns) is what each sample adds to the sums. The statistic must be smooth at
    the total sums. If it depends on ratios of sums only, the influences sum to 0.
    """
    sums = rows.sum(axis=0)
    steps = np.diag(_STEP * np.maximum(np.abs(rows).sum(axis=0), 1e-300))
    # Central differences, one column at a time: (2 * columns, columns) in one call.
    ends = statistic(np.concatenate([sums + steps, sums - steps]))
    half = len(ends) // 2
    slopes = (ends[:half] - ends[half:]) / (2 * np.diag(steps))
    influence: Floats = rows @ np.where(np.abs(rows).any(axis=0), slopes, 0.0)
    return influence


def interval_of_sums(
    rows: Floats,
    statistic: SumStatistic,
    clusters: Sequence[str] = (),
    *,
    top: float = 100.0,
    level: float = DEFAULT_LEVEL,
) -> Interval | None:
    """Interval of a statistic between 0 and `top`: `intervals.bounded_interval` of its
    cluster-robust variance, with Student's t.

    `rows` and `statistic` as in `influences`; a row of zeros does not count. `clusters` names the
    cluster of each row; an empty name is a cluster of its own. None for fewer than two clusters.
    """
    cluster_ids, counted = _counted_rows(rows, clusters)
    n, groups = len(cluster_ids), int(cluster_ids.max(initial=-1)) + 1
    if groups < 2:
        return None
    influence = influences(counted, statistic) / top
    estimate = float(statistic(counted.sum(axis=0, keepdims=True))[0]) / top
    sizes = _sums_by_cluster(np.ones(n), cluster_ids) / n
    shares = float((sizes**2).sum())
    correction = 1 / (1 - shares)
    moments = Moments(
        estimate,
        correction * float((_sums_by_cluster(influence, cluster_ids) ** 2).sum()),
        float((influence**2).sum()) * n / (n - 1),
        shares,
        1 / n,
        degrees_of_freedom((size, correction) for size in sizes.tolist()),
    )
    method = "wilson, linearised" if groups == n else "wilson, linearised, clustered"
    interval = bounded_interval(moments, method, level)
    return Interval(top * interval.low, top * interval.high, method, level)


def unbounded_interval_of_sums(
    rows: Floats, statistic: SumStatistic, clusters: Sequence[str] = (), *, level: float = DEFAULT_LEVEL
) -> Interval | None:
    """Interval of a positive statistic without an upper bound, such as a ratio of two grades:
    Student's t over clusters on the logarithmic scale.

    None for fewer than two clusters, for a statistic of 0, and if no cluster moves it.
    """
    import math

    cluster_ids, counted = _counted_rows(rows, clusters)
    groups = int(cluster_ids.max(initial=-1)) + 1
    if groups < 2:
        return None
    estimate = float(statistic(counted.sum(axis=0, keepdims=True))[0])
    squares = float((_sums_by_cluster(influences(counted, statistic), cluster_ids) ** 2).sum())
    if estimate <= 0 or not squares:
        return None
    error = math.sqrt(groups / (groups - 1) * squares) / estimate
    factor = math.exp(two_sided_quantile(level, groups - 1) * error)
    return Interval(estimate / factor, estimate * factor, "linearised, clustered", level)


def _counted_rows(rows: Floats, clusters: Sequence[str]) -> tuple[Ints, Floats]:
    """Cluster numbers, from 0, of the rows that are not all zeros, and these rows. Raises
    ValueError if there are not as many clusters as rows.
    """
    if clusters and len(clusters) != len(rows):
        raise ValueError(f"got {len(rows)} rows but {len(clusters)} clusters")
    row_indices = np.flatnonzero(np.abs(rows).any(axis=1))
    ids: dict[str, int] = {}
    cluster_ids = [
        ids.setdefault((clusters[index] if clusters else "") or f"\0{index}", len(ids))
        for index in row_indices.tolist()
    ]
    return np.asarray(cluster_ids, dtype=np.int64), rows[row_indices]


def _sums_by_cluster(values: Floats, cluster_ids: Ints) -> Floats:
    """Sum of the values in each cluster."""
    return np.asarray(np.bincount(cluster_ids, weights=values), dtype=np.float64)
