"""Agreement of judges or annotators, plain and beyond chance: shares of agreeing pairs, Cohen's and
Fleiss' kappa, and Krippendorff's alpha, which allows for missing values.

Intervals are over items, for further items of this kind and the same annotators: the interval of
the observed agreement by `intervals.bounded_interval`, which is Wilson's for two annotators, with
the variance of the coefficient (B. Efron and C. Stein, "The jackknife estimate of variance", Annals
of Statistics 9 (1981)) in its place where that is larger, and then divided by the expected
disagreement. So perfect agreement on few items has a wide interval, which the usual standard error
(0 there) does not give.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import NamedTuple

from msgspec import Struct

from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL, Moments, bounded_interval, score_interval

METHOD = "jackknife, at least Wilson"
_ROUNDING = 1e-12


class AgreementEstimate(Struct, frozen=True):
    """A measure of agreement with its interval."""

    value: float | None
    """None where it is not defined: without items of two values, or where all values are equal."""
    interval: Interval | None
    items: int
    """Items with at least two values."""


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Cohen's kappa of two judges' grades of the same samples (Cohen 1960), -1..1: observed
    against expected agreement, with grades as categories.

    None without samples, and if both judges always give the same single grade, where the expected
    agreement is 1.
    """
    return _KappaSums.of(first, second).value


def fleiss_kappa(grades: Sequence[Sequence[float]]) -> float | None:
    """Fleiss' kappa of the grades of each sample, (samples, judges), with grades as categories
    (Fleiss 1971).

    None without samples, with fewer than two judges, and if all grades are the same.
    """
    if not grades or len(grades[0]) < 2:
        return None
    judges = len(grades[0])
    if any(len(row) != judges for row in grades):
        raise ValueError("every sample needs the same number of grades")
    agreement = 0.0
    overall: Counter[float] = Counter()
    for row in grades:
        counts = Counter(row)
        overall.update(counts)
        agreement += sum(c * (c - 1) for c in counts.values()) / (judges * (judges - 1))
    observed = agreement / len(grades)
    total = len(grades) * judges
    expected = sum((count / total) ** 2 for count in overall.values())
    return None if expected == 1 else (observed - expected) / (1 - expected)


def estimate_kappa(
    first: Sequence[Hashable], second: Sequence[Hashable], level: float = DEFAULT_LEVEL
) -> AgreementEstimate:
    """Cohen's kappa with its interval; both as `cohen_kappa`."""
    sums = _KappaSums.of(first, second)
    pairs = list(zip(first, second, strict=True))
    without = [sums.without(a, b).value for a, b in pairs]
    return _estimate(sums, [float(a != b) for a, b in pairs], [1.0] * len(pairs), without, level)


def estimate_alpha(values: Sequence[Sequence[Hashable | None]], level: float = DEFAULT_LEVEL) -> AgreementEstimate:
    """Krippendorff's alpha for nominal values, (items, annotators), None where a value is missing
    (K. Krippendorff, "Content Analysis" (2013), Ch. 12): 1 - observed / expected disagreement, with
    its interval.

    Items with fewer than two values do not count. Rows may differ in length. No value without items
    of two values, and if all values are the same.
    """
    units = _pairable(values)
    sums = _AlphaSums.of(units)
    sizes = [float(unit.total()) for unit in units]
    disagreements = [_unit_disagreement(unit) / size for unit, size in zip(units, sizes, strict=True)]
    return _estimate(sums, disagreements, sizes, [sums.without(unit).value for unit in units], level)


def estimate_raw_agreement(
    values: Sequence[Sequence[Hashable | None]], level: float = DEFAULT_LEVEL
) -> AgreementEstimate:
    """The share of agreeing pairs of annotators, mean over the items with at least two values, with
    the interval of a mean of scores."""
    rows = [[value for value in row if value is not None] for row in values]
    shares = [sum(a == b for a, b in combinations(row, 2)) / math.comb(len(row), 2) for row in rows if len(row) > 1]
    if not shares:
        return AgreementEstimate(None, None, 0)
    mean = math.fsum(shares) / len(shares)
    return AgreementEstimate(mean, score_interval(shares, level=level), len(shares))


