"""The Ladder: what a board shows of scores on hidden answers.

Blum and Hardt, "The Ladder: A Reliable Leaderboard for Machine Learning Competitions", ICML 2015,
section 3: a new submission is shown with a score of its own only if it is better than the best one
before by more than a step; else the best one's score is shown again. What is shown is rounded to
the step. So the number of different values that anybody sees is at most 1/step, however often they
submit, and differences of submissions tell nothing about single answers.

The step is that of the parameter-free mechanism (section 3.3): the standard error of the difference
to the best submission before, sample by sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class LadderScore(NamedTuple):
    """What is shown of a submission."""

    shown: float
    """The score that is shown, on the scale of the scores."""
    improved: bool
    """Whether it is the submission's own, rounded; else that of the best one before."""
    step: float


def ladder_score(
    scores: Sequence[float], best: Sequence[float] | None, best_shown: float | None
) -> LadderScore:
    """What is shown of a submission with these sample scores, each 0 to 1.

    `best` are the sample scores of the best submission so far of the same account, in the same
    order, and `best_shown` is what was shown of it; None before the first. Raises ValueError if
    there are no scores, or the lengths differ.
    """
    own = np.asarray(scores, dtype=float)
    if not own.size:
        raise ValueError("no scores")
    mean = float(own.mean())
    if best is None or best_shown is None:
        step = _standard_error(own)
        return LadderScore(_round_to(mean, step), True, step)
    before = np.asarray(best, dtype=float)
    if before.shape != own.shape:
        raise ValueError(f"{own.size} scores are compared with {before.size}")
    step = max(_standard_error(own - before), 1.0 / own.size)
    if mean > best_shown + step:
        return LadderScore(_round_to(mean, step), True, step)
    return LadderScore(best_shown, False, step)


def _standard_error(values: np.ndarray) -> float:  # type: ignore[type-arg]
    if values.size < 2:
        return 1.0
    return max(float(values.std(ddof=1)) / float(np.sqrt(values.size)), 1.0 / values.size)


def _round_to(value: float, step: float) -> float:
    return min(1.0, max(0.0, round(value / step) * step))
