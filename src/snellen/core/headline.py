"""A headline as a function of sums over samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.record import Record

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class HeadlineSums(NamedTuple):
    """A headline that is not the plain mean of the samples' scores, e.g. an F1 or a mean of
    subtasks' accuracies: what each sample adds to some sums, and the headline of these sums.

    This suffices to resample, to leave samples out, and to compare the headlines of two runs on
    the same samples.
    """

    rows: NDArray[float64]
    """What each sample adds, in the order of the records: shape (samples, columns). Rows of samples
    that do not count are zero."""
    value: Callable[[NDArray[float64]], NDArray[float64]]
    """The headline, on its own scale, of each row of sums: (draws, columns) to (draws,)."""
    strata: Sequence[str] = ()
    """For each sample the stratum that it is drawn from, if the sizes of strata belong to the
    benchmark's design (subtasks); () if there is one stratum."""
    links: Sequence[str] = ()
    """A name for each sample; samples that share it are counted and resampled together, in addition
    to the clusters of `cluster_samples`. () if there are no links."""
    weights: NDArray[float64] | None = None
    """Each sample's weight in the headline, on any scale; None if all weigh the same."""

    def of_all(self) -> float:
        """The headline over all samples."""
        return float(self.value(self.rows.sum(axis=0, keepdims=True))[0])


SumsOf = Callable[[Sequence[Record]], HeadlineSums | None]
"""Sums of finished samples; None if they have no headline (e.g. a subtask is missing)."""
