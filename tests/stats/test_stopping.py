"""The end of a rule that may stop early, told beforehand, against simulations of the rule."""

from __future__ import annotations

import random
import statistics

import pytest

from snellen.stats.confidence_sequences import ConfidenceSequence, bets, bets_for_width, expected_draws
from snellen.stats.finite_sequences import FiniteSequence, StratumSize


def simulated(share: float, half_width: float, seed: int) -> int:
    """Draws after which the real sequence is that narrow, looked at after each."""
    lots = random.Random(seed)
    sequence = ConfidenceSequence(bets_for_width(half_width))
    for draws in range(1, 100_000):
        sequence.add(float(lots.random() < share))
        interval = sequence.interval()
        if draws >= 10 and (interval.high - interval.low) / 2 <= half_width:
            return draws
    raise AssertionError("the sequence did not come down")


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("half_width", [0.1, 0.05])
def test_the_end_is_where_half_of_all_runs_have_ended(share: float, half_width: float) -> None:
    told = expected_draws(half_width, share * (1 - share), bets_for_width(half_width))
    seen = statistics.median(simulated(share, half_width, seed) for seed in range(15))
    assert told == pytest.approx(seen, rel=0.1)


@pytest.mark.parametrize(("share", "half_width"), [(0.5, 0.1), (0.5, 0.05), (0.8, 0.05)])
def test_the_end_is_where_it_says_for_a_finite_set(share: float, half_width: float) -> None:
    whole = 800
    told = expected_draws(half_width, share * (1 - share), bets_for_width(half_width), population=whole)
    ends = []
    for seed in range(9):
        values = [float(at < share * whole) for at in range(whole)]
        random.Random(seed).shuffle(values)
        sequence = FiniteSequence({"": StratumSize(whole, whole)}, bets_for_width(half_width))
        for draws, value in enumerate(values, start=1):
            sequence.add("", value, 1.0, share)
            interval = sequence.interval()
            if draws >= 10 and interval.high - interval.low <= 2 * half_width:
                ends.append(draws)
                break
    assert told == pytest.approx(statistics.median(ends), rel=0.1)
    endless = expected_draws(half_width, share * (1 - share), bets_for_width(half_width))
    assert told is not None
    assert endless is not None
    assert told < endless


def test_less_spread_and_wider_intervals_take_fewer_draws() -> None:
    mixture = bets_for_width(0.03)
    assert expected_draws(0.03, 0.25, mixture) > expected_draws(0.03, 0.09, mixture)  # type: ignore[operator]
    assert expected_draws(0.03, 0.25, mixture) > expected_draws(0.05, 0.25, mixture)  # type: ignore[operator]
    assert expected_draws(0.03, 0.25, mixture, level=0.9) < expected_draws(0.03, 0.25, mixture)  # type: ignore[operator]


def test_some_widths_are_never_reached_by_bets_that_are_too_bold() -> None:
    assert expected_draws(0.01, 0.25, bets(0.5)) is None
    assert expected_draws(0.001, 0.25, bets_for_width(0.001), population=50) is None
    with pytest.raises(ValueError, match="half_width > 0"):
        expected_draws(0.0, 0.25, bets_for_width(0.05))
