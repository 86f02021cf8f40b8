"""How often several systems give the same wrong answer by chance, if every label is right.

Samples differ in difficulty (the Rasch model, `rasch`), and wrong options in how attractive they
are: for each sample their probabilities are drawn from a symmetric Dirichlet distribution, so that
counts of wrong answers follow Polya's distribution (F. Eggenberger and G. Polya, 1923; J. Mosimann,
Biometrika 49, 1962). Both are fitted to systems other than those whose errors are counted. Given
difficulty and attraction, systems err independently; systems that learnt from each other share more
errors than this.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from snellen.stats.rasch import DifficultyGrid, abilities, mean_over, wrong_chances

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

MIN_OTHER_SYSTEMS = 2
"""Further systems needed to estimate difficulties."""
DRAWS = 100
_MIN_SAMPLES = 50
"""Samples with the same number of options that get their own distribution of difficulties."""
_ATTRACTIONS = np.logspace(-2, 2, 81)
"""Grid of the Dirichlet parameter: from one option that attracts all systems to equal options."""


class SystemAnswers(NamedTuple):
    """Answers of systems to multiple choice samples."""

    right: NDArray[float64]
    """(samples, systems): 1 or 0."""
    wrong: Sequence[Sequence[Hashable | None]]
    """For each sample the systems' wrong answers; None for a right answer or none."""
    wrong_options: NDArray[float64]
    """Number of wrong options of each sample, at least 1: (samples,)."""


class ExpectedCount(NamedTuple):
    """Number of samples to which given systems give the same wrong answer by chance: its mean, and
    the interval of 95 % of repetitions."""

    mean: float
    low: float
    high: float


def expected_shared_errors(
    answers: SystemAnswers, systems: Sequence[int], clusters: NDArray[np.intp], seed: int = 0
) -> ExpectedCount:
    """The number of samples to which all of `systems` give the same wrong answer by chance.

    Difficulty and attraction are fitted to the other systems. The interval is that of numbers drawn
    from models fitted to resampled `clusters` (samples,), numbered from 0, so that it includes the
    error of the fit.

    Raises:
        ValueError: fewer than `MIN_OTHER_SYSTEMS` other systems.
    """
    system_count = answers.right.shape[1]
    others = [system for system in range(system_count) if system not in set(systems)]
    if len(others) < MIN_OTHER_SYSTEMS:
        raise ValueError(f"expected {MIN_OTHER_SYSTEMS} or more other systems, got {len(others)}")
    model = _SharedErrorModel(answers, list(systems), others)
    mean = model.expected_count(np.ones(len(clusters)))
    random = np.random.default_rng(seed)
    count = int(clusters.max()) + 1
    drawn = []
    for _ in range(DRAWS):
        weights = np.bincount(random.integers(0, count, count), minlength=count)[clusters]
        drawn.append(float(random.poisson(model.expected_count(weights.astype(np.float64)))))
    low, high = np.quantile(drawn, [0.025, 0.975], method="inverted_cdf")
    return ExpectedCount(mean, float(low), float(high))


