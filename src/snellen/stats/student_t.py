"""Tail and quantile of Student's t, for integer and fractional degrees of freedom, without scipy,
which takes 572 ms to import.

The tail is a regularised incomplete beta function (M. Abramowitz and I. Stegun, "Handbook of
Mathematical Functions" (1964), 26.7.1 and 26.5.27), by the continued fraction 26.5.8, summed as in
W. J. Lentz, Applied Optics 15 (1976). The quantile is the root of that tail, so that a test and an
interval made of the two agree.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_NORMAL = 1e7
"""Degrees of freedom from which the normal distribution is used instead."""
_STEPS = 50
_TERMS = 20_000
_TOLERANCE = 2e-15
_NEWTON_TOLERANCE = 1e-11
"""Last step of Newton's method; the remaining error is of the order of its square."""
_TINY = 1e-300


@lru_cache(maxsize=4096)
def two_sided_quantile(level: float, freedom: float) -> float:
    """The t with P(-t < T < t) = `level` for `freedom` > 0 degrees of freedom. Raises ValueError
    for level outside (0, 1), or no degrees of freedom.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    tail = 1 - level
    # Newton's method on logarithms, where the tail of few degrees of freedom is nearly a line. It
    # starts below the root, because the normal distribution has the lighter tail.
    t = NormalDist().inv_cdf(1 - tail / 2)
    if freedom >= _NORMAL:
        return t
    for _ in range(_STEPS):
        current = two_sided_tail(t, freedom)
        slope = -2 * t * _density(t, freedom) / current
        factor = math.exp((math.log(tail) - math.log(current)) / slope)
        t *= factor
        if abs(factor - 1) < _NEWTON_TOLERANCE:
            break
    return t


def _density(t: float, freedom: float) -> float:
    power = -(freedom + 1) / 2 * math.log1p(t * t / freedom)
    return math.exp(power - _log_beta(freedom / 2, 0.5)) / math.sqrt(freedom)


def two_sided_tail(t: float, freedom: float) -> float:
    """P(|T| >= |t|) for `freedom` > 0 degrees of freedom. Raises ValueError for no degrees of
    freedom.
    """
    if not freedom > 0:
        raise ValueError(f"Student's t needs degrees of freedom above 0, got {freedom}")
    if math.isnan(t):
        return t
    if freedom >= _NORMAL:
        return math.erfc(abs(t) / math.sqrt(2))
    square = min(abs(t), 1e150) ** 2
    a, b = freedom / 2, 0.5
    # I_x(a, 1/2) with x = freedom / (freedom + t^2). Both x and 1 - x are computed directly, so
    # that neither loses digits when it is close to 0.
    x, complement = freedom / (freedom + square), square / (freedom + square)
    if not complement:
        return 1.0
    logarithm = -a * math.log1p(square / freedom) + b * math.log(complement)
    front = math.exp(logarithm - _log_beta(a, b))
    if x < (a + 1) / (a + b + 2):
        tail = front / a * _continued_fraction(a, b, x)
    else:
        tail = 1 - front / b * _continued_fraction(b, a, complement)
    return min(1.0, max(0.0, tail))


def _continued_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of I_x(a, b), for x below (a + 1) / (a + b + 2)."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            # Replaced when close to 0, by which will be divided (Lentz).
            d, c = 1 + term * d, 1 + term / c
            d = 1 / (d if abs(d) >= _TINY else _TINY)
            c = c if abs(c) >= _TINY else _TINY
            step *= c * d
        value *= step
        if abs(step - 1) < _TOLERANCE:
            break
    return value


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
