"""Where two runs differ: the groups of a benchmark, by how surely they do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from snellen.analysis.aligned import Aligned
from snellen.core.summary import Interval
from snellen.stats.paired import holm, paired_mean

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_FEWEST = 10
"""Samples of a group below which its difference is not told."""


class GroupDifference(Struct, frozen=True):
    """`p_holm` is adjusted for all groups of the pair that were looked at."""

    column: str
    label: str
    difference: float
    interval: Interval | None
    n: int
    p: float | None
    """None for too few clusters."""
    p_holm: float | None


def group_differences(
    together: Aligned, differences: NDArray[float64], level: float
) -> Iterator[GroupDifference]:
    """Groups by how surely they differ, the surest first."""
    import numpy as np

    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for at, sample in enumerate(together.samples):
        for column, label in sample.groups.items():
            members[column, label].append(at)
    columns = {column: 0 for column, _ in members}
    for column, _ in members:
        columns[column] += 1
    found = []
    for (column, label), rows in members.items():
        if len(rows) < _FEWEST or columns[column] < 2:
            continue
        part = differences[rows]
        _, clusters = np.unique(together.clusters[rows], return_inverse=True)
        mean = paired_mean(part, clusters, level)
        found.append((column, label, 100 * mean.mean, in_points(mean.interval), len(rows), mean.p))
    adjusted = iter(holm([one[-1] for one in found if one[-1] is not None]))
    every = [GroupDifference(*one, None if one[-1] is None else next(adjusted)) for one in found]
    yield from sorted(every, key=lambda one: (one.p is None, one.p or 0.0, -abs(one.difference)))


def in_points(interval: Interval | None) -> Interval | None:
    """An interval of differences of shares on the scale of 100, kept in -100..100."""
    if interval is None:
        return None
    low, high = max(-100.0, 100 * interval.low), min(100.0, 100 * interval.high)
    return Interval(low, high, interval.method, interval.level)
