"""Intervals of a mean that hold at every moment of a run at once, so that one may look after each
sample and stop when they say enough.

The empirical-Bernstein confidence sequence of S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon,
"Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49 (2021),
Theorem 4: for values X_i in 0..1 with any predictions P_i made before X_i was seen,

    exp(a * sum(X_i - E_i) - psi(a) * sum((X_i - P_i)^2)),  psi(a) = -log(1 - a) - a,  0 <= a < 1

is a supermartingale, where E_i is the mean of X_i given the past; so is its mirror image, and a
mixture over several a (Sec. 3.2 there, here a finite one). By Ville's inequality a mixture passes
2 / (1 - level) with probability (1 - level) / 2 at most, ever. The E_i need not be equal: what is
covered is their mean, so that samples may be drawn stratum by stratum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL

METHOD = "confidence sequence"
_HIGHEST = 0.95
_STEPS = 60
_NEAR = 1e-10


class Bet(NamedTuple):
    """A value of `a`, its psi(a), and the logarithm of its weight in the mixture."""

    scale: float
    psi: float
    log_weight: float


def bets(lowest: float) -> tuple[Bet, ...]:
    """Scales from `lowest` up, each twice the one before. The lower weigh more: they are made for
    many samples, where a late stop costs most."""
    scale = min(max(lowest, 1e-4), _HIGHEST)
    scales = [scale]
    while 2 * scales[-1] < _HIGHEST:
        scales.append(2 * scales[-1])
    weights = [1 / (place + 1) for place in range(len(scales))]
    total = sum(weights)
    return tuple(
        Bet(scale, -math.log1p(-scale) - scale, math.log(weight / total))
        for scale, weight in zip(scales, weights, strict=True)
    )


def bets_for_width(half_width: float) -> tuple[Bet, ...]:
    """For stopping at an interval of this half-width (in units of the range). The best scale is
    half_width / variance, and a variance of values in 0..1 is a quarter at most."""
    return bets(4 * half_width)


def bets_for_samples(most: int, level: float = DEFAULT_LEVEL) -> tuple[Bet, ...]:
    """For finding the least difference that `most` samples can tell."""
    return bets(math.sqrt(2 * math.log(2 / (1 - level)) / (0.25 * max(1, most))))


def log_evidence(deviation: float, spread: float, mixture: Sequence[Bet]) -> float:
    """Logarithm of the mixture at sum(X_i - E_i) = `deviation`, sum((X_i - P_i)^2) = `spread`."""
    terms = [bet.log_weight + bet.scale * deviation - bet.psi * spread for bet in mixture]
    largest = max(terms)
    return largest + math.log(sum(math.exp(term - largest) for term in terms))


def boundary(spread: float, mixture: Sequence[Bet], level: float = DEFAULT_LEVEL) -> float:
    """The deviation that the sum stays below at every moment, on either side, with probability
    `level`.

    Newton's method from above: the mixture's logarithm is convex and rises, and each bet alone
    gives a deviation at which it has passed.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    goal = math.log(2 / (1 - level))
    found = min((goal - bet.log_weight + bet.psi * spread) / bet.scale for bet in mixture)
    for _ in range(_STEPS):
        terms = [bet.log_weight + bet.scale * found - bet.psi * spread for bet in mixture]
        largest = max(terms)
        shares = [math.exp(term - largest) for term in terms]
        total = sum(shares)
        slope = sum(one * bet.scale for one, bet in zip(shares, mixture, strict=True)) / total
        step = (largest + math.log(total) - goal) / slope
        found -= step
        if step < _NEAR * max(1.0, found):
            break
    return found


class ConfidenceSequence:
    """The mean of values in 0..1, one after another, each of a size of at most 1."""

    def __init__(self, mixture: Sequence[Bet], level: float = DEFAULT_LEVEL) -> None:
        self.level = level
        self.size = 0.0
        self._mixture = tuple(mixture)
        self._total = 0.0
        self._spread = 0.0

    def add(self, total: float, size: float = 1.0, expected: float | None = None) -> None:
        """Add a value times its size. `expected` is what was predicted before it was seen, by
        default the mean so far; a good prediction makes the interval narrow, a bad one keeps it
        valid.

        Raises:
            ValueError: a total outside 0..size, a size outside 0..1.
        """
        if not 0 < size <= 1 or not -1e-9 <= total <= size + 1e-9:
            raise ValueError(f"expected 0 <= total <= size <= 1, got {total} of {size}")
        if expected is None:
            expected = size * self.predicted()
        self._spread += (total - min(size, max(0.0, expected))) ** 2
        self._total += total
        self.size += size

    def predicted(self) -> float:
        """The mean so far, drawn to one half by half a value."""
        return (self._total + 0.25) / (self.size + 0.5)

    @property
    def mean(self) -> float | None:
        return self._total / self.size if self.size else None

    def half_width(self) -> float:
        """Before it is cut to 0..1."""
        if not self.size:
            return math.inf
        return boundary(self._spread, self._mixture, self.level) / self.size

    def interval(self, slack: float = 0.0) -> Interval:
        """`slack` is added on both sides: how far the mean of what was drawn may lie from the
        mean that is meant."""
        mean, half = self.mean, self.half_width() + slack
        if mean is None:
            return Interval(0.0, 1.0, METHOD, self.level)
        return Interval(max(0.0, mean - half), min(1.0, mean + half), METHOD, self.level)
