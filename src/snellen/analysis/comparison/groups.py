"""Where runs differ: the groups of a benchmark, pair by pair."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from snellen.analysis.comparison.aligned import Aligned
from snellen.core.summary import Interval
from snellen.stats.paired import PairedMean, holm, paired_means

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

_FEWEST = 10
"""Samples of a group below which its difference is not given."""
_CELLS = 8_000_000
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


def group_differences(together: Aligned, pairs: Pairs, level: float) -> list[list[GroupDifference]]:
    """For each pair its groups, the second run less the first, in the order of the data."""
    import numpy as np

    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at, sample in enumerate(together.samples):
        for column, label in sample.groups.items():
            members[column, label].append(at)
    labels: dict[str, int] = defaultdict(int)
    for column, _ in members:
        labels[column] += 1
    found: list[list[GroupDifference]] = [[] for _ in pairs]
    for (column, label), rows in members.items():
        if len(rows) < _FEWEST or labels[column] < 2:
            continue
        _, clusters = np.unique(together.clusters[rows], return_inverse=True)
        means = pair_means(together.scores[rows], clusters, pairs, level)
        for groups, one in zip(found, means, strict=True):
            interval = in_points(one.interval)
            groups.append(
                GroupDifference(
                    column, label, 100 * one.mean, interval, len(rows), one.clusters, one.p
                )
            )
    return found


def adjusted_groups(
    of_pairs: Sequence[Sequence[GroupDifference]],
) -> Iterator[tuple[GroupDifference, ...]]:
    """The groups of each pair, those with the smallest p first, adjusted together by Holm."""
    tested = [one.p for groups in of_pairs for one in groups if one.p is not None]
    adjusted = iter(holm(tested))
    for groups in of_pairs:
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
    step = max(1, _CELLS // len(scores))
    found: list[PairedMean] = []
    for start in range(0, len(pairs), step):
        first, second = zip(*pairs[start : start + step], strict=True)
        differences = scores[:, second] - scores[:, first]
        found += paired_means(differences, clusters, level, null)
    return found


def in_points(interval: Interval | None) -> Interval | None:
    """An interval of differences of shares on the scale of 100, kept in -100..100."""
    if interval is None:
        return None
    low, high = max(-100.0, 100 * interval.low), min(100.0, 100 * interval.high)
    return Interval(low, high, interval.method, interval.level)