class _KappaSums(NamedTuple):
    """What Cohen's kappa is computed from."""

    items: int
    agreeing: int
    products: int
    """Sum over categories of the two judges' counts multiplied."""
    ours: Counter[Hashable]
    theirs: Counter[Hashable]

    @classmethod
    def of(cls, first: Sequence[Hashable], second: Sequence[Hashable]) -> _KappaSums:
        if len(first) != len(second):
            raise ValueError(f"{len(first)} and {len(second)} grades; expected as many")
        ours, theirs = Counter(first), Counter(second)
        agreeing = sum(a == b for a, b in zip(first, second, strict=True))
        return cls(len(first), agreeing, sum(ours[it] * theirs[it] for it in ours), ours, theirs)

    @property
    def expected_disagreement(self) -> float:
        """By chance."""
        return 1 - self.products / self.items**2 if self.items else 0.0

    @property
    def value(self) -> float | None:
        return _coefficient(1 - self.agreeing / self.items if self.items else 0, self.expected_disagreement)

    def without(self, first: Hashable, second: Hashable) -> _KappaSums:
        """The sums without one item. The counts, of all items, are not used further."""
        same = int(first == second)
        products = self.products - self.theirs[first] - self.ours[second] + same
        return self._replace(items=self.items - 1, agreeing=self.agreeing - same, products=products)


class _AlphaSums(NamedTuple):
    """What Krippendorff's alpha is computed from."""

    values: int
    """Values in items with at least two."""
    disagreement: float
    """Sum over items: disagreeing ordered pairs / (values of the item - 1)."""
    squares: int
    """Sum over categories of their squared counts."""
    counts: Counter[Hashable]

    @classmethod
    def of(cls, units: Sequence[Counter[Hashable]]) -> _AlphaSums:
        counts: Counter[Hashable] = Counter()
        for unit in units:
            counts.update(unit)
        squares = sum(n * n for n in counts.values())
        return cls(counts.total(), math.fsum(map(_unit_disagreement, units)), squares, counts)

    @property
    def expected_disagreement(self) -> float:
        """By chance."""
        pairs = self.values * (self.values - 1)
        return (self.values**2 - self.squares) / pairs if pairs else 0.0

    @property
    def value(self) -> float | None:
        return _coefficient(self.disagreement / max(self.values, 1), self.expected_disagreement)

    def without(self, unit: Counter[Hashable]) -> _AlphaSums:
        """The sums without one item. The counts, of all items, are not used further."""
        changed = sum(n * (n - 2 * self.counts[value]) for value, n in unit.items())
        return self._replace(
            values=self.values - unit.total(),
            disagreement=self.disagreement - _unit_disagreement(unit),
            squares=self.squares + changed,
        )


def _coefficient(observed: float, expected: float) -> float | None:
    """Agreement beyond chance of two disagreements; None where nothing could disagree."""
    return None if expected < _ROUNDING else 1 - observed / expected


def _pairable(values: Sequence[Sequence[Hashable | None]]) -> list[Counter[Hashable]]:
    """The counts of values of each item with at least two."""
    units = (Counter(value for value in row if value is not None) for row in values)
    return [unit for unit in units if unit.total() > 1]


def _unit_disagreement(unit: Counter[Hashable]) -> float:
    size = unit.total()
    return float(size**2 - sum(n * n for n in unit.values())) / (size - 1)


def _estimate(
    sums: _KappaSums | _AlphaSums,
    disagreements: Sequence[float],
    sizes: Sequence[float],
    without: Sequence[float | None],
    level: float,
) -> AgreementEstimate:
    """A coefficient, 1 - observed / expected disagreement, with its interval.

    Args:
        disagreements: of each item, 0..1.
        sizes: how much each item counts in the observed disagreement.
        without: the coefficient without each item, for the jackknife.

    No interval for one item, and where leaving one out leaves nothing to compare.
    """
    n, expected = len(disagreements), sums.expected_disagreement
    kept = [value for value in without if value is not None]
    if sums.value is None or n < 2 or len(kept) < n:
        return AgreementEstimate(sums.value, None, n)
    total = math.fsum(sizes)
    parts = [(size / total, each) for size, each in zip(sizes, disagreements, strict=True)]
    observed = math.fsum(w * d for w, d in parts)
    mean = math.fsum(kept) / n
    jackknife = (n - 1) / n * math.fsum((value - mean) ** 2 for value in kept)
    squares = math.fsum(w * w for w, _ in parts)
    independent = math.fsum((w * (d - observed)) ** 2 for w, d in parts)
    agreement = bounded_interval(
        Moments(1 - observed, expected**2 * jackknife, independent, squares, squares), METHOD, level
    )
    low, high = (1 - (1 - end) / expected for end in (agreement.low, agreement.high))
    return AgreementEstimate(sums.value, Interval(max(-1.0, low), high, METHOD, level), n)
