"""A headline as a function of sums over samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.record import Record

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class HeadlineSums(NamedTuple):
    """A headline that is no plain mean of the samples' scores, such as an F1 or a mean of subtasks'
    accuracies: what each sample adds to some sums, and the headline that sums make.

    It is enough to draw samples anew, to leave some out, and to compare two runs on the same
    samples by their headlines.
    """

    rows: NDArray[float64]
    """What each sample adds, in the order of the records: shape (samples, columns). A sample that
    does not count adds zeros."""
    value: Callable[[NDArray[float64]], NDArray[float64]]
    """The headline, on its own scale, of each row of sums: (draws, columns) to (draws,)."""
    strata: Sequence[str] = ()
    """For each sample the part of the benchmark it is drawn from, where the sizes of the parts
    belong to the benchmark's design (subtasks); () where samples are drawn from one whole."""
    links: Sequence[str] = ()
    """For each sample a name: those that share it count together and are drawn together, beyond
    what `scoring.clusters` joins; () where nothing is joined."""
    weights: NDArray[float64] | None = None
    """How much of the headline each sample bears, on any scale; None where all bear the same."""

    def of_all(self) -> float:
        """The headline over all samples."""
        return float(self.value(self.rows.sum(axis=0, keepdims=True))[0])


SumsOf = Callable[[Sequence[Record]], HeadlineSums | None]
"""Makes the sums of finished samples; None where they have no headline (a subtask is missing)."""
