"""Sums over samples that are not asked yet, with intervals, from those that are.

Each pending sample is expected to take what lies, on a line, between the two measured samples whose
prompts are next in size. So measured samples have weights, by which the very long prompts of a
probe count as often as there are such prompts. The interval is a prediction interval by Student's t
(95 %) for the sum over the pending samples: with the variance around the trend over size, from
neighbours (T. Gasser and others, Biometrika 73, 1986), and the effective number of measured samples
(L. Kish, "Survey Sampling", 1965).
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from snellen.engine.forecast.sample_costs import SampleCost
from snellen.stats.student_t import two_sided_quantile

LEVEL = 0.95
_SPREAD = 0.01
"""Smallest half-width of an interval, relative to its middle: samples that took all the same are no
proof that the others will."""


class Projected(Struct, frozen=True):
    """An expected number, and the ends of its interval."""

    expected: float
    low: float
    high: float


class SampleWeights:
    """Measured samples in order of their size, each with the number of pending samples that it
    stands for."""

    def __init__(self, measured: Sequence[SampleCost], pending: Sequence[float]) -> None:
        """`pending` are the sizes of the pending samples."""
        self.samples = sorted(measured, key=lambda each: each.size)
        self.total = len(pending)
        sizes = [each.size for each in self.samples]
        distinct = sorted(set(sizes))
        counts = dict.fromkeys(distinct, 0.0)
        for size in pending:
            for near, share in _neighbours(distinct, size):
                counts[near] += share
        equal = dict.fromkeys(distinct, 0)
        for size in sizes:
            equal[size] += 1
        self.weights = [counts[size] / equal[size] for size in sizes]
        squares = sum(weight**2 for weight in self.weights)
        self.effective = sum(self.weights) ** 2 / squares if squares else float(len(sizes))

    def project(self, value: Callable[[SampleCost], float]) -> Projected:
        """The sum of a value over the pending samples; it is never negative."""
        if not self.total:
            return Projected(0.0, 0.0, 0.0)
        values = [value(each) for each in self.samples]
        expected = float(sum(map(operator.mul, self.weights, values)))
        variance = self._variance(values)
        error = math.sqrt(variance * (1 / self.effective + 1 / self.total)) * self.total
        half = two_sided_quantile(LEVEL, max(1.0, self.effective - 1)) * error
        half = max(half, _SPREAD * expected)
        return Projected(expected, max(0.0, expected - half), expected + half)

    def _variance(self, values: Sequence[float]) -> float:
        """Variance around the trend over size: of what each sample differs from the line between
        its two neighbours, by weight, so that one very long prompt does not decide it."""
        total = squares = 0.0
        for index in range(1, len(values) - 1):
            left, size, right = (each.size for each in self.samples[index - 1 : index + 2])
            share = (size - left) / (right - left) if right > left else 0.5
            line = (1 - share) * values[index - 1] + share * values[index + 1]
            weight = self.weights[index]
            total += weight
            scale = 1 + (1 - share) ** 2 + share**2
            squares += weight * (values[index] - line) ** 2 / scale
        return squares / total if total else 0.0


def _neighbours(ordered: Sequence[float], value: float) -> Iterator[tuple[float, float]]:
    """The numbers around `value`, each with its share: larger for the nearer one."""
    at = bisect_left(ordered, value)
    if at == len(ordered) or ordered[at] == value or at == 0:
        yield ordered[min(at, len(ordered) - 1)], 1.0
        return
    left, right = ordered[at - 1 : at + 1]
    share = (value - left) / (right - left)
    yield left, 1 - share
    yield right, share
