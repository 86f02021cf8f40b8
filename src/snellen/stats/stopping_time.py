"""Forecast how many samples a rule that may stop early will take.

The confidence sequences (`stats.confidence_sequences`) mix bets of scales a with weights w_a. While
the predictions are right, the products grow by about exp(-a^2 v / 2) a draw, where v is the
variance of a draw. So after n draws the half-width of the mean has come down to h where

    sum over a of w_a * exp(a * h * r(n) - n * a^2 * v / 2) = 2 / (1 - level)

with r(n) = n for an unlimited supply, and r(n) = -N * log(1 - n / N) for draws without replacement
from N values (`stats.finite_sequences`). The smallest such n is the forecast; about half of all
runs take more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from snellen.stats.confidence_sequences import Bet
from snellen.stats.intervals import DEFAULT_LEVEL

_MAX_DRAWS = 2**60


def expected_draws(
    half_width: float,
    variance: float,
    mixture: Sequence[Bet],
    population: float = math.inf,
    level: float = DEFAULT_LEVEL,
) -> int | None:
    """Draws after which the interval of a mean of values in 0..1 is expected to extend at most
    `half_width` to either side, out of `population` values; None if it takes all of them. Raises
    ValueError for a half-width that is not above 0, a variance outside 0..0.25.
    """
    if half_width <= 0 or not 0 <= variance <= 0.25:
        raise ValueError(f"expected half_width > 0 and variance in 0..0.25, got {half_width}, {variance}")
    goal = math.log(2 / (1 - level))

    def is_reached(draws: int) -> bool:
        reach = draws if math.isinf(population) else -population * math.log1p(-draws / population)
        logs = [
            bet.log_weight + bet.scale * half_width * reach - draws * bet.scale**2 * variance / 2 for bet in mixture
        ]
        largest = max(logs)
        return largest + math.log(sum(math.exp(log - largest) for log in logs)) >= goal

    last = _MAX_DRAWS if math.isinf(population) else math.ceil(population) - 1
    upper = 1
    while upper < last and not is_reached(upper):
        upper *= 2
    upper = min(upper, last)
    if upper < 1 or not is_reached(upper):
        return None
    lower = upper // 2
    while upper - lower > 1:
        middle = (lower + upper) // 2
        lower, upper = (lower, middle) if is_reached(middle) else (middle, upper)
    return upper
