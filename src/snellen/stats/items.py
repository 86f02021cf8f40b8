"""Classical test theory of a benchmark's samples over many systems.

Point-biserial discrimination, corrected for the item's own part of the total: F. M. Lord and M. R.
Novick, "Statistical Theories of Mental Test Scores" (1968), Sec. 15.4; S. Henrysson, Psychometrika
28 (1963). Its distribution where all samples discriminate alike: systems' right answers permuted
so that each sample keeps its number of right answers and each system its own on average, which is
the Rasch model given these numbers (G. Rasch, 1960; E. B. Andersen, JRSS B 32, 1970).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


MIN_SYSTEMS = 8
"""Below it a correlation over systems says nearly nothing of a sample."""
DRAWS = 1999
LEVEL = 0.05


class LowDiscrimination(NamedTuple):
    """Which samples discriminate less than others do by chance."""

    p: NDArray[float64]
    """For each sample the chance of a correlation as low, (samples,); NaN where it has none."""
    expected: float
    """How many samples have a p of at most `SIGNIFICANCE_LEVEL` if all discriminate alike."""


def difficulty(scores: NDArray[float64]) -> NDArray[float64]:
    """1 less the mean score of each sample; `scores` (samples, systems) in 0..1."""
    hard: NDArray[float64] = 1.0 - scores.mean(axis=1)
    return hard


def discrimination(scores: NDArray[float64]) -> NDArray[float64]:
    """Pearson's correlation, over systems, of a sample's score with the sum of all other samples'
    scores: (samples,), -1..1. NaN where either has no spread, and below three systems.

    r_i = cov(s_i, T - s_i) / (sd(s_i) sd(T - s_i)), T the sum over all samples.
    """
    import numpy as np

    if scores.shape[1] < 3:
        return np.full(len(scores), np.nan)
    other_scores = scores.sum(axis=0, keepdims=True) - scores
    own, others = (part - part.mean(axis=1, keepdims=True) for part in (scores, other_scores))
    spread = np.sqrt((own**2).sum(axis=1) * (others**2).sum(axis=1))
    joint = (own * others).sum(axis=1)
    correlations: NDArray[float64] = np.full(len(scores), np.nan)
    np.divide(joint, spread, out=correlations, where=spread > 1e-9)
    return correlations


def low_discrimination(scores: NDArray[float64], seed: int = 0) -> LowDiscrimination:
    """Each sample's `discrimination` against permutations of the systems' scores on it.

    Scores of 0 and 1: permuted with the chances that the systems' abilities give, so that a sample
    is compared with one of the same difficulty that discriminates as samples do on average. Where
    some scores lie between, all orders are alike, which asks less: whether better systems do
    worse.

    Raises:
        ValueError: fewer than `MIN_SYSTEMS` systems.
    """
    import numpy as np

    from snellen.stats.rasch import abilities, draw_patterns

    samples, systems = scores.shape
    if systems < MIN_SYSTEMS:
        raise ValueError(f"expected {MIN_SYSTEMS} or more systems, got {systems}")
    observed = discrimination(scores)
    is_defined = ~np.isnan(observed)
    totals = scores.sum(axis=0)
    p, expected = np.full(samples, np.nan), 0.0
    random = np.random.default_rng(seed)
    cut = int(LEVEL * (1 + DRAWS))

    def compare_to_chance(rows: NDArray[np.intp], drawn: NDArray[float64]) -> float:
        """Correlations `drawn` against those of samples; how many of them are low by chance."""
        lows = np.sort(drawn)
        p[rows] = (1 + np.searchsorted(lows, observed[rows] + 1e-9, side="right")) / (1 + DRAWS)
        # With few systems few values are possible: only those below the point are listed.
        return len(rows) * float((lows < lows[cut - 1] - 1e-9).mean())

    if np.isin(scores, (0.0, 1.0)).all():
        able = abilities(scores, np.ones(samples))
        right = scores.sum(axis=1).round().astype(np.intp)
        for total in np.unique(right[is_defined]).tolist():
            drawn = draw_patterns(able, total, DRAWS, random)
            # The systems' totals stay as they are, so that the rest changes with the sample.
            correlations = _correlations(drawn, totals - drawn)
            expected += compare_to_chance(
                np.flatnonzero(is_defined & (right == total)), correlations
            )
    else:
        orders = np.argsort(random.random((DRAWS, systems)), axis=1)
        for at in np.flatnonzero(is_defined):
            drawn = scores[at][orders]
            expected += compare_to_chance(
                np.array([at]), _correlations(drawn, (totals - scores[at])[None])
            )
    return LowDiscrimination(p, expected)


def _correlations(first: NDArray[float64], second: NDArray[float64]) -> NDArray[float64]:
    """Pearson's, row by row; 0 where either has no spread."""
    import numpy as np

    first, second = (part - part.mean(axis=1, keepdims=True) for part in (first, second))
    spread = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    joint: NDArray[float64] = (first * second).sum(axis=1)
    correlations: NDArray[float64] = np.zeros_like(joint)
    np.divide(joint, spread, out=correlations, where=spread > 1e-9)
    return correlations
