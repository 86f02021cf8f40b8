"""Confidence sequences: intervals of a mean that hold at every moment of a run at once, so that one
may look after each sample and stop when the interval is narrow enough.

A capital process, as in I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random
variables by betting", JRSS B 86 (2024), Sec. 4, around predictions P_i made before the value X_i in
0..1 was seen. With E_i the mean of X_i given the past, and 1 + x <= exp(x),

    prod(1 + a * (X_i - P_i)) * exp(-a * sum(E_i - P_i)),  0 < a < 1

is a supermartingale that starts at 1; so is its mirror image (-a), and a mixture over several a. By
Ville's inequality a mixture passes 2 / (1 - level) with probability (1 - level) / 2 at most, ever.
Solved for sum(E_i) it bounds the mean of the E_i from both sides. It is never wider than the
empirical-Bernstein sequence of S. R. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, Annals of
Statistics 49 (2021), Theorem 4, which has a lower bound of the logarithm in its place. The E_i need
not be equal, so that samples may be drawn stratum by stratum.

How many samples a rule takes that may stop early is forecast from the same mixture. While the predictions are right,
the products grow by about exp(-a^2 v / 2) a draw, where v is the variance of a draw. So after n draws the half-width
of the mean has come down to h where

    sum over a of w_a * exp(a * h * r(n) - n * a^2 * v / 2) = 2 / (1 - level)

with w_a the weight of the scale a, r(n) = n for an unlimited supply, and r(n) = -N * log(1 - n / N) for draws without
replacement from N values (`stats.finite_sequences`). The smallest such n is the forecast; about half of all runs take
more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL

METHOD = "confidence sequence"
NO_DIFFERENCE = 0.5
"""No difference between two systems, on the scale (difference + 1) / 2 of values in 0..1."""
_MAX_SCALE = 0.95
"""Scales must stay below 1: there a bet can lose all capital in one step."""
_STEPS = 60
_TOLERANCE = 1e-10


class Bet(NamedTuple):
    """One component of the mixture: its scale a, and the logarithm of its weight."""

    scale: float
    log_weight: float


def bets(min_scale: float, *, with_max_scale: bool = False) -> tuple[Bet, ...]:
    """A mixture of bets whose scales double from `min_scale` on; `with_max_scale` adds the highest
    scale at the end. Lower scales weigh more: they serve long runs, where a late stop costs most.
    """
    scales = [min(max(min_scale, 1e-4), _MAX_SCALE)]
    while 2 * scales[-1] < _MAX_SCALE:
        scales.append(2 * scales[-1])
    if with_max_scale and scales[-1] < _MAX_SCALE:
        scales.append(_MAX_SCALE)
    weights = [1 / (index + 1) for index in range(len(scales))]
    total = sum(weights)
    return tuple(Bet(scale, math.log(weight / total)) for scale, weight in zip(scales, weights, strict=True))


def bets_for_width(half_width: float) -> tuple[Bet, ...]:
    """Bets for stopping at an interval of this half-width, in units of the range 0..1. The best
    scale is half_width / variance, and the variance of values in 0..1 is at most 1/4."""
    return bets(4 * half_width)


def bets_for_samples(max_samples: int, level: float = DEFAULT_LEVEL) -> tuple[Bet, ...]:
    """Bets for the smallest difference that `max_samples` draws can detect. The sum over many
    samples varies far less than its range allows, and then the highest scale is best."""
    return bets(math.sqrt(2 * math.log(2 / (1 - level)) / (0.25 * max(1, max_samples))), with_max_scale=True)


def interval_of_differences(
    totals: Sequence[float], sizes: Sequence[float], max_clusters: int, level: float = DEFAULT_LEVEL
) -> Interval:
    """Interval of a mean difference, valid even if the number of clusters was chosen by looking at
    the differences; both ends in -1..1.

    `totals` are the sums of the differences, each in -1..1, over the `sizes` samples of each
    cluster; there could have been up to `max_clusters`. Every cluster is predicted to have no
    difference, so that the order of the clusters does not matter, and 0 is outside only if betting
    on differences of one sign has paid. Raises ValueError for no clusters, or a total beyond its
    size.
    """
    if len(sizes) == 0 or len(totals) != len(sizes):
        raise ValueError(f"got {len(totals)} totals and {len(sizes)} sizes of clusters")
    largest = max(sizes)
    sequence = ConfidenceSequence(bets_for_samples(max_clusters, level), level)
    for total, size in zip(totals, sizes, strict=True):
        # Differences are moved from -1..1 to 0..1 by (difference + 1) / 2; clusters count by size.
        share = size / largest
        sequence.add((total + size) / (2 * largest), share, NO_DIFFERENCE * share)
    interval = sequence.interval()
    return Interval(2 * interval.low - 1, 2 * interval.high - 1, interval.method, level)


class ConfidenceSequence:
    """A confidence sequence of the mean of values in 0..1 that arrive one after another.

    Each value has a size of at most 1, known before the value; the mean is weighted by size.
    """

    def __init__(self, mixture: Sequence[Bet], level: float = DEFAULT_LEVEL) -> None:
        if not 0 < level < 1 or not mixture:
            raise ValueError(f"expected bets and a level between 0 and 1, got {level}")
        self.level = level
        self.size = 0.0
        self._mixture = tuple(mixture)
        self._total = 0.0
        self._expected = 0.0
        # For each bet the logarithm of prod(1 + a (X_i - P_i)), and of its mirror image (-a).
        self._gains = [0.0] * len(self._mixture)
        self._losses = [0.0] * len(self._mixture)

    def add(self, total: float, size: float = 1.0, expected: float | None = None) -> None:
        """Add a value times its size.

        `expected` is the prediction of `total`, made before seeing it, by default from the mean so
        far. A good prediction makes the interval narrow; with a bad one it is still valid. Raises
        ValueError for a total outside 0..size, a size outside 0..1.
        """
        if not 0 < size <= 1 or not -1e-9 <= total <= size + 1e-9:
            raise ValueError(f"expected 0 <= total <= size <= 1, got {total} of {size}")
        if expected is None:
            expected = size * self.prediction()
        expected = min(size, max(0.0, expected))
        surprise = total - expected
        # Logarithms, so that products of thousands of factors neither overflow nor vanish.
        for index, bet in enumerate(self._mixture):
            self._gains[index] += math.log1p(bet.scale * surprise)
            self._losses[index] += math.log1p(-bet.scale * surprise)
        self._expected += expected
        self._total += total
        self.size += size

    def prediction(self) -> float:
        """The mean so far, shrunk towards 1/2 by half a value."""
        return (self._total + 0.25) / (self.size + 0.5)

    @property
    def mean(self) -> float | None:
        return self._total / self.size if self.size else None

    def interval(self, slack: float = 0.0) -> Interval:
        """Interval of the mean, in 0..1. `slack` is added on both sides: how far the mean of the
        drawn values may be from the mean of interest."""
        if not self.size:
            return Interval(0.0, 1.0, METHOD, self.level)
        low, high = (bound / self.size for bound in self.sum_bounds())
        return Interval(max(0.0, low - slack), min(1.0, high + slack), METHOD, self.level)

    def is_above(self, mean: float) -> bool:
        """Whether the interval lies above `mean`; ten times faster than computing the interval."""
        return self._exceeds_bound(self._gains, self._expected - mean * self.size)

    def is_below(self, mean: float) -> bool:
        """Whether the interval lies below `mean`."""
        return self._exceeds_bound(self._losses, mean * self.size - self._expected)

    def _exceeds_bound(self, logs: Sequence[float], reach: float) -> bool:
        """Whether the mixture of exp(log + scale * reach) exceeds 2 / (1 - level): by Ville's
        inequality the probability of that is at most (1 - level) / 2 over the whole run."""
        terms = [bet.log_weight + log + bet.scale * reach for bet, log in zip(self._mixture, logs, strict=True)]
        largest = max(terms)
        total = largest + math.log(sum(math.exp(term - largest) for term in terms))
        return total > math.log(2 / (1 - self.level))

    def sum_bounds(self) -> tuple[float, float]:
        """Both ends of the sum of the conditional means E_i of the added values."""
        return (self._expected - self._solve_bound(self._gains), self._expected + self._solve_bound(self._losses))

    def _solve_bound(self, logs: Sequence[float]) -> float:
        """The x at which the mixture of exp(log + scale * x) reaches its bound, by Newton's method.

        The logarithm of the mixture is convex and increasing, so that Newton's method converges
        monotonically from any x above the solution. Such an x is where a single bet reaches the
        bound by itself.
        """
        goal = math.log(2 / (1 - self.level))
        lines = [(bet.log_weight + log, bet.scale) for bet, log in zip(self._mixture, logs, strict=True)]
        solution = min((goal - log) / scale for log, scale in lines)
        for _ in range(_STEPS):
            terms = [log + scale * solution for log, scale in lines]
            largest = max(terms)
            shares = [math.exp(term - largest) for term in terms]
            total = sum(shares)
            slope = sum(w * scale for w, (_, scale) in zip(shares, lines, strict=True)) / total
            step = (largest + math.log(total) - goal) / slope
            solution -= step
            if step < _TOLERANCE * max(1.0, abs(solution)):
                break
        return solution


_MAX_DRAWS = 2**60


def expected_draws(
    half_width: float,
    variance: float,
    mixture: Sequence[Bet],
    population: float = math.inf,
    level: float = DEFAULT_LEVEL,
) -> int | None:
    """Draws after which the interval of a mean of values in 0..1 is expected to extend at most
    `half_width` to either side, out of `population` values; None if it takes all of them. Raises
    ValueError for a half-width that is not above 0, a variance outside 0..0.25.
    """
    if half_width <= 0 or not 0 <= variance <= 0.25:
        raise ValueError(f"expected half_width > 0 and variance in 0..0.25, got {half_width}, {variance}")
    goal = math.log(2 / (1 - level))

    def is_reached(draws: int) -> bool:
        reach = draws if math.isinf(population) else -population * math.log1p(-draws / population)
        logs = [
            bet.log_weight + bet.scale * half_width * reach - draws * bet.scale**2 * variance / 2 for bet in mixture
        ]
        largest = max(logs)
        return largest + math.log(sum(math.exp(log - largest) for log in logs)) >= goal

    last = _MAX_DRAWS if math.isinf(population) else math.ceil(population) - 1
    upper = 1
    while upper < last and not is_reached(upper):
        upper *= 2
    upper = min(upper, last)
    if upper < 1 or not is_reached(upper):
        return None
    lower = upper // 2
    while upper - lower > 1:
        middle = (lower + upper) // 2
        lower, upper = (lower, middle) if is_reached(middle) else (middle, upper)
    return upper
