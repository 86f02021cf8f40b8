"""Quantiles of Student's t for whole degrees of freedom, without scipy (572 ms to import).

Distribution: M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions" (1964), 26.7.3 and
26.7.4, finite sums exact for whole degrees of freedom; from 200 degrees on the expansion 26.7.5
around the normal quantile, whose error there is below 1e-8.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_NEARLY_NORMAL = 200
_HALVINGS = 60


@lru_cache(maxsize=1024)
def two_sided_quantile(level: float, freedom: int) -> float:
    """The t with P(-t < T < t) = `level` for `freedom` >= 1 degrees of freedom."""
    if freedom >= _NEARLY_NORMAL:
        return _expansion(NormalDist().inv_cdf(0.5 + level / 2), freedom)
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _central_share(middle, freedom) < level:
            low = middle
        else:
            high = middle
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _central_share(angle: float, freedom: int) -> float:
    """P(-t < T < t) for t = sqrt(freedom) * tan(angle)."""
    cosine, sine = math.cos(angle), math.sin(angle)
    if freedom == 1:
        return 2 * angle / math.pi
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term
    for k in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _expansion(z: float, freedom: int) -> float:
    cube, fifth, seventh = z**3, z**5, z**7
    first = (cube + z) / 4
    second = (5 * fifth + 16 * cube + 3 * z) / 96
    third = (3 * seventh + 19 * fifth + 17 * cube - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3
