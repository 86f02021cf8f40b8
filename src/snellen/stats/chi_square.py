"""Pearson's chi-square against given expectations, and the Stuart-Maxwell test.

K. Pearson, Philosophical Magazine 50 (1900). Marginal homogeneity of a square table: A. Stuart,
Biometrika 42 (1955); A. E. Maxwell, British Journal of Psychiatry 116 (1970); for two categories
it is McNemar's test without correction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class ChiSquare(NamedTuple):
    """A statistic, its degrees of freedom, and the chance of one as large if nothing is there."""

    statistic: float
    freedom: int
    p: float


def tail(statistic: float, freedom: int) -> float:
    """Upper tail of the chi-square distribution with a whole number of degrees of freedom.

    By the recurrence of the incomplete gamma function, from its closed form for 1 or 2 degrees
    (Abramowitz and Stegun, 26.4.8).

    Raises:
        ValueError: freedom < 1, or a statistic below 0.
    """
    if freedom < 1 or statistic < 0:
        raise ValueError(f"expected freedom >= 1 and a statistic >= 0, got {freedom}, {statistic}")
    half = statistic / 2
    if not half:
        return 1.0
    odd = freedom % 2 == 1
    found = math.erfc(math.sqrt(half)) if odd else math.exp(-half)
    shape = 0.5 if odd else 1.0
    while shape < freedom / 2:
        found += math.exp(shape * math.log(half) - half - math.lgamma(shape + 1))
        shape += 1
    return min(1.0, found)


def pearson(strata: Sequence[tuple[Sequence[int], Sequence[float]]]) -> ChiSquare | None:
    """Observed counts against expected shares, stratum by stratum, statistics summed.

    Each stratum holds the counts of its categories and the shares expected of them; strata of one
    category tell nothing. None where no stratum tells anything.

    Raises:
        ValueError: shares that are not positive or do not sum to 1.
    """
    statistic, freedom = 0.0, 0
    for counts, shares in strata:
        if any(share <= 0 for share in shares) or abs(sum(shares) - 1) > 1e-9:
            raise ValueError(f"expected shares must be positive and sum to 1, got {shares}")
        n = sum(counts)
        if not n or len(counts) < 2:
            continue
        pairs = zip(counts, shares, strict=True)
        statistic += sum((count - n * share) ** 2 / (n * share) for count, share in pairs)
        freedom += len(counts) - 1
    return ChiSquare(statistic, freedom, tail(statistic, freedom)) if freedom else None


def stuart_maxwell(table: Mapping[tuple[str, str], int]) -> ChiSquare | None:
    """Whether two classifications of the same things (first, second) use the categories equally
    often. Categories in which they never differ tell nothing; None where none is left."""
    import numpy as np

    names = sorted({name for pair, count in table.items() if pair[0] != pair[1] and count
                    for name in pair})  # fmt: skip
    if len(names) < 2:
        return None
    counts = np.array([[table.get((a, b), 0) for b in names] for a in names], dtype=np.float64)
    np.fill_diagonal(counts, 0.0)
    difference = counts.sum(axis=1) - counts.sum(axis=0)
    spread = -(counts + counts.T)
    np.fill_diagonal(spread, counts.sum(axis=1) + counts.sum(axis=0))
    # Differences sum to 0 within each set of categories that are confused with one another: the
    # rank of the matrix counts what is free.
    freedom = int(np.linalg.matrix_rank(spread))
    statistic = float(difference @ np.linalg.pinv(spread) @ difference)
    return ChiSquare(statistic, freedom, tail(max(0.0, statistic), freedom))
