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
from snellen.stats.intervals import DEFAULT_LEVEL, Moments, bounded_interval, degrees_of_freedom

_BORROWED = 1.0
"""Samples that each group borrows from all groups."""
_ROUNDING = 1e-12
"""A variance of scores in 0..1 that is no more than rounding."""


class ScoreSums(NamedTuple):
    """Number of scores in 0..1, their sum, and the sum of their squares."""

    n: int
    total: float
    squares: float

    def squares_around(self, centre: float) -> float:
        """Sum of the squared distances from `centre`."""
        return self.squares - 2 * centre * self.total + self.n * centre * centre


class GroupSums(NamedTuple):
    """The scores of one group, summed by cluster: all that the interval of a mean needs."""

    total: ScoreSums
    unclustered: ScoreSums
    """Those of samples that belong to no cluster."""
    clusters: Mapping[str, Sequence[float]]
    """Number of samples and sum of scores of each cluster."""

    @property
    def mean(self) -> float:
        return self.total.total / self.total.n


def group_sums(scores: Sequence[float], clusters: Sequence[str]) -> GroupSums:
    """Scores in 0..1, each with the name of its cluster; an empty name stands alone.

    Raises:
        ValueError: not as many clusters as scores.
    """
    if len(scores) != len(clusters):
        raise ValueError(f"got {len(scores)} scores but {len(clusters)} clusters")
    total = _score_sums(scores)
    if not any(clusters):
        return GroupSums(total, total, {})
    clustered: dict[str, list[float]] = {}
    unclustered = []
    for score, cluster in zip(scores, clusters, strict=True):
        if not cluster:
            unclustered.append(score)
        elif (sums := clustered.get(cluster)) is None:
            clustered[cluster] = [1, score]
        else:
            sums[0] += 1
            sums[1] += score
    return GroupSums(total, _score_sums(unclustered), clustered)


def _score_sums(scores: Sequence[float]) -> ScoreSums:
    return ScoreSums(len(scores), sum(scores), sum(map(mul, scores, scores)))


