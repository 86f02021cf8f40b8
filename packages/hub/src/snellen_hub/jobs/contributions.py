"""What pairs the samples of two submissions: their clusters, and what each adds to the headline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.benchmark import Benchmark
from snellen.core.record import Record
from snellen.scoring.accuracy import cluster_samples
from snellen.stats.linearised import influences

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class RowScores(NamedTuple):
    """Scores of a submission's samples, in the order of the data; what has none counts 0."""

    ids: tuple[str, ...] = ()
    scores: tuple[float, ...] = ()
    clusters: tuple[str, ...] = ()
    """Samples of one name are not independent; an empty name is a cluster of its own."""
    influences: tuple[float, ...] = ()
    """How much each sample moves the headline, to first order, on its scale. Empty if the headline
    is the mean of the samples' scores."""


def row_scores(benchmark: Benchmark, records: Sequence[Record]) -> RowScores:
    """The scores of samples, with their clusters and their influence on a headline that is no mean
    of them."""
    sums = benchmark.headline_sums(records) if benchmark.headline_sums is not None else None
    return RowScores(
        tuple(record.id for record in records),
        tuple(record.score or 0.0 for record in records),
        tuple(cluster_samples(records, () if sums is None else list(sums.links))),
        () if sums is None else tuple(influences(sums.rows, sums.value).tolist()),
    )


def headline_parts(
    scores: Sequence[float], influences: Sequence[float], headline: float, top: float
) -> NDArray[float64]:
    """What each sample adds to a headline, as a share of its highest value: their mean is the
    headline. These are the samples' scores if it is a mean of them, else pseudovalues: the headline
    and n times the influence of each sample (B. Efron, "The Jackknife, the Bootstrap and Other
    Resampling Plans", 1982, Ch. 6)."""
    import numpy as np

    if not len(influences):
        return np.asarray(scores, dtype=float)
    moves = np.asarray(influences, dtype=float)
    parts: NDArray[float64] = (headline + len(moves) * (moves - moves.mean())) / top
    return parts
