"""Checkpoints of one training run, compared as they arrive: how often anything false is stated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from simulations.paired import Sizes, even, holds, two_systems, uneven
from simulations.study import Case, Share, Study
from snellen.stats.alpha_spending import pair_error
from snellen.stats.paired import PairedMean, paired_means

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

PROCEDURE = (
    "Each checkpoint against every earlier one, as `compare` tests a pair; the n-th one's share of "
    "0.05 is 10 / ((n + 9)(n + 10)), half of it for the previous checkpoint, the rest divided "
    "among the others."
)
SOURCE = "K. K. G. Lan and D. L. DeMets, Biometrika 70 (1983); Boole's inequality"


_AT_ONCE = 25
"""Trainings that share the sizes of their pictures, and are tested in one call."""


def trainings(random: np.random.Generator, chances: Floats, labels: Numbers, icc: float, repeats: int) -> Floats:
    """Scores (samples, repeats, checkpoints) of models that are right with these chances."""
    every = [two_systems(random, list(chances), labels, icc) for _ in range(repeats)]
    return np.stack([np.stack(one, axis=1) for one in every], axis=1).astype(float)


def pairs(count: int) -> Iterator[tuple[int, int, float]]:
    """Earlier and later checkpoint, and how often their interval may miss."""
    for later in range(1, count):
        for earlier in range(later):
            yield earlier, later, pair_error(later, is_previous=earlier == later - 1)


def tested(scores: Floats, labels: Numbers, chosen: Sequence[tuple[int, int]], level: float) -> list[list[PairedMean]]:
    """The differences of pairs of checkpoints, for each repeat."""
    earlier, later = (list(side) for side in zip(*chosen, strict=True))
    differences = scores[:, :, later] - scores[:, :, earlier]
    flat = paired_means(differences.reshape(len(scores), -1), labels, level)
    return [flat[at : at + len(chosen)] for at in range(0, len(flat), len(chosen))]


def false_statement(sizes_of: Sizes, chances: Floats, icc: float = 0.3) -> Share:
    """The share of trainings in which a difference is stated that is 0 or has the other sign."""

    def count(scores: Floats, labels: Numbers) -> int:
        every = list(pairs(len(chances)))
        found = tested(scores, labels, [pair[:2] for pair in every], 0.95)
        return sum(
            any(
                mean.p is not None and mean.p < error and mean.mean * (chances[later] - chances[earlier]) <= 0
                for mean, (earlier, later, error) in zip(means, every, strict=True)
            )
            for means in found
        )

    return over_trainings(sizes_of, chances, icc, count)


def uncorrected(sizes_of: Sizes, chances: Floats, icc: float = 0.3) -> Share:
    """The same, of comparisons with the best so far alone, each at 0.05."""

    def count(scores: Floats, labels: Numbers) -> int:
        means = scores.mean(axis=0)
        every = [pair[:2] for pair in pairs(len(chances))]
        found = tested(scores, labels, every, 0.95)
        return sum(
            any(
                earlier == int(means[repeat, :later].argmax()) and mean.p is not None and mean.p < 0.05
                for mean, (earlier, later) in zip(row, every, strict=True)
            )
            for repeat, row in enumerate(found)
        )

    return over_trainings(sizes_of, chances, icc, count)


def all_held(sizes_of: Sizes, chances: Floats, icc: float = 0.3) -> Share:
    """The share of trainings in which every interval holds its true difference."""

    def count(scores: Floats, labels: Numbers) -> int:
        held = np.ones(scores.shape[1], dtype=bool)
        levels: dict[float, list[tuple[int, int]]] = {}
        for earlier, later, error in pairs(len(chances)):
            levels.setdefault(error, []).append((earlier, later))
        for error, chosen in levels.items():
            for repeat, means in enumerate(tested(scores, labels, chosen, 1 - error)):
                held[repeat] &= all(
                    holds([mean], float(chances[later] - chances[earlier]))
                    for mean, (earlier, later) in zip(means, chosen, strict=True)
                )
        return int(held.sum())

    return over_trainings(sizes_of, chances, icc, count)


def over_trainings(sizes_of: Sizes, chances: Floats, icc: float, count: Callable[[Floats, Numbers], int]) -> Share:
    def share(random: np.random.Generator, repeats: int) -> float:
        total = 0
        for start in range(0, repeats, _AT_ONCE):
            sizes = sizes_of(random)
            labels = np.repeat(np.arange(len(sizes)), sizes)
            many = min(_AT_ONCE, repeats - start)
            total += count(trainings(random, chances, labels, icc, many), labels)
        return total / repeats

    return share


def level_run(count: int, chance: float = 0.6) -> Floats:
    return np.full(count, chance)


def rising_run(count: int) -> Floats:
    """Gains that get smaller, and from the middle on none."""
    return np.minimum(0.3 + 0.4 * (np.arange(count) / (count / 2)) ** 0.5, 0.7)


def collapsing_run(count: int) -> Floats:
    """Rises, then falls back at the end."""
    return np.concatenate([rising_run(count - 2), [0.45, 0.45]])


_ALONE_100, _ALONE_400 = even(100, 1), even(400, 1)
_PICTURES = uneven(60, 4)

STUDIES = (
    Study(
        "checkpoints-statements",
        "Checkpoints while a model is trained",
        "any checkpoint of a training run is stated to be better or worse than an earlier one that "
        "it equals, or the wrong way round (nominal 0.05)",
        PROCEDURE,
        SOURCE,
        (
            Case("10 equal checkpoints, 100 samples alone", false_statement(_ALONE_100, level_run(10)), 0.0, 0.06),
            Case("30 equal checkpoints, 100 samples alone", false_statement(_ALONE_100, level_run(30)), 0.0, 0.06),
            Case(
                "20 equal checkpoints near the ceiling, 400 samples alone",
                false_statement(_ALONE_400, level_run(20, 0.97)),
                0.0,
                0.06,
            ),
            Case(
                "20 equal checkpoints, 60 pictures of 1 to about 16 questions",
                false_statement(_PICTURES, level_run(20)),
                0.0,
                0.06,
            ),
            Case(
                "20 equal checkpoints, 8 pictures of 10 questions",
                false_statement(even(8, 10), level_run(20)),
                0.0,
                0.06,
            ),
            Case(
                "20 checkpoints that rise, then stay, 400 samples alone",
                false_statement(_ALONE_400, rising_run(20)),
                0.0,
                0.06,
            ),
            Case(
                "20 checkpoints that rise and collapse, 60 pictures",
                false_statement(_PICTURES, collapsing_run(20)),
                0.0,
                0.06,
            ),
        ),
        repeats=4000,
        quick=25,
    ),
    Study(
        "checkpoints-coverage",
        "Intervals of the differences of checkpoints",
        "all intervals of a training run hold their true differences at once (nominal 0.95)",
        PROCEDURE,
        SOURCE,
        (
            Case("10 checkpoints that rise, 100 samples alone", all_held(_ALONE_100, rising_run(10)), 0.94, 1.0),
            Case(
                "20 checkpoints that rise and collapse, 60 pictures", all_held(_PICTURES, collapsing_run(20)), 0.94, 1.0
            ),
        ),
        repeats=4000,
        quick=25,
    ),
    Study(
        "checkpoints-uncorrected",
        "What would happen without the correction",
        "a checkpoint is stated to differ from the best so far, which it equals, if each is tested "
        "at 0.05 (the reason for the correction, no promise)",
        "Each checkpoint against the one with the highest score so far, each time at 0.05.",
        "none",
        (
            Case("10 equal checkpoints, 100 samples alone", uncorrected(_ALONE_100, level_run(10)), 0.2, 1.0),
            Case("30 equal checkpoints, 100 samples alone", uncorrected(_ALONE_100, level_run(30)), 0.5, 1.0),
        ),
        repeats=4000,
        quick=25,
    ),
)
