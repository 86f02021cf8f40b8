"""Paired tests of submissions by the scores of their samples, on benchmarks whose answers are open.

Never used where answers are hidden: a test over samples tells more than the numbers that are shown.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from snellen.core.errors import StorageError
from snellen.leaderboard_hub.boards.published import PublishedScore
from snellen.leaderboard_hub.jobs.scoring import RowScores
from snellen.leaderboard_hub.storage import Storage
from snellen.stats.paired import PairedMean, paired_means

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

Pair = tuple[int, int]
"""Positions of two rows, the smaller first."""
_MAX_CELLS = 4_000_000
"""Differences tested at once, to bound memory."""
_CACHED_SAMPLES = 5_000_000
"""Sample scores that are kept in memory, of all benchmarks together."""
_TOLERANCE = 1e-6


class SampleTable(NamedTuple):
    """What each sample adds to the headline of some submissions, as a share of its highest value:
    the mean of a column is the headline, or the headline to first order."""

    positions: tuple[int, ...]
    """Of the submissions, in the list that was given."""
    values: NDArray[float64]
    """Shape (samples, submissions)."""
    clusters: NDArray[int64]
    """Numbered from 0 without gaps."""


class _SampleCache:
    """Decoded files of sample scores by key, whose content never changes; the latest are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, RowScores] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def read(self, storage: Storage, key: str) -> RowScores:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        rows = msgspec.json.decode(storage.get(key), type=RowScores)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = rows
                self._size += len(rows.ids)
            while self._size > _CACHED_SAMPLES and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1].ids)
        return rows


_cache = _SampleCache()


def paired_tests(
    storage: Storage, published: Sequence[PublishedScore], level: float
) -> Mapping[Pair, PairedMean]:
    """Tests of the headlines, second minus first, of all pairs of submissions that were scored here
    over the same samples; the differences are shares of the headline's highest value."""
    tests: dict[Pair, PairedMean] = {}
    for table in _sample_tables(storage, published):
        columns = list(combinations(range(len(table.positions)), 2))
        step = max(1, _MAX_CELLS // len(table.values))
        for start in range(0, len(columns), step):
            some = columns[start : start + step]
            first, second = zip(*some, strict=True)
            differences = table.values[:, list(second)] - table.values[:, list(first)]
            means = paired_means(differences, table.clusters, level)
            for (one, other), mean in zip(some, means, strict=True):
                tests[table.positions[one], table.positions[other]] = mean
    return tests


def _sample_tables(storage: Storage, published: Sequence[PublishedScore]) -> list[SampleTable]:
    """A table for each set of two or more submissions over the same samples."""
    import numpy as np

    sets: dict[tuple[int, tuple[str, ...]], list[tuple[int, RowScores]]] = {}
    for position, one in enumerate(published):
        stored = one.stored
        if one.row.evidence != "verified" or stored.records is None or stored.headline is None:
            continue
        try:
            rows = _cache.read(storage, stored.records)
        except (StorageError, msgspec.DecodeError):
            # Without its file a submission is compared by its interval, as a reported one is.
            continue
        if _is_headline(rows, one):
            sets.setdefault((stored.version, rows.ids), []).append((position, rows))
    tables = []
    for members in sets.values():
        if len(members) < 2:
            continue
        values = [_contributions(rows, published[position]) for position, rows in members]
        clusters = members[0][1].clusters or ("",) * len(members[0][1].ids)
        names = [name or f"\0{index}" for index, name in enumerate(clusters)]
        numbers = np.unique(names, return_inverse=True)[1]
        positions = tuple(position for position, _ in members)
        tables.append(SampleTable(positions, np.stack(values, axis=1), numbers))
    return tables


def _is_headline(rows: RowScores, one: PublishedScore) -> bool:
    """Whether the samples make up the headline: by their influence on it, or as their mean."""
    if not rows.ids:
        return False
    if rows.influences:
        return True
    headline = one.row.score.headline
    mean = headline.top * sum(rows.scores) / len(rows.scores)
    return headline.value is not None and abs(mean - headline.value) < _TOLERANCE * headline.top


def _contributions(rows: RowScores, one: PublishedScore) -> NDArray[float64]:
    import numpy as np

    headline = one.row.score.headline
    if not rows.influences:
        return np.asarray(rows.scores, dtype=float)
    # The headline and n times each influence: pseudovalues, whose mean is the headline.
    centred = np.asarray(rows.influences, dtype=float)
    pseudovalues: NDArray[float64] = (
        (headline.value or 0.0) + len(centred) * (centred - centred.mean())
    ) / headline.top
    return pseudovalues