def mean_of_groups(
    groups: Sequence[GroupSums],
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
    if not groups or len(shares) != len(groups) or not all(one.total.n for one in groups):
        raise ValueError(
            f"a mean of groups needs scores in each of at least one group, and a weight for each; "
            f"got {len(groups)} groups of {[one.total.n for one in groups]} scores and "
            f"{len(shares)} weights"
        )
    weighted = _WeightedGroups(list(zip(groups, shares, strict=True)))
    parts = (
        "wilson",
        *(() if weighted.is_binary else ("graded",)),
        *(() if weighted.is_unclustered else ("clustered",)),
        *(groups[1:] and ("combined",)),
    )
    return bounded_interval(weighted.moments(), ", ".join(parts), level)


class _WeightedGroups:
    """Groups, each with its weight."""

    def __init__(self, groups: Sequence[tuple[GroupSums, float]]) -> None:
        self._groups = groups
        self.mean = min(1.0, math.fsum(weight * one.mean for one, weight in groups))
        self._mean_square = math.fsum(
            weight * one.total.squares / one.total.n for one, weight in groups
        )
        self._sample_count = sum(one.total.n for one, _ in groups)
        named = set[str]().union(*(one.clusters for one, _ in groups))
        self._cluster_count = len(named) + sum(one.unclustered.n for one, _ in groups)
        self.is_binary = all(one.total.squares == one.total.total for one, _ in groups)

    @property
    def is_unclustered(self) -> bool:
        """Whether every sample is a cluster of its own."""
        return self._cluster_count == self._sample_count

    def moments(self) -> Moments:
        samples = math.fsum(weight**2 / one.total.n for one, weight in self._groups)
        alike = self._mean_square - self.mean**2 <= _ROUNDING
        independent = 0.0 if alike else self._independent_variance()
        clusters = self._cluster_shares()
        shares = samples if self.is_unclustered else math.fsum(share**2 for share, _ in clusters)
        if alike or self._cluster_count < 2:
            return Moments(self.mean, independent * shares / samples, independent, shares, samples)
        freedom = None if self.is_unclustered and self.is_binary else degrees_of_freedom(clusters)
        design = 1.0 if self.is_unclustered else self._design_effect()
        return Moments(self.mean, independent * design, independent, shares, samples, freedom)

    def _cluster_shares(self) -> list[tuple[float, float]]:
        """The share of each cluster in the mean, over all groups it is in, and the largest of the
        corrections of these groups."""
        single: list[tuple[float, float]] = []
        shares: dict[str, float] = defaultdict(float)
        corrections: dict[str, float] = defaultdict(float)
        for one, weight in self._groups:
            each, correction = weight / one.total.n, _small_sample_correction(one)
            single += [(each, correction)] * one.unclustered.n
            for name, (size, _) in one.clusters.items():
                shares[name] += each * size
                corrections[name] = max(corrections[name], correction)
        return [*single, *((share, corrections[name]) for name, share in shares.items())]

    def _centre(self, group: GroupSums) -> float:
        return (group.total.total + _BORROWED * self.mean) / (group.total.n + _BORROWED)

    def _independent_variance(self) -> float:
        """Variance of the mean if every sample stood alone."""
        spread = math.fsum(weight**2 / one.total.n for one, weight in self._groups)
        variance = 0.0
        for one, weight in self._groups:
            n = one.total.n
            own = n / (n + _BORROWED)
            square = own * one.total.squares / n + (1 - own) * self._mean_square
            # Of groups that are alike: how far the variance about their estimated centre, itself
            # a mean of so many samples, falls short.
            shortfall = own**2 / n + (1 - own) ** 2 * spread + 2 * own * (1 - own) * weight / n
            # Wilson's interval of a share falls short likewise, and makes up for it by itself.
            remaining = (1 - shortfall) / (1 - spread) if self.is_binary else 1 - shortfall
            variance += weight**2 * (square - self._centre(one) ** 2) / remaining / n
        return variance

    def _design_effect(self) -> float:
        """How much larger the variance is for the clusters, as far as the residuals tell; 1 where
        they tell nothing.

        Each group has a mean of its own, so its residuals are too small by what its own number of
        clusters takes from them, whatever the number in all groups. A group of a single cluster
        has no residual: it is joined with the next such groups (collapsed strata), whose spread
        about their common mean holds what differs between them besides.
        """
        sums: dict[str, float] = defaultdict(float)
        single: list[tuple[GroupSums, float]] = []
        clustered = independent = 0.0
        for one, weight in self._groups:
            n, centre, each = one.total.n, one.mean, weight / one.total.n
            if n > 1:
                independent += each**2 * one.total.squares_around(centre) * n / (n - 1)
            if one.unclustered.n + len(one.clusters) < 2:
                single.append((one, weight))
                continue
            correction = _small_sample_correction(one)
            clustered += correction * each**2 * one.unclustered.squares_around(centre)
            for name, (size, total) in one.clusters.items():
                sums[name] += math.sqrt(correction) * each * (total - size * centre)
        clustered += math.fsum(value * value for value in sums.values()) + _collapsed_variance(
            single
        )
        if self.is_binary:
            # As `_independent_variance` falls short.
            independent *= 1 - math.fsum(weight**2 / one.total.n for one, weight in self._groups)
        return clustered / independent if independent > 0 else 1.0


def _small_sample_correction(group: GroupSums) -> float:
    """What takes a variance between the clusters of a group from their own mean to the true one;
    2 where there is one cluster, as for two such groups together."""
    squares = group.unclustered.n + sum(size * size for size, _ in group.clusters.values())
    shortfall = 1 - squares / group.total.n**2
    return 1 / shortfall if shortfall > 0 else 2.0


def _collapsed_variance(groups: Sequence[tuple[GroupSums, float]]) -> float:
    """Variance of a sum of weighted means of groups that are each one cluster, joined by twos in
    their order, the last three together. 0 for one such group, of which nothing is known."""
    variance = 0.0
    for start in range(0, len(groups) - 1, 2):
        end = len(groups) if len(groups) - start == 3 else start + 2
        stratum = groups[start:end]
        if len(stratum) < 2:
            break
        centre = math.fsum(one.mean * weight for one, weight in stratum) / math.fsum(
            weight for _, weight in stratum
        )
        squares = math.fsum((weight * (one.mean - centre)) ** 2 for one, weight in stratum)
        variance += len(stratum) / (len(stratum) - 1) * squares
        if end == len(groups):
            break
    return variance
