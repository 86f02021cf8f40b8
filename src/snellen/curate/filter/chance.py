"""How many items a rule would flag if models guessed.

With few options and few models, a rule flags items by luck alone: a guess among two options is
right under CircularEval one time in four, and of three such guesses two are right one time in six.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from numpy import float64, intp
from numpy.typing import NDArray

from snellen.core.sample import Sample
from snellen.curate.filter.rules import Rule
from snellen.prompts.rotation import is_rotatable

_LEVEL = 0.95


class ExpectedFlags(NamedTuple):
    """The number of items flagged if every model guessed, each for itself."""

    mean: float
    low: int
    high: int
    """`low` to `high` holds at least 95 of 100 such numbers."""


class Guess(NamedTuple):
    """What a guess scores on an item: in one pass, and in how many passes it must be right."""

    once: float
    """From 0 to 1; 0 for open questions, which nobody guesses; NaN if the options are unknown."""
    passes: int


def guess_of(sample: Sample, circular: bool) -> Guess:
    """What guessing scores on a question, asked in all rotations if `circular`."""
    if sample.kind == "yes_no":
        return Guess(0.5, 1)
    if sample.kind != "choice":
        return Guess(0.0, 1)
    if not sample.options:
        return Guess(float("nan"), 1)
    accepted = max(1, len(set(sample.options) & set(sample.gold)))
    passes = 1
    if circular:
        # As many as `protocol.flows.planned_passes` makes.
        passes = len(sample.options) if is_rotatable(sample.options) else 1
        passes = 1 + len(sample.rotations) if sample.rotations else passes
    return Guess(accepted / len(sample.options), passes)


def flag_probabilities(rule: Rule, right: NDArray[float64], models: int) -> NDArray[float64]:
    """The probability that the rule flags each item if every one of `models` models is right with
    probability `right` (items,), independently. NaN stays NaN."""
    threshold = rule.threshold(models)
    counts = range(threshold, models + 1) if rule.flags_right_answers else range(threshold + 1)
    values, inverse = np.unique(right, return_inverse=True)
    flagged = [
        sum(comb(models, k) * p**k * (1 - p) ** (models - k) for k in counts)
        for p in values.tolist()
    ]
    return np.array(flagged, dtype=np.float64)[inverse]


def expected_flags(probabilities: NDArray[float64], units: NDArray[intp]) -> ExpectedFlags:
    """The number of flagged items if each is flagged with its probability.

    `units` (items,) numbers the units: the items of a unit (a pair) are flagged together, others
    independently. Items with an unknown probability are left out.
    """
    known = ~np.isnan(probabilities)
    _, first, sizes = np.unique(units[known], return_index=True, return_counts=True)
    of_unit = probabilities[known][first]
    mean = float((of_unit * sizes).sum())
    # Rounding of the transform: a sum of 0.97499999 is 0.975.
    below = np.cumsum(_distribution(of_unit, sizes)) + 1e-9
    tail = (1 - _LEVEL) / 2
    low, high = np.searchsorted(below, (tail, 1 - tail)).tolist()
    return ExpectedFlags(mean, low, min(high, len(below) - 1))


def _distribution(probabilities: NDArray[float64], sizes: NDArray[intp]) -> NDArray[float64]:
    """The probabilities of 0, 1, ... flagged items: Poisson binomial, through its characteristic
    function (Hong 2013), units of one probability and size taken together."""
    total = int(sizes.sum())
    angles = 2 * np.pi * np.arange(total + 1) / (total + 1)
    pairs, counts = np.unique(np.stack([probabilities, sizes]), axis=1, return_counts=True)
    values = np.ones(total + 1, dtype=np.complex128)
    for (p, size), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
        values *= (1 - p + p * np.exp(1j * angles * size)) ** count
    return np.clip(np.fft.fft(values).real / (total + 1), 0, 1)
