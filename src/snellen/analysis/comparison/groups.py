"""Differences of runs in the groups of a benchmark, pair by pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from snellen.analysis.comparison.alignment import AlignedRuns
from snellen.core.arrays import Floats, Ints
from snellen.core.summary import Interval
from snellen.stats.paired import PairedMean, holm_of_tested, paired_means

_MIN_SAMPLES = 10
"""Groups with fewer samples get no difference."""
_MAX_CELLS = 8_000_000
"""Differences in memory at once."""

Pairs = Sequence[tuple[int, int]]


class GroupDifference(Struct, frozen=True):
    """Difference of the mean scores in a group, in points. `p` is None with too few clusters;
    `p_holm` is adjusted for all groups of all pairs of all benchmarks in the comparison."""

    column: str
    label: str
    difference: float
    interval: Interval | None
    n: int
    clusters: int
    p: float | None
    p_holm: float | None = None


def group_differences(aligned_runs: AlignedRuns, pairs: Pairs, level: float) -> list[list[GroupDifference]]:
    """For each pair the differences in its groups, second run minus first, in the order of the
    data."""
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, sample in enumerate(aligned_runs.samples):
        for column, label in sample.groups.items():
            members[column, label].append(index)
    labels: dict[str, int] = defaultdict(int)
    for column, _ in members:
        labels[column] += 1
    differences: list[list[GroupDifference]] = [[] for _ in pairs]
    for (column, label), rows in members.items():
        if len(rows) < _MIN_SAMPLES or labels[column] < 2:
            continue
        means = pair_means(*aligned_runs.part(rows), pairs, level)
        for groups, mean in zip(differences, means, strict=True):
            interval = in_points(mean.interval)
            groups.append(GroupDifference(column, label, 100 * mean.mean, interval, len(rows), mean.clusters, mean.p))
    return differences


def adjust_groups(groups_by_pair: Sequence[Sequence[GroupDifference]]) -> Iterator[tuple[GroupDifference, ...]]:
    """The groups of each pair, smallest p first, with p-values adjusted by Holm over all of
    them."""
    adjusted = iter(holm_of_tested([group.p for groups in groups_by_pair for group in groups]))
    for groups in groups_by_pair:
        with_holm = [msgspec.structs.replace(group, p_holm=next(adjusted)) for group in groups]
        yield tuple(sorted(with_holm, key=lambda group: (group.p is None, group.p, -abs(group.difference))))


def pair_means(scores: Floats, clusters: Ints, pairs: Pairs, level: float, null: float = 0.0) -> list[PairedMean]:
    """`paired_mean` of scores (samples, runs) for each pair of runs, second minus first."""
    step = max(1, _MAX_CELLS // len(scores))
    means: list[PairedMean] = []
    for start in range(0, len(pairs), step):
        first, second = zip(*pairs[start : start + step], strict=True)
        differences = scores[:, second] - scores[:, first]
        means += paired_means(differences, clusters, level, null)
    return means


def in_points(interval: Interval | None) -> Interval | None:
    """Scale an interval of differences of fractions to points of 100, clipped to -100..100."""
    if interval is None:
        return None
    low, high = max(-100.0, 100 * interval.low), min(100.0, 100 * interval.high)
    return Interval(low, high, interval.method, interval.level)
