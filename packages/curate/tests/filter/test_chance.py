"""What guessing flags: against counting every outcome, and against what a run reports."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest

from snellen.benchmarks.protocol.flows import planned_passes
from snellen.core.sample import Rotation, Sample
from snellen_curate.filter.rules import (
    Guess,
    Judgement,
    expected_flags,
    flag_probabilities,
    guess_of,
    judge,
    parse_rule,
)

FOUR = {"A": "red", "B": "blue", "C": "green", "D": "black"}


@pytest.mark.parametrize(
    ("sample", "circular", "guess"),
    [
        (Sample("1", "choice", "?", ("A",), FOUR), True, Guess(0.25, 4)),
        (Sample("1", "choice", "?", ("A",), FOUR), False, Guess(0.25, 1)),
        (Sample("1", "choice", "?", ("A",), {"A": "left", "B": "right"}), True, Guess(0.5, 2)),
        # Options that refer to others cannot be rotated.
        (Sample("1", "choice", "?", ("B",), {"A": "one", "B": "none of the above"}), True, Guess(0.5, 1)),
        (Sample("1", "yes_no", "?", ("Yes",)), True, Guess(0.5, 1)),
        (Sample("1", "open", "?", ("red",)), True, Guess(0.0, 1)),
    ],
)
def test_guess(sample: Sample, circular: bool, guess: Guess) -> None:
    assert guess_of(sample, circular) == guess


@pytest.mark.parametrize(
    "sample",
    [
        Sample("1", "choice", "?", ("A",), FOUR),
        Sample("1", "choice", "?", ("A",), {"A": "a", "B": "b", "C": "c"}),
        Sample("1", "choice", "?", ("A",), {"A": "both B and C", "B": "x", "C": "y"}),
        Sample(
            "1", "choice", "?", ("A",), FOUR, rotations=(Rotation("1000001", {**FOUR, "A": "blue", "B": "red"}, "B"),)
        ),
    ],
)
def test_passes_are_those_that_a_run_makes(sample: Sample) -> None:
    assert guess_of(sample, True).passes == len(planned_passes(sample))


def test_unknown_options_have_no_chance() -> None:
    assert np.isnan(guess_of(Sample("1", "choice", "?", ("A",)), True).once)


@pytest.mark.parametrize("name", ["text-majority", "text-more-than", "text-all", "vision-none", "vision-none:1"])
@pytest.mark.parametrize("right", [0.0, 1 / 256, 0.25, 0.5, 1.0])
def test_a_flag_is_as_likely_as_counting_says(name: str, right: float) -> None:
    rule = parse_rule(name)
    counted = 0.0
    for outcome in product((0, 1), repeat=4):
        flags = judge(rule, np.array([sum(outcome)]), np.array([0]), 4) == Judgement.FLAG
        counted += prod(right if one else 1 - right for one in outcome) * flags.item()
    assert flag_probabilities(rule, np.array([right]), 4).item() == pytest.approx(counted)


def test_the_numbers_of_the_docstring() -> None:
    """Two options: right one time in four under CircularEval, two of three one time in six."""
    guess = guess_of(Sample("1", "choice", "?", ("A",), {"A": "left", "B": "right"}), True)
    right = np.array([guess.once**guess.passes])
    assert right.item() == 0.25
    flags = flag_probabilities(parse_rule("text-majority"), right, 3)
    assert flags.item() == pytest.approx(10 / 64)


def test_expected_flags_are_those_of_a_sum_of_coins() -> None:
    expected = expected_flags(np.array([0.5] * 10), np.arange(10))
    # Binomial(10, 1/2): 2 to 8 holds 97.9 %, 3 to 8 less than 95 % with equal tails.
    assert expected.mean == pytest.approx(5)
    assert (expected.low, expected.high) == (2, 8)


def test_a_pair_is_flagged_together() -> None:
    apart = expected_flags(np.array([0.5, 0.5]), np.array([0, 1]))
    joined = expected_flags(np.array([0.5, 0.5]), np.array([0, 0]))
    assert apart.mean == joined.mean == pytest.approx(1)
    assert (joined.low, joined.high) == (0, 2)


def test_the_distribution_agrees_with_drawing() -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.choice([0.0, 0.01, 0.2, 0.9], size=300)
    expected = expected_flags(probabilities, np.arange(300))
    drawn = (rng.random((4000, 300)) < probabilities).sum(axis=1)
    assert expected.mean == pytest.approx(probabilities.sum())
    assert np.mean((drawn >= expected.low) & (drawn <= expected.high)) == pytest.approx(0.95, abs=0.03)
    assert np.mean((drawn > expected.low) & (drawn < expected.high)) < 0.95


def test_unknown_probabilities_are_left_out() -> None:
    assert expected_flags(np.array([np.nan, 1.0, 0.0]), np.arange(3)) == (1.0, 1, 1)
