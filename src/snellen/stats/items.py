"""Classical test theory of a benchmark's samples over many systems.

Point-biserial discrimination, corrected for the item's own part of the total: F. M. Lord and M. R.
Novick, "Statistical Theories of Mental Test Scores" (1968), Sec. 15.4; S. Henrysson, Psychometrika
28 (1963). Its distribution if all samples discriminate equally: right answers permuted between
systems so that each sample keeps its number of right answers and each system keeps its own on
average, which is the Rasch model given these numbers (G. Rasch, 1960; E. B. Andersen, JRSS B 32,
1970).
"""

from __future__ import annotations

from typing import NamedTuple

from snellen.core.arrays import Floats, Indices, np

MIN_SYSTEMS = 8
"""With fewer, a correlation over systems says almost nothing about a sample."""
DRAWS = 1999
LEVEL = 0.05


class LowDiscrimination(NamedTuple):
    """Tests for samples that discriminate less than others do by chance."""

    p: Floats
    """Probability of a correlation as low, (samples,); NaN for a sample without correlation."""
    expected: float
    """Expected number of samples with p <= `LEVEL` if all discriminate equally."""


def difficulty(scores: Floats) -> Floats:
    """1 minus the mean score of each sample, (samples,); `scores` is (samples, systems) in 0..1."""
    hard: Floats = 1.0 - scores.mean(axis=1)
    return hard


def discrimination(scores: Floats) -> Floats:
    """Pearson's correlation, over systems, of each sample's score with the sum of all others'.

    Returns (samples,) in -1..1; NaN if either has no spread, and below three systems.
    r_i = cov(s_i, T - s_i) / (sd(s_i) sd(T - s_i)), where T is the sum over all samples.
    """
    if scores.shape[1] < 3:
        return np.full(len(scores), np.nan)
    return _correlations(scores, scores.sum(axis=0, keepdims=True) - scores, np.nan)


def low_discrimination(scores: Floats, seed: int = 0) -> LowDiscrimination:
    """Test each sample's `discrimination` against permutations of the systems' scores on it.

    Scores of 0 and 1 are permuted with probabilities from the systems' abilities, so that a sample
    is compared with one of the same difficulty that discriminates as samples do on average. If some
    scores lie between, all orders are equally likely, which is a weaker test: whether better
    systems score lower. Raises ValueError for fewer than `MIN_SYSTEMS` systems.
    """
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

    def compare_to_chance(rows: Indices, drawn: Floats) -> float:
        """Set p of these samples from `drawn` correlations (draws,); returns how many of them are
        expected to have a p of at most `LEVEL`."""
        lows = np.sort(drawn)
        p[rows] = (1 + np.searchsorted(lows, observed[rows] + 1e-9, side="right")) / (1 + DRAWS)
        # With few systems few values are possible, and a p of at most LEVEL needs a value strictly
        # below the cut.
        return len(rows) * float((lows < lows[cut - 1] - 1e-9).mean())

    if np.isin(scores, (0.0, 1.0)).all():
        ability = abilities(scores, np.ones(samples))
        right = scores.sum(axis=1).round().astype(np.intp)
        # Samples with the same number of right answers have the same distribution.
        for total in np.unique(right[is_defined]).tolist():
            drawn = draw_patterns(ability, total, DRAWS, random)
            # The systems' totals are fixed, so that the sum of the others changes with the sample.
            correlations = _correlations(drawn, totals - drawn)
            expected += compare_to_chance(np.flatnonzero(is_defined & (right == total)), correlations)
    else:
        orders = np.argsort(random.random((DRAWS, systems)), axis=1)
        for sample in np.flatnonzero(is_defined):
            drawn = scores[sample][orders]
            correlations = _correlations(drawn, (totals - scores[sample])[None])
            expected += compare_to_chance(np.array([sample]), correlations)
    return LowDiscrimination(p, expected)


def _correlations(first: Floats, second: Floats, without_spread: float = 0.0) -> Floats:
    """Pearson's correlation of each row, (rows,); `without_spread` if either has none."""
    first, second = (part - part.mean(axis=1, keepdims=True) for part in (first, second))
    spread = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    joint: Floats = (first * second).sum(axis=1)
    correlations: Floats = np.full_like(joint, without_spread)
    np.divide(joint, spread, out=correlations, where=spread > 1e-9)
    return correlations
