"""Confidence sequences of the mean of a finite set drawn without replacement: all samples of a
benchmark.

I. Waudby-Smith and A. Ramdas, "Confidence sequences for sampling without replacement", NeurIPS 33
(2020), Sec. 3: if N values sum to T, and the k - 1 drawn ones to S, the next one has the mean
(T - S) / (N - k + 1). Bounds of the sum of these means (`ConfidenceSequence`) are thereby bounds of
T, which get narrower as the set runs out. Besides, T lies between the sum of the drawn values and
that sum plus the sizes of the remaining ones. Here the set has strata, each with its own total,
which take turns in a fixed order.
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
    """Number of values in a stratum, and the sum of their sizes."""

    values: int
    size: float


@dataclass(slots=True)
class _StratumState:
    """The draws of a stratum so far.

    The conditional means of its draws sum to T * reach - offset, where T is the stratum's total:
    each draw adds 1 / (remaining values) to `reach`, and the drawn sum times that to `offset`.
    """

    remaining_values: int
    remaining_size: float
    """Sum of the sizes of values not drawn yet: the maximum that they can add to the total."""
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
    """A confidence sequence of the mean over the values of all strata, weighted by size.

    Values and sizes are as in `ConfidenceSequence`. The values of a stratum are drawn in random
    order; which stratum is next must not depend on the values.
    """

    def __init__(self, strata: Mapping[str, StratumSize], mixture: Sequence[Bet], level: float = DEFAULT_LEVEL) -> None:
        self.level = level
        self._sums = ConfidenceSequence(mixture, level)
        self._strata = {name: _StratumState(stratum.values, stratum.size) for name, stratum in strata.items()}
        self._size = sum(stratum.size for stratum in strata.values())

    def add(self, stratum: str, total: float, size: float, prediction: float) -> None:
        """Add a value times its size; `prediction` is the value predicted before it was drawn.
        Raises ValueError for a total outside 0..size, a size outside 0..1, nothing left in the
        stratum.
        """
        state = self._strata[stratum]
        if not state.remaining_values:
            raise ValueError(f"all values of the stratum {stratum!r} were drawn")
        if not 0 <= size <= 1 or not -1e-9 <= total <= size + 1e-9:
            raise ValueError(f"expected 0 <= total <= size <= 1, got {total} of {size}")
        # The size of a draw is no more known beforehand than its value: predict by the mean size.
        self._sums.add(total, expected=prediction * state.remaining_size / state.remaining_values)
        state.draw(total, size)

    def interval(self) -> Interval:
        """Interval of the mean over all values, drawn or not; both ends in 0..1.

        `ConfidenceSequence` bounds the sum of T * reach - offset over the strata; needed are bounds
        of the sum of T. With a common reach A, the sum of T is (sum of T * reach + sum of
        T * (A - reach)) / A. The second sum is small if the strata are drawn in proportion. It is
        bounded because each T is the drawn total plus values between 0 and their sizes.
        """
        states = list(self._strata.values())
        drawn_total = sum(state.total for state in states)
        remaining = sum(state.remaining_size for state in states)
        low, high = drawn_total, drawn_total + remaining
        reach = 0.0
        if remaining:
            reach = sum(state.remaining_size * state.reach for state in states) / remaining
        if reach:
            below, above = self._sums.sum_bounds()
            fixed = sum(state.offset + state.total * (reach - state.reach) for state in states)
            swings = [state.remaining_size * (reach - state.reach) for state in states]
            low = max(low, (below + fixed + sum(min(0.0, swing) for swing in swings)) / reach)
            high = min(high, (above + fixed + sum(max(0.0, swing) for swing in swings)) / reach)
        return Interval(low / self._size, high / self._size, FINITE_METHOD, self.level)
