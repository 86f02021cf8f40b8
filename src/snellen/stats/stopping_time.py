"""How many samples a rule that may stop early will take, told beforehand.

The confidence sequences (`stats.confidence_sequences`) mix bets of scales a with weights w_a. While
the predictions are right, the products grow by about exp(-a^2 v / 2) a draw, where v is the
variance of a draw. So after n draws the half-width of the mean has come down to h where

    sum over a of w_a * exp(a * h * r(n) - n * a^2 * v / 2) = 2 / (1 - level)

with r(n) = n for an endless supply, and r(n) = -N * log(1 - n / N) where all N are drawn from
without replacement (`stats.finite_sequences`). The least such n is what to expect; about half of
all runs take more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from snellen.stats.confidence_sequences import Bet
from snellen.stats.intervals import DEFAULT_LEVEL

_MOST = 2**60


def draws_until(
    half_width: float,
    variance: float,
    mixture: Sequence[Bet],
    whole: float = math.inf,
    level: float = DEFAULT_LEVEL,
) -> int | None:
    """The draws after which the interval of a mean of values in 0..1 is expected to reach no
    further than `half_width` on either side, where there are `whole` values; None where it takes
    all of them.

    Raises:
        ValueError: a half-width that is not above 0, a variance outside 0..0.25.
    """
    if half_width <= 0 or not 0 <= variance <= 0.25:
        raise ValueError(
            f"expected half_width > 0 and variance in 0..0.25, got {half_width}, {variance}"
        )
    goal = math.log(2 / (1 - level))

    def reached(draws: int) -> bool:
        far = draws if math.isinf(whole) else -whole * math.log1p(-draws / whole)
        logs = [
            bet.log_weight + bet.scale * half_width * far - draws * bet.scale**2 * variance / 2
            for bet in mixture
        ]
        largest = max(logs)
        return largest + math.log(sum(math.exp(one - largest) for one in logs)) >= goal

    last = _MOST if math.isinf(whole) else math.ceil(whole) - 1
    most = 1
    while most < last and not reached(most):
        most *= 2
    most = min(most, last)
    if most < 1 or not reached(most):
        return None
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if reached(middle) else (middle, most)
    return most
