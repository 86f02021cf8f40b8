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

FEWEST_OTHERS = 2
"""Systems, beside those in question, that difficulty can be told from."""
DRAWS = 100
_FEWEST_SAMPLES = 50
"""Samples with one number of options that get a distribution of difficulties of their own."""
_ATTRACTIONS = np.logspace(-2, 2, 81)
"""Of the Dirichlet distribution's parameter: from one option that attracts all to all alike."""


class Answers(NamedTuple):
    """What systems answered to closed samples."""

    right: NDArray[float64]
    """Of shape (samples, systems): 1 or 0."""
    wrong: Sequence[Sequence[Hashable | None]]
    """For each sample the systems' wrong answers; None where there is none, or it is right."""
    others: NDArray[float64]
    """How many options are wrong, for each sample, at least 1."""


class Expected(NamedTuple):
    """How many samples the systems in question answer with one wrong answer by chance: the mean,
    and what 95 of 100 repetitions lie in."""

    mean: float
    low: float
    high: float


def expected_alike(
    answers: Answers, asked: Sequence[int], clusters: NDArray[np.intp], seed: int = 0
) -> Expected:
    """Over all samples, for the systems `asked`, with difficulty and attraction fitted to the
    rest. The range is that of numbers drawn from models fitted to resampled `clusters` (0, 1, ...,
    one for each sample), so that it holds the error of the fit too.

    Raises:
        ValueError: fewer than `FEWEST_OTHERS` other systems.
    """
    systems = answers.right.shape[1]
    rest = [at for at in range(systems) if at not in set(asked)]
    if len(rest) < FEWEST_OTHERS:
        raise ValueError(f"expected {FEWEST_OTHERS} or more other systems, got {len(rest)}")
    model = _Model(answers, list(asked), rest)
    mean = model.expected(np.ones(len(clusters)))
    random = np.random.default_rng(seed)
    count = int(clusters.max()) + 1
    drawn = []
    for _ in range(DRAWS):
        weights = np.bincount(random.integers(0, count, count), minlength=count)[clusters]
        drawn.append(float(random.poisson(model.expected(weights.astype(np.float64)))))
    low, high = np.quantile(drawn, [0.025, 0.975], method="inverted_cdf")
    return Expected(mean, float(low), float(high))


class _Model:
    """The counts that both fits need, taken once for all draws."""

    def __init__(self, answers: Answers, asked: list[int], rest: list[int]) -> None:
        self._asked, self._rest = answers.right[:, asked], answers.right[:, rest]
        self._totals = self._rest.sum(axis=1).astype(np.intp)
        # Wrong replies that are no option agree with nothing.
        given = [[row[at] is not None for at in asked] for row in answers.wrong]
        self._given = np.array(given, dtype=np.float64).reshape(len(answers.wrong), len(asked))
        self._others = answers.others
        # Abilities hardly move between draws, and take longest.
        self._strata = [
            (rows, DifficultyGrid(abilities(self._rest[rows], np.ones(len(rows)))))
            for rows in _strata(answers.others)
        ]
        places: dict[tuple[float, tuple[int, ...]], int] = {}
        self._pattern = np.full(len(answers.wrong), -1)
        for at, row in enumerate(answers.wrong):
            counts = Counter(row[one] for one in rest if row[one] is not None)
            if counts.total() > 1 and answers.others[at] > 1:
                key = float(answers.others[at]), tuple(sorted(counts.values(), reverse=True))
                self._pattern[at] = places.setdefault(key, len(places))
        self._likelihoods = np.array(
            [[_polya(one, *pattern) for one in _ATTRACTIONS.tolist()] for pattern in places]
        )

    def expected(self, weights: NDArray[float64]) -> float:
        """The mean number, where each sample counts as often as `weights` says."""
        steep = self._attraction(weights)
        total = 0.0
        for rows, grid in self._strata:
            held = weights[rows]
            if not held.any():
                continue
            counts = np.bincount(
                self._totals[rows], held, minlength=self._rest.shape[1] + 1
            ).astype(np.float64)
            among = grid.likeliest(counts)
            chance = np.ones(1)
            for at in range(self._asked.shape[1]):
                right = self._asked[rows, at]
                wrong = float(held @ (1 - right))
                share = float(held @ self._given[rows, at]) / wrong if wrong else 0.0
                chance = chance * share * wrong_chances(float(held @ right / held.sum()), among)
            alike = _chance_alike(steep, self._others[rows], self._asked.shape[1])
            total += mean_over(chance) * float(held @ alike)
        return total

    def _attraction(self, weights: NDArray[float64]) -> float:
        """The Dirichlet distribution's parameter, by maximum likelihood; 1 where nothing tells."""
        known = self._pattern >= 0
        if not (weights[known] > 0).any():
            return 1.0
        counts = np.bincount(self._pattern[known], weights[known], minlength=len(self._likelihoods))
        return float(_ATTRACTIONS[int((counts @ self._likelihoods).argmax())])


def _strata(others: NDArray[float64]) -> list[NDArray[np.intp]]:
    """Samples by their number of wrong options; those of rare numbers together."""
    by_width: dict[float, list[int]] = defaultdict(list)
    for at, width in enumerate(others.tolist()):
        by_width[width].append(at)
    found = [rows for rows in by_width.values() if len(rows) >= _FEWEST_SAMPLES]
    rare = [at for rows in by_width.values() if len(rows) < _FEWEST_SAMPLES for at in rows]
    return [np.array(rows, dtype=np.intp) for rows in (*found, rare) if rows]


def _polya(steep: float, others: float, counts: Sequence[int]) -> float:
    """Log-likelihood of these counts of the wrong options chosen."""
    n = sum(counts)
    found = math.lgamma(others * steep) - math.lgamma(others * steep + n)
    return found + sum(math.lgamma(steep + one) - math.lgamma(steep) for one in counts)


def _chance_alike(steep: float, others: NDArray[float64], systems: int) -> NDArray[float64]:
    """The chance that wrong systems all choose one of so many wrong options."""
    found = np.ones(len(others))
    for at in range(1, systems):
        found = found * (steep + at) / (others * steep + at)
    return found
