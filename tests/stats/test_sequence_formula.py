"""The confidence sequence of one bet in closed form: the sum of surprises at which exp(a * x) and
the product of 1 + a * surprise together pass 2 / (1 - level)."""

from __future__ import annotations

import math

import pytest

from snellen.stats.confidence_sequences import Bet, ConfidenceSequence


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("scale", [0.1, 0.5])
@pytest.mark.parametrize("pair", [(0.5, 0.5), (1.0, 0.0), (0.75, 0.25)])
def test_formula_of_a_single_bet(pair: tuple[float, float], scale: float, level: float) -> None:
    pairs = 500
    sequence = ConfidenceSequence([Bet(scale, 0.0)], level)
    for value in pair * pairs:
        sequence.add(value, expected=0.5)
    logs = pairs * sum(math.log1p(scale * (value - 0.5)) for value in pair)
    reach = (math.log(2 / (1 - level)) - logs) / scale
    found = sequence.interval()
    assert (sequence.size, sequence.mean) == (1000.0, 0.5)
    assert found.low == pytest.approx(0.5 - reach / 1000, abs=1e-12)
    assert found.high == pytest.approx(0.5 + reach / 1000, abs=1e-12)


def test_before_the_first_value_nothing_is_known() -> None:
    found = ConfidenceSequence([Bet(0.5, 0.0)]).interval()
    assert (found.low, found.high, found.level) == (0.0, 1.0, 0.95)