class _SharedErrorModel:
    """The model of shared errors; whatever does not depend on the draw is computed once."""

    def __init__(self, answers: SystemAnswers, systems: list[int], others: list[int]) -> None:
        """`systems` and `others` are the columns of the compared systems, and of those that
        difficulty is estimated from."""
        self._systems_right = answers.right[:, systems]
        self._others_right = answers.right[:, others]
        self._totals = self._others_right.sum(axis=1).astype(np.intp)
        # Wrong replies that are not an option agree with nothing.
        gave_option = [[row[system] is not None for system in systems] for row in answers.wrong]
        self._gave_option = np.array(gave_option, dtype=np.float64).reshape(
            len(answers.wrong), len(systems)
        )
        self._wrong_options = answers.wrong_options
        # Abilities take longest to fit and hardly change between draws: fitted once.
        self._strata = [
            (rows, DifficultyGrid(abilities(self._others_right[rows], np.ones(len(rows)))))
            for rows in _strata(answers.wrong_options)
        ]
        pattern_ids: dict[tuple[float, tuple[int, ...]], int] = {}
        self._pattern = np.full(len(answers.wrong), -1)
        for sample, row in enumerate(answers.wrong):
            counts = Counter(row[system] for system in others if row[system] is not None)
            options = float(answers.wrong_options[sample])
            # The likelihood depends on the number of options and the sorted counts alone; a single
            # wrong answer says nothing about attraction.
            if counts.total() > 1 and options > 1:
                key = options, tuple(sorted(counts.values(), reverse=True))
                self._pattern[sample] = pattern_ids.setdefault(key, len(pattern_ids))
        self._likelihoods = np.array(
            [
                [_polya(attraction, *pattern) for attraction in _ATTRACTIONS.tolist()]
                for pattern in pattern_ids
            ]
        )

    def expected_count(self, weights: NDArray[float64]) -> float:
        """Expected number of shared errors, each sample counting `weights` (samples,) times.

        For each stratum of samples: the probability that all systems are wrong, integrated over the
        difficulty, times the sum over samples of the probability that wrong answers agree.
        """
        attraction = self._attraction(weights)
        total = 0.0
        for rows, grid in self._strata:
            stratum_weights = weights[rows]
            if not stratum_weights.any():
                continue
            counts = np.bincount(
                self._totals[rows], stratum_weights, minlength=self._others_right.shape[1] + 1
            ).astype(np.float64)
            difficulties = grid.fit(counts)
            chance = np.ones(1)
            for system in range(self._systems_right.shape[1]):
                right = self._systems_right[rows, system]
                wrong = float(stratum_weights @ (1 - right))
                gave_option = float(stratum_weights @ self._gave_option[rows, system])
                share = gave_option / wrong if wrong else 0.0
                share_right = float(stratum_weights @ right / stratum_weights.sum())
                # At each node of the difficulty: wrong, and an option at all.
                chance = chance * share * wrong_chances(share_right, difficulties)
            alike = _chance_alike(
                attraction, self._wrong_options[rows], self._systems_right.shape[1]
            )
            total += mean_over(chance) * float(stratum_weights @ alike)
        return total

    def _attraction(self, weights: NDArray[float64]) -> float:
        """The Dirichlet parameter by maximum likelihood; 1 without any information."""
        has_pattern = self._pattern >= 0
        if not (weights[has_pattern] > 0).any():
            return 1.0
        counts = np.bincount(
            self._pattern[has_pattern], weights[has_pattern], minlength=len(self._likelihoods)
        )
        return float(_ATTRACTIONS[int((counts @ self._likelihoods).argmax())])


def _strata(wrong_options: NDArray[float64]) -> list[NDArray[np.intp]]:
    """Indices of samples by their number of wrong options; rare numbers are one stratum."""
    by_width: dict[float, list[int]] = defaultdict(list)
    for sample, width in enumerate(wrong_options.tolist()):
        by_width[width].append(sample)
    strata = [rows for rows in by_width.values() if len(rows) >= _MIN_SAMPLES]
    rare = [sample for rows in by_width.values() if len(rows) < _MIN_SAMPLES for sample in rows]
    return [np.array(rows, dtype=np.intp) for rows in (*strata, rare) if rows]


def _polya(attraction: float, wrong_options: float, counts: Sequence[int]) -> float:
    """Log-likelihood of the counts of chosen wrong options under Polya's distribution."""
    n = sum(counts)
    log_likelihood = math.lgamma(wrong_options * attraction) - math.lgamma(
        wrong_options * attraction + n
    )
    return log_likelihood + sum(
        math.lgamma(attraction + count) - math.lgamma(attraction) for count in counts
    )


def _chance_alike(
    attraction: float, wrong_options: NDArray[float64], systems: int
) -> NDArray[float64]:
    """Probability that all of `systems` wrong answers are the same option, (samples,)."""
    chance = np.ones(len(wrong_options))
    # Polya's urn: each further system chooses the option with this probability.
    for agreeing in range(1, systems):
        chance = chance * (attraction + agreeing) / (wrong_options * attraction + agreeing)
    return chance
