"""Interval of a mean of group means (a benchmark's subtasks), where questions of several groups may
be about one picture.

The variance is that of ultimate clusters (K. M. Wolter, "Introduction to Variance Estimation"
(2007), Ch. 6; A. C. Cameron and D. L. Miller, "A Practitioner's Guide to Cluster-Robust
Inference", Journal of Human Resources 50 (2015), Sec. II): the mean is a sum over samples, each
with the weight of its group over the group's size, and a cluster counts with the square of the sum
of its weighted residuals, in whatever groups they are. Each group's residuals are corrected for its
own number of clusters; groups of a single cluster are collapsed strata (Wolter, Sec. 2.5). The
interval is `intervals.bounded`, as that of the mean of one group.

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
from typing import NamedTuple

from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL, Moments, bounded, freedom_of

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

    Right (1) and wrong (0) in a single group have the interval of `intervals.score_interval`. As
    there, a design effect below 1 narrows nothing, and where all scores are the same, clusters
    count and not samples.

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
    parts = (
        "wilson",
        *(() if weighed.binary else ("graded",)),
        *(() if weighed.apart else ("clustered",)),
        *(groups[1:] and ("combined",)),
    )
    return bounded(weighed.moments(), ", ".join(parts), level)


class _Weighed:
    """Groups, each with its weight."""

    def __init__(self, groups: Sequence[tuple[Tally, float]]) -> None:
        self._groups = groups
        self.mean = min(1.0, math.fsum(weight * one.mean for one, weight in groups))
        self._square = math.fsum(weight * one.every.squares / one.every.n for one, weight in groups)
        self._n = sum(one.every.n for one, _ in groups)
        named = set[str]().union(*(one.clusters for one, _ in groups))
        self._count = len(named) + sum(one.alone.n for one, _ in groups)
        self.binary = all(one.every.squares == one.every.total for one, _ in groups)

    @property
    def apart(self) -> bool:
        """Whether every sample is a cluster of its own."""
        return self._count == self._n

    def moments(self) -> Moments:
        samples = math.fsum(weight**2 / one.every.n for one, weight in self._groups)
        alike = self._square - self.mean**2 <= _NOTHING
        alone = 0.0 if alike else self._independent()
        clusters = self._clusters()
        shares = samples if self.apart else math.fsum(share**2 for share, _ in clusters)
        if alike or self._count < 2:
            return Moments(self.mean, alone * shares / samples, alone, shares, samples)
        freedom = None if self.apart and self.binary else freedom_of(clusters)
        design = 1.0 if self.apart else self._design()
        return Moments(self.mean, alone * design, alone, shares, samples, freedom)

    def _clusters(self) -> list[tuple[float, float]]:
        """The share of each cluster in the mean, over all groups it is in, and the largest of the
        corrections of these groups."""
        single: list[tuple[float, float]] = []
        shares: dict[str, float] = defaultdict(float)
        fews: dict[str, float] = defaultdict(float)
        for one, weight in self._groups:
            each, few = weight / one.every.n, _few(one)
            single += [(each, few)] * one.alone.n
            for name, (size, _) in one.clusters.items():
                shares[name] += each * size
                fews[name] = max(fews[name], few)
        return [*single, *((share, fews[name]) for name, share in shares.items())]

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
            kept = (1 - short) / (1 - spread) if self.binary else 1 - short
            found += weight**2 * (square - self._centre(one) ** 2) / kept / n
        return found

    def _design(self) -> float:
        """How much larger the variance is for the clusters, as far as the residuals tell; 1 where
        they tell nothing.

        Each group has a mean of its own, so its residuals are too small by what its own number of
        clusters takes from them, whatever the number in all groups. A group of a single cluster
        has no residual: it is joined with the next such groups (collapsed strata), whose spread
        about their common mean holds what differs between them besides.
        """
        sums: dict[str, float] = defaultdict(float)
        single: list[tuple[Tally, float]] = []
        clustered = alone = 0.0
        for one, weight in self._groups:
            n, centre, each = one.every.n, one.mean, weight / one.every.n
            if n > 1:
                alone += each**2 * one.every.around(centre) * n / (n - 1)
            if one.alone.n + len(one.clusters) < 2:
                single.append((one, weight))
                continue
            few = _few(one)
            clustered += few * each**2 * one.alone.around(centre)
            for name, (size, total) in one.clusters.items():
                sums[name] += math.sqrt(few) * each * (total - size * centre)
        clustered += math.fsum(value * value for value in sums.values()) + _collapsed(single)
        if self.binary:
            # As `_independent` falls short.
            alone *= 1 - math.fsum(weight**2 / one.every.n for one, weight in self._groups)
        return clustered / alone if alone > 0 else 1.0


def _few(one: Tally) -> float:
    """What takes a variance between the clusters of a group from their own mean to the true one;
    2 where there is one cluster, as for two such groups together."""
    squares = one.alone.n + sum(size * size for size, _ in one.clusters.values())
    short = 1 - squares / one.every.n**2
    return 1 / short if short > 0 else 2.0


def _collapsed(groups: Sequence[tuple[Tally, float]]) -> float:
    """Variance of a sum of weighted means of groups that are each one cluster, joined by twos in
    their order, the last three together. 0 for one such group, of which nothing is known."""
    found = 0.0
    for start in range(0, len(groups) - 1, 2):
        end = len(groups) if len(groups) - start == 3 else start + 2
        joined = groups[start:end]
        if len(joined) < 2:
            break
        centre = math.fsum(one.mean * weight for one, weight in joined) / math.fsum(
            weight for _, weight in joined
        )
        squares = math.fsum((weight * (one.mean - centre)) ** 2 for one, weight in joined)
        found += len(joined) / (len(joined) - 1) * squares
        if end == len(groups):
            break
    return found
