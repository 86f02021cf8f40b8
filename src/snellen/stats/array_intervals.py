"""`intervals.score_interval` for arrays of a million shares, with the same numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snellen.core.arrays import Bools, Floats, np
from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL, Moments, bounded_interval, wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray


def share_interval(
    right: Bools, clusters: NDArray[np.uint64] | None = None, level: float = DEFAULT_LEVEL
) -> Interval | None:
    """Interval of the share of true values, as `score_interval` of scores of 0 and 1.

    `clusters` names the cluster of each value by a number. None without values.
    """
    n, successes = len(right), int(np.count_nonzero(right))
    if not n:
        return None
    if clusters is None:
        return wilson(successes, n, level)
    _, index, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    if len(sizes) == n:
        return wilson(successes, n, level)
    mean = successes / n
    independent = mean * (1 - mean) / n
    weights: Floats = sizes / n
    squares = float((weights**2).sum())
    method = "wilson, clustered"
    if len(sizes) < 2:
        moments = Moments(mean, n * independent, independent, squares, 1 / n)
        return bounded_interval(moments, method, level)
    residuals = np.bincount(index, weights=right - mean)
    variance = float((residuals**2).sum()) / n**2 / (1 - squares)
    # As `intervals.degrees_of_freedom`: Satterthwaite's, for clusters of one group.
    freedom = max(1.0, squares**2 * (1 - squares) / float((weights**4).sum()))
    moments = Moments(mean, variance, independent, squares, 1 / n, freedom)
    return bounded_interval(moments, method, level)
