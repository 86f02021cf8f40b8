"""Classical test theory of a benchmark's samples over many systems.

Point-biserial discrimination, corrected for the item's own part of the total: F. M. Lord and M. R.
Novick, "Statistical Theories of Mental Test Scores" (1968), Sec. 15.4; S. Henrysson, Psychometrika
28 (1963).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


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
    rest = scores.sum(axis=0, keepdims=True) - scores
    own, others = (part - part.mean(axis=1, keepdims=True) for part in (scores, rest))
    spread = np.sqrt((own**2).sum(axis=1) * (others**2).sum(axis=1))
    joint = (own * others).sum(axis=1)
    found: NDArray[float64] = np.full(len(scores), np.nan)
    np.divide(joint, spread, out=found, where=spread > 1e-9)
    return found
