"""What guessing scores: uniformly, under CircularEval, and always the most frequent place.

As `snellen.scoring.accuracy.guess_metrics` computes it from records, on arrays. MMT-Bench (Table 2)
takes the most frequent choice of each subtask on the questions that it is scored on, which
overestimates guessing on few questions; the cross-fitted one takes it from the other half.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import bool_, int64, uint64
from numpy.typing import NDArray

from snellen.curate.statistics.results import Baselines
from snellen.stats.resampling import seeded_generator

SPLITS = 20
"""Random halves over which the most frequent place is averaged."""


class AnswerArrays(NamedTuple):
    """Items with an answer, as arrays of shape (items,)."""

    yes_no: NDArray[bool_]
    options: NDArray[int64]
    """Number of options; 2 for yes/no questions, 0 for open ones."""
    accepted: NDArray[int64]
    """Number of accepted options; 0 for open questions."""
    right: NDArray[int64]
    """Index of the right option; -1 if there is not exactly one."""
    clusters: NDArray[uint64]

    def take(self, which: NDArray[bool_] | NDArray[int64]) -> AnswerArrays:
        return AnswerArrays(
            self.yes_no[which],
            self.options[which],
            self.accepted[which],
            self.right[which],
            self.clusters[which],
        )


def guess_baselines(answers: AnswerArrays) -> Baselines:
    """The scores of guessing on these items."""
    n = len(answers.options)
    if not n:
        return Baselines(0, 0.0, 0.0, 0.0, 0.0, 0.0)
    closed = answers.take(answers.options > 0)
    share = np.maximum(1, closed.accepted) / closed.options
    passes = np.where(closed.yes_no, 1, closed.options)
    fitted = in_sample = 0.0
    for yes_no in (False, True):
        part = closed.take(closed.yes_no == yes_no)
        named = part.take(part.right >= 0)
        if not len(named.right):
            continue
        fitted += _cross_fitted(named.right, named.clusters, "yes_no" if yes_no else "choice")
        in_sample += float(np.bincount(named.right).max())
    return Baselines(
        n=n,
        chance=float(share.sum()) / n,
        circular=float((share**passes).sum()) / n,
        circular_same_text=float(share.sum()) / n,
        frequent=fitted / n,
        frequent_in_sample=in_sample / n,
    )


def _cross_fitted(right: NDArray[int64], clusters: NDArray[uint64], kind: str) -> float:
    """Mean number of items right by the place that is most frequent in the other half, over random
    halves used both ways; places that are equally frequent share the answer. Items of one cluster
    stay in the same half: if each image has as many questions with yes as with no, so has each
    half."""
    places = int(right.max()) + 1
    _, index = np.unique(clusters, return_inverse=True)
    groups = int(index.max()) + 1
    totals = np.bincount(right, minlength=places)
    random = seeded_generator(f"frequent place:{kind}")
    sum_right = 0.0
    for _ in range(SPLITS):
        first_half = np.zeros(groups, dtype=np.bool_)
        first_half[random.permutation(groups)[: groups // 2]] = True
        first = np.bincount(right[first_half[index]], minlength=places)
        for counts in (first, totals - first):
            best = counts == counts.max()
            sum_right += float((totals - counts)[best].mean())
    return sum_right / SPLITS
