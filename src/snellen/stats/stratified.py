"""Interval of a mean of group means (a benchmark's subtasks), if questions of several groups may be
about the same image.

The variance is that of ultimate clusters (K. M. Wolter, "Introduction to Variance Estimation"
(2007), Ch. 6; A. C. Cameron and D. L. Miller, "A Practitioner's Guide to Cluster-Robust
Inference", Journal of Human Resources 50 (2015), Sec. II). The mean is a sum over samples, each
weighted by its group's weight divided by the group's size; a cluster contributes the square of the
sum of its weighted residuals, across groups. The residuals of a group are corrected for the group's
number of clusters; groups of a single cluster are collapsed strata (Wolter, Sec. 2.5). The interval
is `intervals.bounded_interval`, as for the mean of one group.

A group of few samples, or of samples that are all right, says little about its own variance.
Therefore each group is given one more sample with the distribution of all groups (the unit
information of R. E. Kass and L. Wasserman, Journal of the American Statistical Association 90
(1995)). The expected effect of this on the variance of groups that do not differ is removed again.
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
"""Samples with the distribution of all groups that are added to each group."""
_ROUNDING = 1e-12
"""A variance of scores in 0..1 that is only rounding error."""


class ScoreSums(NamedTuple):
    """Number of scores in 0..1, their sum, and the sum of their squares."""

    n: int
    total: float
    squares: float

    def squares_around(self, centre: float) -> float:
        """Sum of the squared distances from `centre`."""
        return self.squares - 2 * centre * self.total + self.n * centre * centre


class GroupSums(NamedTuple):
    """Sums of the scores of one group: all that the interval of a mean needs."""

    total: ScoreSums
    """Of all samples."""
    unclustered: ScoreSums
    """Of samples that belong to no cluster."""
    clusters: Mapping[str, Sequence[float]]
    """For each cluster the number of its samples in this group and the sum of their scores."""

    @property
    def mean(self) -> float:
        return self.total.total / self.total.n


def group_sums(scores: Sequence[float], clusters: Sequence[str]) -> GroupSums:
    """Sum scores in 0..1 by cluster; a score with an empty cluster name is its own cluster. Raises
    ValueError if there are not as many clusters as scores.
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
    groups: Sequence[GroupSums], *, weights: Sequence[float] | None = None, level: float = DEFAULT_LEVEL
) -> Interval:
    """Interval in 0..1 of the mean of the groups' means, weighted by `weights` that sum to 1, or
    equally.

    For a single group of scores 0 and 1 it equals `intervals.score_interval`. As there, a design
    effect below 1 does not make it narrower, and if all scores are the same, clusters count instead
    of samples. Raises ValueError for no groups, a group without scores, or not as many weights.
    """
    shares = weights or [1 / len(groups) for _ in groups]
    counts = [group.total.n for group in groups]
    if not groups or len(shares) != len(groups) or not all(counts):
        raise ValueError(
            f"a mean of groups needs scores in each of at least one group, and a weight for each; "
            f"got {len(groups)} groups of {counts} scores and {len(shares)} weights"
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
    """Computes the mean of weighted groups and its variances."""

    def __init__(self, groups: Sequence[tuple[GroupSums, float]]) -> None:
        self._groups = groups
        self.mean = min(1.0, math.fsum(weight * group.mean for group, weight in groups))
        self._mean_square = math.fsum(weight * group.total.squares / group.total.n for group, weight in groups)
        self._sample_count = sum(group.total.n for group, _ in groups)
        # A cluster may have samples in several groups.
        named = set[str]().union(*(group.clusters for group, _ in groups))
        self._cluster_count = len(named) + sum(group.unclustered.n for group, _ in groups)
        self.is_binary = all(group.total.squares == group.total.total for group, _ in groups)

    @property
    def is_unclustered(self) -> bool:
        """Whether every sample is a cluster of its own."""
        return self._cluster_count == self._sample_count

    def moments(self) -> Moments:
        """The inputs of `bounded_interval`.

        The cluster-robust variance is the variance of independent samples, which is estimated with
        the help of all groups, times the design effect of the clusters.
        """
        samples = math.fsum(weight**2 / group.total.n for group, weight in self._groups)
        all_equal = self._mean_square - self.mean**2 <= _ROUNDING
        independent = 0.0 if all_equal else self._independent_variance()
        clusters = self._cluster_shares()
        shares = samples if self.is_unclustered else math.fsum(share**2 for share, _ in clusters)
        if all_equal or self._cluster_count < 2:
            # No residuals to estimate a design effect from: as if samples of a cluster were equal.
            return Moments(self.mean, independent * shares / samples, independent, shares, samples)
        freedom = None if self.is_unclustered and self.is_binary else degrees_of_freedom(clusters)
        design = 1.0 if self.is_unclustered else self._design_effect()
        return Moments(self.mean, independent * design, independent, shares, samples, freedom)

    def _cluster_shares(self) -> list[tuple[float, float]]:
        """For each cluster its weight in the mean, over all groups it is in, and the largest of the
        corrections of these groups."""
        single: list[tuple[float, float]] = []
        shares: dict[str, float] = defaultdict(float)
        corrections: dict[str, float] = defaultdict(float)
        for group, weight in self._groups:
            sample_weight, correction = weight / group.total.n, _small_sample_correction(group)
            single += [(sample_weight, correction)] * group.unclustered.n
            for name, (size, _) in group.clusters.items():
                shares[name] += sample_weight * size
                corrections[name] = max(corrections[name], correction)
        return [*single, *((share, corrections[name]) for name, share in shares.items())]

    def _centre(self, group: GroupSums) -> float:
        """Mean of a group with the added sample, whose mean is that of all groups."""
        return (group.total.total + _BORROWED * self.mean) / (group.total.n + _BORROWED)

    def _independent_variance(self) -> float:
        """Variance of the mean if all samples were independent."""
        spread = math.fsum(weight**2 / group.total.n for group, weight in self._groups)
        variance = 0.0
        for group, weight in self._groups:
            n = group.total.n
            own = n / (n + _BORROWED)  # the part of the group's own samples
            square = own * group.total.squares / n + (1 - own) * self._mean_square
            # Squares about an estimated centre are too small on average. If all groups have the
            # same distribution, this is by how much, relative to the variance: the variance of the
            # centre, which is a mean of the group's own samples and of all samples.
            shortfall = own**2 / n + (1 - own) ** 2 * spread + 2 * own * (1 - own) * weight / n
            # The variance m (1 - m) of Wilson's interval is too small by `spread` for the same
            # reason, which its formula makes up for: correct for the difference only.
            remaining = (1 - shortfall) / (1 - spread) if self.is_binary else 1 - shortfall
            variance += weight**2 * (square - self._centre(group) ** 2) / remaining / n
        return variance

    def _design_effect(self) -> float:
        """The factor by which clusters increase the variance, from the residuals; 1 without any.

        Residuals are about the mean of their group, so they are corrected for the group's number of
        clusters. A group of a single cluster has no residual: such groups are collapsed, and their
        spread about a common mean includes whatever else differs between them.
        """
        sums: dict[str, float] = defaultdict(float)
        """Weighted residuals of each cluster, summed over groups before they are squared."""
        single: list[tuple[GroupSums, float]] = []
        clustered = independent = 0.0
        for group, weight in self._groups:
            n, centre, sample_weight = group.total.n, group.mean, weight / group.total.n
            if n > 1:
                squares = group.total.squares_around(centre)
                independent += sample_weight**2 * squares * n / (n - 1)
            if group.unclustered.n + len(group.clusters) < 2:
                single.append((group, weight))
                continue
            correction = _small_sample_correction(group)
            clustered += correction * sample_weight**2 * group.unclustered.squares_around(centre)
            for name, (size, total) in group.clusters.items():
                sums[name] += math.sqrt(correction) * sample_weight * (total - size * centre)
        clustered += math.fsum(value * value for value in sums.values())
        clustered += _collapsed_variance(single)
        if self.is_binary:
            # Too small by the same factor as `_independent_variance`, to which it is applied.
            independent *= 1 - math.fsum(weight**2 / group.total.n for group, weight in self._groups)
        return clustered / independent if independent > 0 else 1.0


def _small_sample_correction(group: GroupSums) -> float:
    """Factor that corrects a variance of clusters about their estimated mean: 1 / (1 - sum of
    squared weights); 2 for a single cluster, as for two collapsed groups."""
    squares = group.unclustered.n + sum(size * size for size, _ in group.clusters.values())
    shortfall = 1 - squares / group.total.n**2
    return 1 / shortfall if shortfall > 0 else 2.0


def _collapsed_variance(groups: Sequence[tuple[GroupSums, float]]) -> float:
    """Variance of the sum of weighted means of groups that consist of one cluster each.

    Groups are collapsed in pairs, in their order, the last three together if their number is odd. 0
    for a single such group, whose variance is unknown.
    """
    variance = 0.0
    for start in range(0, len(groups) - 1, 2):
        end = len(groups) if len(groups) - start == 3 else start + 2
        stratum = groups[start:end]
        if len(stratum) < 2:
            break
        centre = math.fsum(group.mean * weight for group, weight in stratum) / math.fsum(
            weight for _, weight in stratum
        )
        squares = math.fsum((weight * (group.mean - centre)) ** 2 for group, weight in stratum)
        variance += len(stratum) / (len(stratum) - 1) * squares
        if end == len(groups):
            break
    return variance
