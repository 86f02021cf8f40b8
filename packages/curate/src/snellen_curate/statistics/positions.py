"""Whether the right answer stands at each place equally often, and what guessing scores: uniformly,
under CircularEval, and always the most frequent place.

Guessing is computed as `snellen.scoring.accuracy.guess_metrics` does from records, on arrays.
MMT-Bench (Table 2) takes the most frequent choice of each subtask on the questions that it is
scored on, which overestimates guessing on few questions; the cross-fitted one takes it from the
other half.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from numpy import int64, uint64
from numpy.typing import NDArray

from snellen.stats.chi_square import pearson
from snellen.stats.exact_counts import exact_pearson
from snellen.stats.resampling import seeded_generator
from snellen_curate.statistics.item_columns import KINDS, ItemRows


class PositionBalance(Struct, frozen=True):
    """Where the right options stand, and a test of whether all places are equally likely."""

    counts: Mapping[int, tuple[int, ...]]
    """By number of options: how many right options stand first, second, ..."""
    statistic: float
    """Pearson's chi-square, summed over the numbers of options."""
    freedom: int
    p: float
    """Exact where few tables are possible; counted among drawn ones where little is expected at a
    place; else from the chi-square distribution. 1 if there is nothing to test."""
    p_adjusted: float
    """`p` corrected for all tests that are made together (Holm)."""

    @property
    def n(self) -> int:
        return sum(map(sum, self.counts.values()))

    @property
    def by_place(self) -> tuple[int, ...]:
        """How many right options stand at each place, whatever the number of options."""
        places = max(self.counts, default=0)
        return tuple(sum(row[place] for row in self.counts.values() if place < len(row)) for place in range(places))

    @property
    def chance_by_place(self) -> tuple[float, ...]:
        """The same if every place of a question were equally likely."""
        places = max(self.counts, default=0)
        return tuple(
            sum(sum(row) / len(row) for row in self.counts.values() if place < len(row)) for place in range(places)
        )

    def is_alarm(self, level: float = 0.05) -> bool:
        """Whether some places are right too often."""
        return self.p_adjusted <= level


def balance_of_counts(counts: Mapping[int, Iterable[int]]) -> PositionBalance:
    """Test the balance of right options, by number of options: how many stand first, second, ..."""
    rows = {options: tuple(row) for options, row in sorted(counts.items())}
    strata = [(row, [1 / options] * options) for options, row in rows.items()]
    result = exact_pearson(*strata[0]) if len(strata) == 1 else pearson(strata)
    if result is None:
        return PositionBalance(rows, 0.0, 0, 1.0, 1.0)
    return PositionBalance(rows, result.statistic, result.freedom, result.p, result.p)


class Baselines(Struct, frozen=True):
    """What guessing scores, 0..1, over the items with an answer; open questions score 0."""

    n: int
    chance: float
    """Uniform guessing."""
    circular: float
    """The same where every rotation must be right (CircularEval), guessing anew in each."""
    circular_same_text: float
    """CircularEval if the guess is one text, kept through all rotations."""
    frequent: float
    """Always the most frequent place, chosen on one half of the items and scored on the other."""
    frequent_in_sample: float
    """The same, chosen on the items it is scored on, as in MMT-Bench."""


SPLITS = 20
"""Random halves over which the most frequent place is averaged."""


def guess_baselines(rows: ItemRows) -> Baselines:
    """The scores of guessing on those of these items that have an answer."""
    answered = rows[rows["answer_words"] >= 0]
    n = len(answered)
    if not n:
        return Baselines(0, 0.0, 0.0, 0.0, 0.0, 0.0)
    closed = answered[answered["guessed"] > 0]
    is_yes_no = closed["kind"] == KINDS.index("yes_no")
    share = np.maximum(1, closed["accepted"]) / closed["guessed"]
    passes = np.where(is_yes_no, 1, closed["guessed"])
    fitted = in_sample = 0.0
    for kind in ("choice", "yes_no"):
        named = closed[(closed["kind"] == KINDS.index(kind)) & (closed["right"] >= 0)]
        if len(named):
            fitted += _cross_fitted(named["right"], named["cluster"], kind)
            in_sample += float(np.bincount(named["right"]).max())
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


def place_letter(place: int) -> str:
    """A place among the options, from 0, as a reader knows it."""
    return chr(ord("A") + place) if place < 26 else str(place + 1)
