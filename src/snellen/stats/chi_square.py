"""Tests of observed counts: Pearson's chi-square against expected shares, and whether letters are
chosen equally often over questions that were asked several times.

K. Pearson, Philosophical Magazine 50 (1900). If little is expected: tables drawn under the
hypothesis (A. Hope, JRSS B 30, 1968). For several choices of one question: the Wald statistic with
the covariance between questions (K.-Y. Liang and S. Zeger, Biometrika 73, 1986).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from snellen.core.arrays import Floats, np

DRAWS = 19_999
"""Tables drawn if too little is expected for the chi-square distribution."""
_MIN_EXPECTED = 5.0
"""Cochran's rule: with less a count is too far from normal."""
_MIN_QUESTIONS = 20
"""Questions for each letter below which the Wald statistic is not chi-square distributed."""


class ChiSquare(NamedTuple):
    """A statistic, its degrees of freedom, and the probability of one as large by chance.

    `draws` is the number of tables that the probability was counted in; 0 if it comes from the
    chi-square distribution.
    """

    statistic: float
    freedom: int
    p: float
    draws: int = 0


def upper_tail(statistic: float, freedom: int) -> float:
    """Upper tail of the chi-square distribution with an integer number of degrees of freedom.

    By the recurrence of the incomplete gamma function, from its closed form for 1 or 2 degrees
    (Abramowitz and Stegun, 26.4.8). Raises ValueError for freedom < 1, or a statistic below 0.
    """
    if freedom < 1 or statistic < 0:
        raise ValueError(f"expected freedom >= 1 and a statistic >= 0, got {freedom}, {statistic}")
    half = statistic / 2
    if not half:
        return 1.0
    odd = freedom % 2 == 1
    probability = math.erfc(math.sqrt(half)) if odd else math.exp(-half)
    shape = 0.5 if odd else 1.0
    while shape < freedom / 2:
        probability += math.exp(shape * math.log(half) - half - math.lgamma(shape + 1))
        shape += 1
    return min(1.0, probability)


def pearson(strata: Sequence[tuple[Sequence[int], Sequence[float]]]) -> ChiSquare | None:
    """Pearson's chi-square of observed counts against expected shares, summed over strata.

    Each stratum has the counts of its categories and their expected shares; strata with fewer than
    two categories are ignored. If some expected count is below 5, p is counted among tables drawn
    with the same totals and the expected shares. None if no stratum is left. Raises ValueError for
    shares that are not positive or do not sum to 1.
    """
    statistic, freedom = 0.0, 0
    sparse: list[tuple[int, Floats]] = []
    for counts, shares in strata:
        if any(share <= 0 for share in shares) or abs(sum(shares) - 1) > 1e-9:
            raise ValueError(f"expected shares must be positive and sum to 1, got {shares}")
        n = sum(counts)
        if not n or len(counts) < 2:
            continue
        pairs = zip(counts, shares, strict=True)
        statistic += sum((count - n * share) ** 2 / (n * share) for count, share in pairs)
        freedom += len(counts) - 1
        if n * min(shares) < _MIN_EXPECTED:
            sparse.append((n, np.asarray(shares, dtype=np.float64)))
    if not freedom:
        return None
    if not sparse:
        return ChiSquare(statistic, freedom, upper_tail(statistic, freedom))
    random = np.random.default_rng(0)
    remaining = freedom - sum(len(shares) - 1 for _, shares in sparse)
    drawn = random.chisquare(remaining, DRAWS) if remaining else np.zeros(DRAWS)
    for n, expected_shares in sparse:
        expected = n * expected_shares
        tables = random.multinomial(n, expected_shares / expected_shares.sum(), DRAWS)
        drawn += ((tables - expected) ** 2 / expected).sum(axis=1)
    return ChiSquare(statistic, freedom, _fraction_as_large(drawn, statistic), DRAWS)


def even_over_questions(strata: Sequence[Floats]) -> ChiSquare | None:
    """Test whether all letters are chosen equally often, if each question was asked several times.

    Each stratum, (questions, letters), has how often the passes of each question chose each letter.
    The unit is the question: its counts minus their mean are summed, and the sum is compared with
    its covariance between questions, so that passes of one question may depend on each other in
    any way. If few questions choose unevenly, p is counted instead among draws that rotate the
    letters of each question by a random number, which keeps what its passes have in common.

    None without questions; p is 1 if every question chooses evenly.
    """
    statistic, freedom, remaining, even = 0.0, 0, 0, 0
    sparse: list[Floats] = []
    for counts in strata:
        letters = counts.shape[1]
        uneven = counts - counts.mean(axis=1, keepdims=True)
        uneven = uneven[np.abs(uneven).max(axis=1, initial=0.0) > 1e-9]
        if not len(uneven):
            even += (letters - 1) * (len(counts) > 0)
        elif len(uneven) < _MIN_QUESTIONS * letters:
            statistic += float(_isotropic(uneven.sum(axis=0), uneven))
            freedom += letters - 1
            sparse.append(uneven)
        else:
            # The covariance around 0, which is the mean under the hypothesis: around the observed
            # mean the test would reject too often with a hundred questions.
            covariance, total = uneven.T @ uneven, uneven.sum(axis=0)
            rank = int(np.linalg.matrix_rank(covariance))
            statistic += float(total @ np.linalg.pinv(covariance) @ total)
            freedom += rank
            remaining += rank
    if not freedom:
        return ChiSquare(0.0, even, 1.0) if even else None
    if not sparse:
        return ChiSquare(statistic, freedom, upper_tail(max(0.0, statistic), freedom))
    return ChiSquare(statistic, freedom, _fraction_as_large(_draw_rotations(sparse, remaining), statistic), DRAWS)


def _draw_rotations(sparse: Sequence[Floats], freedom: int) -> Floats:
    """Statistics, (DRAWS,), under random rotations of the letters of each question in the strata
    `sparse`, and chi-square with `freedom` in the others."""
    random = np.random.default_rng(0)
    drawn = random.chisquare(freedom, DRAWS) if freedom else np.zeros(DRAWS)
    for uneven in sparse:
        letters = uneven.shape[1]
        total = np.zeros((DRAWS, letters))
        rows, times = np.unique(uneven, axis=0, return_counts=True)
        for row, count in zip(rows, times.tolist(), strict=True):
            rotations = np.stack([np.roll(row, turn) for turn in range(letters)])
            total += random.multinomial(count, [1 / letters] * letters, DRAWS) @ rotations
        drawn += _isotropic(total, uneven)
    return drawn


def _isotropic(total: Floats, uneven: Floats) -> Floats:
    """Squared length of sums over questions, (..., letters), relative to its mean under random
    rotations of each question's letters, per degree of freedom."""
    length: Floats = (total.shape[-1] - 1) * (total**2).sum(axis=-1) / (uneven**2).sum()
    return length


def _fraction_as_large(drawn: Floats, statistic: float) -> float:
    """The p-value of a statistic among drawn ones. The observed table counts as one of them, so
    that p is never 0."""
    return (1 + int((drawn >= statistic * (1 - 1e-9)).sum())) / (1 + len(drawn))
