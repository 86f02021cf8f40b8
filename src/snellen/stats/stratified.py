"""Interval of a mean of group means (a benchmark's subtasks), where questions of several groups may
be about one picture.

The variance is that of ultimate clusters (K. M. Wolter, "Introduction to Variance Estimation"
(2007), Ch. 6; A. C. Cameron and D. L. Miller, "A Practitioner's Guide to Cluster-Robust
Inference", Journal of Human Resources 50 (2015), Sec. II): the mean is a sum over samples, each
with the weight of its group over the group's size, and a cluster counts with the square of the sum
of its weighted residuals, in whatever groups they are. It goes into Wilson's interval as an
effective sample size (C. Franco, R. Little, T. Louis and E. Slud, Journal of Survey Statistics and
Methodology 7 (2019)), as for the mean of one group in `intervals`.

A group of few samples, or of samples that are all right, tells little of its own variance. So each
group is seen with one sample more, whose distribution is that of all groups (the unit information
of R. E. Kass and L. Wasserman, Journal of the American Statistical Association 90 (1995)); what
this does to the expected variance of groups that are alike is taken out again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from operator import mul
from statistics import NormalDist
from typing import NamedTuple

from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL, wilson
from snellen.stats.student import two_sided_quantile

_BORROWED = 1.0
"""Samples that each group borrows from all groups."""
_NOTHING = 1e-12
"""A variance of scores in 0..1 that is no more than rounding."""


class Sums(NamedTuple):
    """Number of scores in 0..1, their sum, and the sum of their squares."""

    n: int
    total: float
    squares: float

    def around(self, centre: float) -> float:
        """Sum of the squared distances from `centre`."""
        return self.squares - 2 * centre * self.total + self.n * centre * centre


class Tally(NamedTuple):
    """The scores of one group, summed by cluster: all that the interval of a mean needs."""

    every: Sums
    alone: Sums
    """Those of samples that belong to no cluster."""
    clusters: Mapping[str, Sequence[float]]
    """Number of samples and sum of scores of each cluster."""

    @property
    def mean(self) -> float:
        return self.every.total / self.every.n


def tally(scores: Sequence[float], clusters: Sequence[str]) -> Tally:
    """Scores in 0..1, each with the name of its cluster; an empty name stands alone.

    Raises:
        ValueError: not as many clusters as scores.
    """
    if len(scores) != len(clusters):
        raise ValueError(f"got {len(scores)} scores but {len(clusters)} clusters")
    every = _sums(scores)
    if not any(clusters):
        return Tally(every, every, {})
    found: dict[str, list[float]] = {}
    alone = []
    for score, cluster in zip(scores, clusters, strict=True):
        if not cluster:
            alone.append(score)
        elif (held := found.get(cluster)) is None:
            found[cluster] = [1, score]
        else:
            held[0] += 1
            held[1] += score
    return Tally(every, _sums(alone), found)


def _sums(scores: Sequence[float]) -> Sums:
    return Sums(len(scores), sum(scores), sum(map(mul, scores, scores)))


def mean_of_groups(
    groups: Sequence[Tally],
    *,
    weights: Sequence[float] | None = None,
    level: float = DEFAULT_LEVEL,
) -> Interval:
    """Interval in 0..1 of the mean of the groups' means; every group weighs the same unless
    `weights` say what each weighs, which then sum to 1.

    Right (1) and wrong (0) in a single group have the interval of `intervals.clustered_wilson`.
    As there, the effective size falls by the design effect and for few clusters, and a design
    effect below 1 narrows nothing. Where all scores are the same, clusters count and not samples.

    Raises:
        ValueError: no groups, a group without scores, or not as many weights.
    """
    shares = weights or [1 / len(groups) for _ in groups]
    if not groups or len(shares) != len(groups) or not all(one.every.n for one in groups):
        raise ValueError(
            f"a mean of groups needs scores in each of at least one group, and a weight for each; "
            f"got {len(groups)} groups of {[one.every.n for one in groups]} scores and "
            f"{len(shares)} weights"
        )
    weighed = _Weighed(list(zip(groups, shares, strict=True)))
    size = max(1.0, weighed.effective_size(level))
    found = wilson(size * weighed.mean, size, level)
    parts = ("wilson", *(() if weighed.apart else ("clustered",)), *(groups[1:] and ("combined",)))
    return Interval(found.low, found.high, ", ".join(parts), level)


class _Weighed:
    """Groups, each with its weight."""

    def __init__(self, groups: Sequence[tuple[Tally, float]]) -> None:
        self._groups = groups
        self.mean = min(1.0, math.fsum(weight * one.mean for one, weight in groups))
        self._square = math.fsum(weight * one.every.squares / one.every.n for one, weight in groups)
        self._n = sum(one.every.n for one, _ in groups)
        named = set[str]().union(*(one.clusters for one, _ in groups))
        self._count = len(named) + sum(one.alone.n for one, _ in groups)
        self._binary = all(one.every.squares == one.every.total for one, _ in groups)

    @property
    def apart(self) -> bool:
        """Whether every sample is a cluster of its own."""
        return self._count == self._n

    def effective_size(self, level: float) -> float:
        if self._square - self.mean**2 <= _NOTHING or self._count < 2:
            return 1 / self._square_of_clusters()
        independent = self.mean * (1 - self.mean) / self._independent()
        if self.apart and self._binary:
            return independent
        few = NormalDist().inv_cdf(0.5 + level / 2) / two_sided_quantile(level, self._count - 1)
        design = 1.0 if self.apart else self._design()
        return min(independent, independent * few**2 / design) if design > 0 else independent

    def _centre(self, one: Tally) -> float:
        return (one.every.total + _BORROWED * self.mean) / (one.every.n + _BORROWED)

    def _independent(self) -> float:
        """Variance of the mean if every sample stood alone."""
        spread = math.fsum(weight**2 / one.every.n for one, weight in self._groups)
        found = 0.0
        for one, weight in self._groups:
            n = one.every.n
            own = n / (n + _BORROWED)
            square = own * one.every.squares / n + (1 - own) * self._square
            # Of groups that are alike: how far the variance about their estimated centre, itself
            # a mean of so many samples, falls short.
            short = own**2 / n + (1 - own) ** 2 * spread + 2 * own * (1 - own) * weight / n
            # Wilson's interval of a share falls short likewise, and makes up for it by itself.
            kept = (1 - short) / (1 - spread) if self._binary else 1 - short
            found += weight**2 * (square - self._centre(one) ** 2) / kept / n
        return found

    def _design(self) -> float:
        """How much larger the variance is for the clusters, as far as the residuals tell."""
        sums: dict[str, float] = defaultdict(float)
        clustered = single = 0.0
        for one, weight in self._groups:
            centre, each = self._centre(one), weight / one.every.n
            single += each**2 * one.every.around(centre)
            clustered += each**2 * one.alone.around(centre)
            for name, (n, total) in one.clusters.items():
                sums[name] += each * (total - n * centre)
        clustered += math.fsum(value * value for value in sums.values())
        return self._count / (self._count - 1) * clustered / single

    def _square_of_clusters(self) -> float:
        """Sum of the squares of the clusters' weights; in a group every cluster weighs the same."""
        sums: dict[str, float] = defaultdict(float)
        found = 0.0
        for one, weight in self._groups:
            each = weight / (one.alone.n + len(one.clusters))
            found += each**2 * one.alone.n
            for name in one.clusters:
                sums[name] += each
        return found + math.fsum(value * value for value in sums.values())
