"""Where runs differ: the groups of a benchmark, pair by pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from snellen.analysis.comparison.aligned import AlignedRuns
from snellen.core.summary import Interval
from snellen.stats.paired import PairedMean, holm, paired_means

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

_MIN_SAMPLES = 10
"""Samples of a group below which its difference is not given."""
_MAX_CELLS = 8_000_000
"""Differences held at once."""

Pairs = Sequence[tuple[int, int]]


class GroupDifference(Struct, frozen=True):
    """Of the mean scores in a group, in points. `p` is None for too few clusters; `p_holm` is
    adjusted for all groups of all pairs of all benchmarks that were compared."""

    column: str
    label: str
    difference: float
    interval: Interval | None
    n: int
    clusters: int
    p: float | None
    p_holm: float | None = None


def group_differences(
    aligned_runs: AlignedRuns, pairs: Pairs, level: float
) -> list[list[GroupDifference]]:
    """For each pair its groups, the second run less the first, in the order of the data."""
    import numpy as np

    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at, sample in enumerate(aligned_runs.samples):
        for column, label in sample.groups.items():
            members[column, label].append(at)
    labels: dict[str, int] = defaultdict(int)
    for column, _ in members:
        labels[column] += 1
    differences: list[list[GroupDifference]] = [[] for _ in pairs]
    for (column, label), rows in members.items():
        if len(rows) < _MIN_SAMPLES or labels[column] < 2:
            continue
        _, clusters = np.unique(aligned_runs.clusters[rows], return_inverse=True)
        means = pair_means(aligned_runs.scores[rows], clusters, pairs, level)
        for groups, one in zip(differences, means, strict=True):
            interval = in_points(one.interval)
            groups.append(
                GroupDifference(
                    column, label, 100 * one.mean, interval, len(rows), one.clusters, one.p
                )
            )
    return differences


def adjust_groups(
    groups_by_pair: Sequence[Sequence[GroupDifference]],
) -> Iterator[tuple[GroupDifference, ...]]:
    """The groups of each pair, those with the smallest p first, adjusted together by Holm."""
    tested = [one.p for groups in groups_by_pair for one in groups if one.p is not None]
    adjusted = iter(holm(tested))
    for groups in groups_by_pair:
        known = [
            one if one.p is None else msgspec.structs.replace(one, p_holm=next(adjusted))
            for one in groups
        ]
        yield tuple(sorted(known, key=lambda one: (one.p is None, one.p, -abs(one.difference))))


def pair_means(
    scores: NDArray[float64],
    clusters: NDArray[int64],
    pairs: Pairs,
    level: float,
    null: float = 0.0,
) -> list[PairedMean]:
    """`paired_mean` of scores (samples, runs) for each pair of runs, the second less the first."""
    step = max(1, _MAX_CELLS // len(scores))
    means: list[PairedMean] = []
    for start in range(0, len(pairs), step):
        first, second = zip(*pairs[start : start + step], strict=True)
        differences = scores[:, second] - scores[:, first]
        means += paired_means(differences, clusters, level, null)
    return means


def in_points(interval: Interval | None) -> Interval | None:
    """An interval of differences of shares on the scale of 100, kept in -100..100."""
    if interval is None:
        return None
    low, high = max(-100.0, 100 * interval.low), min(100.0, 100 * interval.high)
    return Interval(low, high, interval.method, interval.level)
