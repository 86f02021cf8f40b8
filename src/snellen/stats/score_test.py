"""Two systems that are right or wrong on independent samples: McNemar's test as a score test, and
the interval of the difference of their shares that goes with it.

Test: Q. McNemar, Psychometrika 12 (1947). Interval: T. Tango, "Equivalence test and confidence
interval for the difference in proportions for the paired-sample design", Statistics in Medicine 17
(1998), eqs. 3 and 7: the differences that the score test does not reject, so that it leaves out 0
exactly where McNemar's test rejects.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from snellen.core.arrays import Floats, np

_HALVINGS = 60


def score_statistic(won: Floats, lost: Floats, n: int, difference: float | Floats = 0) -> Floats:
    """Standard errors by which (won - lost) / n exceeds a true `difference` in -1..1.

    `won` and `lost` are the numbers of samples that only one of the two systems has right, of `n`.
    The standard error is that of the most likely shares under the hypothesis. If it is 0, the
    statistic is 0 for exactly the expected difference, and infinite otherwise.
    """
    b = -won - lost + (2 * n - won + lost) * difference
    c = -lost * difference * (1 - difference)
    # The larger root of 2n q^2 + b q + c, q being the share that only the other system has right.
    # Written so that no small root comes from two large numbers that nearly cancel.
    root = np.sqrt(np.maximum(b * b - 8 * n * c, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        q = np.where(b > 0, -2 * c / (b + root), (root - b) / (4 * n))
        variance = n * (2 * q + difference * (1 - difference))
        excess = won - lost - n * difference
        statistic = excess / np.sqrt(np.maximum(variance, 0))
    return np.where(excess == 0, 0.0, statistic)


def tango_interval(won: Floats, lost: Floats, n: int, level: float) -> tuple[Floats, Floats]:
    """Tango's interval of the difference, both ends in -1..1, for each pair of counts."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    counts, inverse = np.unique(np.stack([won, lost]), axis=1, return_inverse=True)
    (won, lost), inverse = counts, inverse.ravel()
    # Lower and upper ends in one array: with few pairs, the calls take longer than their numbers.
    won, lost, sign = np.tile(won, 2), np.tile(lost, 2), np.repeat([1.0, -1.0], counts.shape[1])
    # Bisection between `inside`, which is not rejected, and `outside`, which is.
    inside, outside = (won - lost) / n, -sign
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        rejected = sign * score_statistic(won, lost, n, middle) > z
        inside, outside = np.where(rejected, inside, middle), np.where(rejected, middle, outside)
    low, high = np.split(inside, 2)
    return low[inverse], high[inverse]


def normal_tails(z: Floats) -> Floats:
    """P(|Z| >= |z|) of the normal distribution."""
    return np.array([math.erfc(abs(value) / math.sqrt(2)) for value in z.tolist()])
