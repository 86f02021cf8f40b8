"""What a board shows of scores on hidden answers, so that many submissions do not tell the answers.

After the Ladder of Blum and Hardt, "The Ladder: A Reliable Leaderboard for Machine Learning
Competitions" (ICML 2015), section 3: a score moves only if it differs from what was shown before by
more than a step, which is a multiple of the standard error of the difference, sample by sample
(section 3.3), and what is shown is rounded to the step.

The paper shows the best score of an account again unless a new one is better. A board of models
must also show a second model that is worse, so here a score that is close to an earlier one of the
account is shown as that one, above or below. In turn the step grows with the number of submissions:
the k-th moves by chance with a probability of at most 0.03 / k^2, all of them together with 5 %,
however many there are. So the attack of the paper's section 4 (votes of random submissions that
happened to be better) has nothing to collect, while the first submissions of an honest account are
told apart at about their 97 % interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CHANCE = 0.05
"""Probability that any submission of an account, of infinitely many, moves by chance alone."""


class EarlierScore(NamedTuple):
    """An earlier submission of the account whose own score is shown."""

    samples: Sequence[float]
    """What each sample adds to the score, whose mean it is, in the order of the data."""
    displayed: float


class LadderScore(NamedTuple):
    """What a board shows of a submission."""

    value: float
    """Between 0 and 1."""
    same_as: int | None
    """The position of the earlier submission from which it cannot be told apart; None if the value
    is the submission's own."""


def ladder_score(
    samples: Sequence[float], earlier: Sequence[EarlierScore], submissions: int
) -> LadderScore:
    """What is shown of a submission whose samples add this much to its score, after `earlier` ones
    of the same account. `submissions` counts those of the account before, with a score of their own
    or not, withdrawn or not. Raises ValueError if there are no scores, or their number differs."""
    own = np.asarray(samples, dtype=float)
    if not own.size:
        raise ValueError("there are no sample scores")
    mean, width = float(own.mean()), critical_value(submissions)
    distances: list[tuple[float, int]] = []
    for position, other in enumerate(earlier):
        before = np.asarray(other.samples, dtype=float)
        if before.shape != own.shape:
            raise ValueError(f"{own.size} sample scores are compared with {before.size}")
        distance = abs(mean - float(before.mean()))
        if distance <= width * standard_error(own - before):
            distances.append((distance, position))
    if distances:
        position = min(distances)[1]
        return LadderScore(earlier[position].displayed, position)
    step = standard_error(own)
    return LadderScore(min(1.0, max(0.0, round(mean / step) * step)), None)


def critical_value(submissions: int) -> float:
    """Standard errors by which a score must differ to move, after so many submissions."""
    chance = CHANCE * 6 / (math.pi * (submissions + 1)) ** 2
    return NormalDist().inv_cdf(1 - chance / 2)


def standard_error(values: NDArray[np.float64]) -> float:
    """The standard error of a mean, at least that of a single sample that differs."""
    least = 1.0 / values.size
    if values.size < 2:
        return least
    return max(float(values.std(ddof=1) / np.sqrt(values.size)), least)
