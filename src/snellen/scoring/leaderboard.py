"""Leaderboards: models ranked by a score, and scores recovered from printed percentages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from snellen.core.summary import Interval

_DIGITS = 9
"""Decimals to which scores are compared, so that equal sums of percentages are equal."""


class LeaderboardRow(NamedTuple):
    """A model's rank and score. `n`, `interval`, `ranks`, `letters` and `p_best` are None if only
    the score is known."""

    rank: int
    """1 + the number of models with a higher score: equal scores share a rank."""
    model: str
    score: float
    n: int | None = None
    """Samples behind the score."""
    interval: Interval | None = None
    """Of the score."""
    ranks: tuple[int, int] | None = None
    """Lowest and highest rank: the interval of the rank."""
    letters: str | None = None
    """Models that share a letter do not differ significantly."""
    p_best: float | None = None
    """Of the paired test against the best model, adjusted by Holm; None for the best itself."""


class Leaderboard(NamedTuple):
    """The best models by one number."""

    name: str
    places: tuple[LeaderboardRow, ...]
    models: int
    """How many models have the number at all."""
    tied_out: int
    """Models left out although their score equals that of the last row."""
    column: str = ""
    """The grouping, if it ranks one of its groups."""
    label: str = ""
    """The group."""
    digits: int = 1
    """Decimals of the scores in tables."""


def rank_models(name: str, scores: Mapping[str, float], limit: int = 10) -> Leaderboard:
    """The `limit` highest scores as rows; models of equal score by name."""
    rounded = {model: round(score, _DIGITS) for model, score in scores.items()}
    ordered = sorted(rounded, key=lambda model: (-rounded[model], model))
    ranks: dict[float, int] = {}
    for place, model in enumerate(ordered, 1):
        ranks.setdefault(rounded[model], place)
    rows = [LeaderboardRow(ranks[rounded[model]], model, scores[model]) for model in ordered[:limit]]
    last = rounded[ordered[len(rows) - 1]] if rows else math.nan
    tied_out = sum(rounded[model] == last for model in ordered[limit:])
    return Leaderboard(name, tuple(rows), len(rounded), tied_out)


class RecoveredCounts(NamedTuple):
    """Counts behind a printed accuracy and accuracy+ (MME)."""

    right: int
    both: int
    images: int

    @property
    def score(self) -> float:
        """Accuracy + accuracy+ of two questions an image, unrounded: 0..200."""
        return 100 * self.right / (2 * self.images) + 100 * self.both / self.images


def recover_counts(accuracy: str, accuracy_plus: str, images: int) -> RecoveredCounts | None:
    """Find the counts that print as these percentages. The largest number of images up to `images`
    that fits is taken, since a model may have been scored on fewer. None if no counts fit, or if
    the numbers are printed with fewer than two decimals, when many counts would fit.

    Raises:
        ValueError: a text is not a number.
    """
    decimals = min(_decimals(accuracy), _decimals(accuracy_plus))
    first, second = float(accuracy), float(accuracy_plus)
    if decimals < 2:
        return None
    tolerance = 0.5 * 10.0**-decimals + 1e-9
    for scored in range(images, 0, -1):
        right, both = round(first * 2 * scored / 100), round(second * scored / 100)
        if abs(100 * right / (2 * scored) - first) <= tolerance and abs(100 * both / scored - second) <= tolerance:
            return RecoveredCounts(right, both, scored)
    return None


def _decimals(number: str) -> int:
    return len(number.strip().partition(".")[2])
