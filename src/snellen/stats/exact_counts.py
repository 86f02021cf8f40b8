"""Exact tests of counts: a count of events of unequal probability, and the counts of categories.

The count of independent events of unequal probability has the Poisson binomial distribution. Above
a few thousand events it is approximated as A. Volkova, Theory of Probability and its Applications
40 (1996) does, whose error falls with the variance itself, not its root (Y. Hong, Computational
Statistics and Data Analysis 59, 2013). Categories: Pearson's statistic over every possible table
where these are few, else as `chi_square.pearson`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from snellen.core.arrays import Floats, np
from snellen.stats.chi_square import ChiSquare, pearson

MAX_EXACT_EVENTS = 4_000
"""Events up to which the distribution of a count is computed exactly: its time grows with the
square."""
MAX_TABLES = 20_000
"""Tables up to which all are listed for the exact test of categories."""
_ROUNDING = 1 + 1e-9
"""Tables whose statistics differ by less are equally extreme."""


class CountTails(NamedTuple):
    """Probabilities of a count as small, and as large, as the observed one; both include it."""

    lower: float
    upper: float

    @property
    def two_sided(self) -> float:
        """Twice the smaller tail, at most 1."""
        return min(1.0, 2 * min(self))


class EventGroup(NamedTuple):
    """Independent events of one probability."""

    probability: float
    events: int


def count_tails(groups: Iterable[EventGroup], observed: int) -> CountTails:
    """The tails of the number of events that happen, at `observed`.

    Exact up to `MAX_EXACT_EVENTS` events of a probability other than 0 and 1, else Volkova's normal
    approximation with a correction for skewness. Both tails are 1 if nothing is random. Raises
    ValueError for a probability outside 0..1, a negative number of events, or an `observed` count
    that is impossible.
    """
    certain, random = 0, []
    for group in groups:
        if not 0 <= group.probability <= 1 or group.events < 0:
            raise ValueError(f"expected a probability in 0..1 and events >= 0, got {group}")
        if group.probability == 1:
            certain += group.events
        elif group.probability and group.events:
            random.append(group)
    count, total = observed - certain, sum(group.events for group in random)
    if not 0 <= count <= total:
        raise ValueError(f"a count of {observed} is impossible: {certain} to {certain + total}")
    if not total:
        return CountTails(1.0, 1.0)
    if total > MAX_EXACT_EVENTS:
        return CountTails(_normal_lower(random, count), _normal_upper(random, count))
    chances = count_distribution(random)
    return CountTails(min(1.0, float(chances[: count + 1].sum())), min(1.0, float(chances[count:].sum())))


def count_distribution(groups: Sequence[EventGroup]) -> Floats:
    """Probability of each count 0, 1, ..., the number of events.

    Sums of products of positive numbers, so that small tails keep their digits.
    """
    chances = np.ones(1)
    for probability, events in groups:
        chances = np.convolve(chances, _binomial(events, probability))
    return chances


def _binomial(events: int, probability: float) -> Floats:
    if not 0 < probability < 1:
        certain = np.zeros(events + 1)
        certain[events if probability else 0] = 1.0
        return certain
    logs = np.array([math.lgamma(count + 1) for count in range(events + 1)])
    counts = np.arange(events + 1)
    ways = logs[-1] - logs - logs[::-1]
    chances: Floats = np.exp(ways + counts * math.log(probability) + counts[::-1] * math.log1p(-probability))
    return chances


def _normal_lower(groups: Sequence[EventGroup], count: int) -> float:
    """P(count or fewer) by the normal distribution, corrected for skewness."""
    mean = sum(events * p for p, events in groups)
    variance = sum(events * p * (1 - p) for p, events in groups)
    third = sum(events * p * (1 - p) * (1 - 2 * p) for p, events in groups)
    skewness = third / (variance * math.sqrt(variance))
    z = (count + 0.5 - mean) / math.sqrt(variance)
    density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return min(1.0, max(0.0, math.erfc(-z / math.sqrt(2)) / 2 + skewness * (1 - z * z) * density / 6))


def _normal_upper(groups: Sequence[EventGroup], count: int) -> float:
    """P(count or more): the lower tail of the events that do not happen."""
    opposite = [EventGroup(1 - p, events) for p, events in groups]
    return _normal_lower(opposite, sum(events for _, events in groups) - count)


def exact_pearson(counts: Sequence[int], shares: Sequence[float]) -> ChiSquare | None:
    """Pearson's test of the counts of categories against expected shares, exact where the possible
    tables are few: p is then the probability of a table with a statistic as large.

    None for fewer than two categories or nothing counted. Raises ValueError as `pearson` does.
    """
    n, categories = sum(counts), len(counts)
    if not n or categories < 2 or math.comb(n + categories - 1, categories - 1) > MAX_TABLES:
        return pearson([(counts, shares)])
    if any(share <= 0 for share in shares) or abs(sum(shares) - 1) > _ROUNDING - 1:
        raise ValueError(f"expected shares must be positive and sum to 1, got {shares}")
    observed = _statistic(counts, shares)
    logs = [math.log(share) for share in shares]
    p = math.fsum(
        math.exp(math.lgamma(n + 1) + sum(k * log - math.lgamma(k + 1) for k, log in zip(table, logs, strict=True)))
        for table in _tables(n, categories)
        if _statistic(table, shares) * _ROUNDING >= observed
    )
    return ChiSquare(observed, categories - 1, min(1.0, p))


def _statistic(counts: Sequence[int], shares: Sequence[float]) -> float:
    n = sum(counts)
    return sum((k - n * share) ** 2 / (n * share) for k, share in zip(counts, shares, strict=True))


def _tables(n: int, categories: int) -> Iterator[tuple[int, ...]]:
    """Every way to split `n` over the categories."""
    if categories == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in _tables(n - first, categories - 1):
            yield (first, *rest)
