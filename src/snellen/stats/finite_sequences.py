"""Intervals that hold at every moment of a run at once, of the mean over a finite set that is drawn
without replacement: all samples of a benchmark.

I. Waudby-Smith and A. Ramdas, "Confidence sequences for sampling without replacement", NeurIPS 33
(2020), Sec. 3: with the total T of N values, of which k - 1 were drawn and sum to S, the next has
the mean (T - S) / (N - k + 1). What `ConfidenceSequence` says of the sum of these means is thereby
said of T, ever more sharply as the set runs out; and T lies between what was drawn and the most
that the rest can add. Here the set has strata, drawn in a fixed turn, each with totals of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from snellen.core.summary import Interval
from snellen.stats.confidence_sequences import METHOD, Bet, ConfidenceSequence
from snellen.stats.intervals import DEFAULT_LEVEL

FINITE_METHOD = f"{METHOD}, without replacement"


class StratumSize(NamedTuple):
    """How many values there are to draw, and the sum of their sizes."""

    values: int
    size: float


@dataclass(slots=True)
class _StratumState:
    """A stratum as far as it was drawn. The means of its draws sum to T * reach - known, where T is
    its total."""

    remaining_values: int
    remaining_size: float
    """Sizes of what is left: the most that it can add to the total."""
    total: float = 0.0
    reach: float = 0.0
    offset: float = 0.0

    def draw(self, total: float, size: float) -> None:
        self.reach += 1 / self.remaining_values
        self.offset += self.total / self.remaining_values
        self.remaining_values -= 1
        self.remaining_size = max(0.0, self.remaining_size - size) if self.remaining_values else 0.0
        self.total += total


class FiniteSequence:
    """The mean over the values of all strata, by size. Values and sizes are as in
    `ConfidenceSequence`; each stratum's are drawn in a random order, and whose turn it is must not
    depend on them."""

    def __init__(
        self,
        strata: Mapping[str, StratumSize],
        mixture: Sequence[Bet],
        level: float = DEFAULT_LEVEL,
    ) -> None:
        self.level = level
        self._sums = ConfidenceSequence(mixture, level)
        self._strata = {name: _StratumState(one.values, one.size) for name, one in strata.items()}
        self._size = sum(one.size for one in strata.values())

    def add(self, stratum: str, total: float, size: float, prediction: float) -> None:
        """Add a value times its size; `prediction` is the value predicted before it was drawn.

        Raises:
            ValueError: a total outside 0..size, a size outside 0..1, nothing left in the stratum.
        """
        state = self._strata[stratum]
        if not state.remaining_values:
            raise ValueError(f"all values of the stratum {stratum!r} were drawn")
        if not 0 <= size <= 1 or not -1e-9 <= total <= size + 1e-9:
            raise ValueError(f"expected 0 <= total <= size <= 1, got {total} of {size}")
        # The size that was drawn is no more known beforehand than the value.
        self._sums.add(total, expected=prediction * state.remaining_size / state.remaining_values)
        state.draw(total, size)

    def interval(self) -> Interval:
        """Of the mean over everything, drawn or not; both ends in 0..1.

        With a common reach A, the totals' sum is that of T * reach, over A, and of T * (A - reach),
        over A; the second is small where the strata are drawn in proportion, and is bounded by the
        least and the most that each stratum's rest can add.
        """
        states = list(self._strata.values())
        drawn_total, remaining = (
            sum(one.total for one in states),
            sum(one.remaining_size for one in states),
        )
        low, high = drawn_total, drawn_total + remaining
        reach = (
            sum(one.remaining_size * one.reach for one in states) / remaining if remaining else 0.0
        )
        if reach:
            below, above = self._sums.sum_bounds()
            fixed = sum(one.offset + one.total * (reach - one.reach) for one in states)
            swings = [one.remaining_size * (reach - one.reach) for one in states]
            low = max(low, (below + fixed + sum(min(0.0, one) for one in swings)) / reach)
            high = min(high, (above + fixed + sum(max(0.0, one) for one in swings)) / reach)
        return Interval(low / self._size, high / self._size, FINITE_METHOD, self.level)
