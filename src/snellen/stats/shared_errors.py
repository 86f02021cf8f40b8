"""How often several systems give the same wrong answer by chance, though every label is right.

Samples differ in difficulty (the Rasch model, `rasch`), and wrong options in how much they attract:
their shares are drawn for each sample from a symmetric Dirichlet distribution, so that counts of
wrong answers are Polya's (F. Eggenberger and G. Polya, 1923; J. Mosimann, Biometrika 49, 1962).
Both are fitted to systems other than those whose errors are counted. Given them, systems err
independently: systems that learnt from one another share more errors than this.
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
"""Systems, beside those in question, that difficulty can be told from."""
DRAWS = 100
_MIN_SAMPLES = 50
"""Samples with one number of options that get a distribution of difficulties of their own."""
_ATTRACTIONS = np.logspace(-2, 2, 81)
"""Of the Dirichlet distribution's parameter: from one option that attracts all to all alike."""


class SystemAnswers(NamedTuple):
    """What systems answered to closed samples."""

    right: NDArray[float64]
    """Of shape (samples, systems): 1 or 0."""
    wrong: Sequence[Sequence[Hashable | None]]
    """For each sample the systems' wrong answers; None where there is none, or it is right."""
    wrong_options: NDArray[float64]
    """How many options are wrong, for each sample, at least 1."""


class ExpectedCount(NamedTuple):
    """How many samples the systems in question answer with one wrong answer by chance: the mean,
    and what 95 of 100 repetitions lie in."""

    mean: float
    low: float
    high: float


def expected_shared_errors(
    answers: SystemAnswers, systems: Sequence[int], clusters: NDArray[np.intp], seed: int = 0
) -> ExpectedCount:
    """Over all samples, for the systems `systems`, with difficulty and attraction fitted to the
    rest. The range is that of numbers drawn from models fitted to resampled `clusters` (0, 1, ...,
    one for each sample), so that it holds the error of the fit too.

    Raises:
        ValueError: fewer than `MIN_OTHER_SYSTEMS` other systems.
    """
    system_count = answers.right.shape[1]
    others = [at for at in range(system_count) if at not in set(systems)]
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
    """The counts that both fits need, taken once for all draws."""

    def __init__(self, answers: SystemAnswers, systems: list[int], others: list[int]) -> None:
        self._systems_right, self._others_right = (
            answers.right[:, systems],
            answers.right[:, others],
        )
        self._totals = self._others_right.sum(axis=1).astype(np.intp)
        # Wrong replies that are no option agree with nothing.
        gave_option = [[row[at] is not None for at in systems] for row in answers.wrong]
        self._gave_option = np.array(gave_option, dtype=np.float64).reshape(
            len(answers.wrong), len(systems)
        )
        self._wrong_options = answers.wrong_options
        # Abilities hardly move between draws, and take longest.
        self._strata = [
            (rows, DifficultyGrid(abilities(self._others_right[rows], np.ones(len(rows)))))
            for rows in _strata(answers.wrong_options)
        ]
        pattern_ids: dict[tuple[float, tuple[int, ...]], int] = {}
        self._pattern = np.full(len(answers.wrong), -1)
        for at, row in enumerate(answers.wrong):
            counts = Counter(row[one] for one in others if row[one] is not None)
            if counts.total() > 1 and answers.wrong_options[at] > 1:
                key = float(answers.wrong_options[at]), tuple(sorted(counts.values(), reverse=True))
                self._pattern[at] = pattern_ids.setdefault(key, len(pattern_ids))
        self._likelihoods = np.array(
            [[_polya(one, *pattern) for one in _ATTRACTIONS.tolist()] for pattern in pattern_ids]
        )

    def expected_count(self, weights: NDArray[float64]) -> float:
        """The mean number, where each sample counts as often as `weights` says."""
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
            for at in range(self._systems_right.shape[1]):
                right = self._systems_right[rows, at]
                wrong = float(stratum_weights @ (1 - right))
                share = (
                    float(stratum_weights @ self._gave_option[rows, at]) / wrong if wrong else 0.0
                )
                chance = (
                    chance
                    * share
                    * wrong_chances(
                        float(stratum_weights @ right / stratum_weights.sum()), difficulties
                    )
                )
            alike = _chance_alike(
                attraction, self._wrong_options[rows], self._systems_right.shape[1]
            )
            total += mean_over(chance) * float(stratum_weights @ alike)
        return total

    def _attraction(self, weights: NDArray[float64]) -> float:
        """The Dirichlet distribution's parameter, by maximum likelihood; 1 where nothing tells."""
        has_pattern = self._pattern >= 0
        if not (weights[has_pattern] > 0).any():
            return 1.0
        counts = np.bincount(
            self._pattern[has_pattern], weights[has_pattern], minlength=len(self._likelihoods)
        )
        return float(_ATTRACTIONS[int((counts @ self._likelihoods).argmax())])


def _strata(wrong_options: NDArray[float64]) -> list[NDArray[np.intp]]:
    """Samples by their number of wrong options; those of rare numbers together."""
    by_width: dict[float, list[int]] = defaultdict(list)
    for at, width in enumerate(wrong_options.tolist()):
        by_width[width].append(at)
    strata = [rows for rows in by_width.values() if len(rows) >= _MIN_SAMPLES]
    rare = [at for rows in by_width.values() if len(rows) < _MIN_SAMPLES for at in rows]
    return [np.array(rows, dtype=np.intp) for rows in (*strata, rare) if rows]


def _polya(attraction: float, wrong_options: float, counts: Sequence[int]) -> float:
    """Log-likelihood of these counts of the wrong options chosen."""
    n = sum(counts)
    log_likelihood = math.lgamma(wrong_options * attraction) - math.lgamma(
        wrong_options * attraction + n
    )
    return log_likelihood + sum(
        math.lgamma(attraction + one) - math.lgamma(attraction) for one in counts
    )


def _chance_alike(
    attraction: float, wrong_options: NDArray[float64], systems: int
) -> NDArray[float64]:
    """The chance that wrong systems all choose one of so many wrong options."""
    chance = np.ones(len(wrong_options))
    for at in range(1, systems):
        chance = chance * (attraction + at) / (wrong_options * attraction + at)
    return chance
