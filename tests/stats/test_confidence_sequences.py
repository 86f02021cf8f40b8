"""A confidence sequence covers the mean at every moment, where an ordinary interval does not; and
stopping by it saves samples."""

from __future__ import annotations

import math
import random
from statistics import mean

import pytest

from snellen.stats.confidence_sequences import ConfidenceSequence, bets_for_samples, bets_for_width
from snellen.stats.intervals import wilson

RUNS, STEPS = 300, 400


def ever_wrong(p: float, seed: int) -> tuple[bool, bool]:
    """Whether the sequence, and whether Wilson's interval, missed p at some step."""
    lot, sequence, right = random.Random(f"{p} {seed}"), ConfidenceSequence(bets_for_width(0.05)), 0
    missed = naive = False
    for step in range(1, STEPS + 1):
        value = float(lot.random() < p)
        right += int(value)
        sequence.add(value)
        found = sequence.interval()
        missed |= not found.low <= p <= found.high
        if step >= 10:
            plain = wilson(right, step)
            naive |= not plain.low <= p <= plain.high
    return missed, naive


@pytest.mark.parametrize("p", [0.5, pytest.param(0.9, marks=pytest.mark.release)])
def test_the_error_rate_holds_though_one_looks_after_every_sample(p: float) -> None:
    missed, naive = zip(*(ever_wrong(p, seed) for seed in range(RUNS)), strict=True)
    # 5 % nominal; three standard errors of the simulation above it would be 8.8 %.
    assert mean(missed) <= 0.05
    assert mean(naive) > 0.15


@pytest.mark.release
def test_sequence_covers_differences_of_equal_models() -> None:
    wrong = 0
    for seed in range(RUNS):
        lot, sequence = random.Random(seed), ConfidenceSequence(bets_for_samples(STEPS))
        for _ in range(STEPS):
            difference = (lot.random() < 0.7) - (lot.random() < 0.7)
            sequence.add((difference + 1) / 2)
            found = sequence.interval()
            if not found.low <= 0.5 <= found.high:
                wrong += 1
                break
    assert wrong / RUNS <= 0.05


@pytest.mark.release
def test_sequence_covers_alternating_strata() -> None:
    """Strata in turn: what is covered is the mean of their means."""
    wrong = 0
    for seed in range(RUNS):
        lot, sequence = random.Random(seed), ConfidenceSequence(bets_for_width(0.05))
        for step in range(STEPS):
            sequence.add(float(lot.random() < (0.9 if step % 2 else 0.3)))
            found = sequence.interval(slack=0.3 / (step + 1))
            if not found.low <= 0.6 <= found.high:
                wrong += 1
                break
    assert wrong / RUNS <= 0.05


def samples_until(p: float, half_width: float, seed: int) -> int:
    lot, sequence = random.Random(seed), ConfidenceSequence(bets_for_width(half_width))
    for step in range(1, 10_000):
        sequence.add(float(lot.random() < p))
        found = sequence.interval()
        if (found.high - found.low) / 2 <= half_width:
            return step
    raise AssertionError("never narrow enough")


def test_samples_saved_against_a_plan_for_the_worst_case() -> None:
    """A fixed plan must be made for p = 0.5: 1068 samples for 3 points either way."""
    half_width = 0.03
    fixed = math.ceil(0.25 * (1.96 / half_width) ** 2)
    assert fixed == 1068
    strong = mean(samples_until(0.97, half_width, seed) for seed in range(10))
    good = mean(samples_until(0.95, half_width, seed) for seed in range(10))
    even = mean(samples_until(0.5, half_width, seed) for seed in range(3))
    assert strong < 0.5 * fixed
    assert good < 0.7 * fixed
    # The price of looking at every step where the plan was right.
    assert fixed < even < 2.5 * fixed


def test_samples_saved_in_telling_two_models_apart() -> None:
    """Against the samples a fixed test needs for a difference of 5 points (80 % power, a quarter
    of the samples discordant): 784. Two models 20 points apart are told apart much sooner."""
    fixed = 784
    needed, right = [], 0
    for seed in range(60):
        lot, sequence = random.Random(seed), ConfidenceSequence(bets_for_samples(3000))
        for step in range(1, 3001):
            difference = (lot.random() < 0.8) - (lot.random() < 0.6)
            sequence.add((difference + 1) / 2)
            found = sequence.interval()
            if not found.low <= 0.5 <= found.high:
                right += found.low > 0.5
                needed.append(step)
                break
    assert right == len(needed) == 60
    assert mean(needed) < 0.4 * fixed


def test_sizes_weigh_and_good_predictions_make_it_narrow() -> None:
    sequence = ConfidenceSequence(bets_for_width(0.05))
    sequence.add(0.5, 0.5)
    sequence.add(0.0, 1.0)
    assert sequence.mean == pytest.approx(1 / 3)
    known, blind = (ConfidenceSequence(bets_for_width(0.05)) for _ in range(2))
    for step in range(400):
        value = float(step % 2)
        known.add(value, expected=0.9 * value + 0.05)
        blind.add(value, expected=0.5)
    narrow, wide = known.interval(), blind.interval()
    assert narrow.high - narrow.low < 0.5 * (wide.high - wide.low)


def test_whether_a_value_is_left_out_is_what_the_interval_says() -> None:
    lot, sequence = random.Random(5), ConfidenceSequence(bets_for_samples(200))
    for _ in range(200):
        sequence.add(float(lot.random() < 0.7))
        found = sequence.interval()
        ends = (found.low - 1e-6, found.high + 1e-6)
        for value in (0.3, 0.5, 0.6, 0.9, *(end for end in ends if 0 < end < 1)):
            assert sequence.is_above(value) is (value < found.low)
            assert sequence.is_below(value) is (value > found.high)


@pytest.mark.parametrize(("total", "size"), [(1.1, 1.0), (-0.1, 1.0), (0.0, 0.0), (1.0, 2.0)])
def test_values_outside_their_range_are_refused(total: float, size: float) -> None:
    with pytest.raises(ValueError, match="expected 0 <= total"):
        ConfidenceSequence(bets_for_width(0.05)).add(total, size)
