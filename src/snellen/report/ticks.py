"""Round numbers for the axes of charts and plots."""

from __future__ import annotations

import math

_MIN_STEPS = 4
"""The least number of steps of an axis."""


def round_ticks(low: float, high: float, end: float | None = None) -> list[float]:
    """Round numbers from at most `low` to at least `high`.

    `end` is the highest value that can occur: if `high` does not exceed it, it is the last tick,
    round or not.
    """
    smallest = ((high - low) or 1.0) / _MIN_STEPS
    power = 10.0 ** math.floor(math.log10(smallest))
    step = next(digit * power for digit in (1, 2, 2.5, 5, 10) if digit * power >= smallest - 1e-9)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [step * index for index in range(first, max(last, first + 1) + 1)]
    if end is None or high > end:
        return ticks
    return [*(tick for tick in ticks if tick <= end - step / 2), end]
