"""Paired tests of submissions by the scores of their samples; where answers are hidden, those of
the public part."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from snellen.core.errors import StorageError, UsageError
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.paired import PairedMean, paired_means
from snellen_hub.boards.published import PublishedScore
from snellen_hub.bounded_cache import BoundedCache
from snellen_hub.jobs.contributions import RowScores, headline_parts
from snellen_hub.public_scores import PublicNumber
from snellen_hub.storage import Storage

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

Pair = tuple[int, int]
"""Positions of two rows, the smaller first."""
_Key = tuple[str, str, float]
_MAX_CELLS = 4_000_000
"""Differences tested at once, to bound memory."""
_CACHED_SAMPLES = 5_000_000
"""Sample scores that are kept in memory, of all benchmarks together."""
_CACHED_TESTS = 300_000
_TOLERANCE = 1e-6


class PairedSamples(NamedTuple):
    """Submissions over the same samples."""

    positions: tuple[int, ...]
    """Of the submissions, in the list that was given."""
    rows: tuple[RowScores, ...]
    headlines: tuple[PublicNumber, ...]
    clusters: NDArray[int64]
    """Numbered from 0 without gaps."""


_samples: BoundedCache[str, RowScores] = BoundedCache(_CACHED_SAMPLES, lambda rows: len(rows.ids))
"""Decoded files of sample scores by key, whose content never changes."""
_tests: BoundedCache[_Key, PairedMean] = BoundedCache(_CACHED_TESTS)
"""Results of tests by the keys of the two files of sample scores, which never change, and the
level. So one more submission costs one test with each other, and not all pairs again."""
_testing = threading.Lock()


def paired_tests(
    storage: Storage, published: Sequence[PublishedScore], level: float = DEFAULT_LEVEL
) -> Mapping[Pair, PairedMean]:
    """Tests of the headlines, second minus first, of all pairs of submissions that were scored here
    over the same samples; the differences are shares of the headline's highest value."""
    tests: dict[Pair, PairedMean] = {}
    # One thread computes what several readers of a board that has changed are waiting for.
    with _testing:
        for table in _paired_samples(storage, published):
            tests |= _test_columns(table, published, level)
    return tests


def _test_columns(table: PairedSamples, published: Sequence[PublishedScore], level: float) -> dict[Pair, PairedMean]:
    """The tests of all pairs of columns of a table, those that are cached from the cache."""
    import numpy as np

    keys = [published[position].stored.records or "" for position in table.positions]
    tests: dict[Pair, PairedMean] = {}
    untested: list[Pair] = []
    for one, other in combinations(range(len(keys)), 2):
        cached = _tests.get((keys[one], keys[other], level))
        if cached is None:
            untested.append((one, other))
        else:
            tests[table.positions[one], table.positions[other]] = cached
    wanted = sorted({column for pair in untested for column in pair})
    place = {column: index for index, column in enumerate(wanted)}
    # What each sample adds to a headline: the mean of a column is the headline, or the headline to
    # first order.
    values = np.empty((len(table.clusters), len(wanted)))
    for index, number in enumerate(wanted):
        rows, headline = table.rows[number], table.headlines[number]
        values[:, index] = headline_parts(rows.scores, rows.influences, headline.value or 0.0, headline.top)
    step = max(1, _MAX_CELLS // len(table.clusters))
    for start in range(0, len(untested), step):
        some = untested[start : start + step]
        first = [place[one] for one, _ in some]
        second = [place[other] for _, other in some]
        means = paired_means(values[:, second] - values[:, first], table.clusters, level)
        for (one, other), mean in zip(some, means, strict=True):
            _tests.put((keys[one], keys[other], level), mean)
            tests[table.positions[one], table.positions[other]] = mean
    return tests


def _paired_samples(storage: Storage, published: Sequence[PublishedScore]) -> list[PairedSamples]:
    """A table for each set of two or more submissions over the same samples."""
    import numpy as np

    sets: dict[tuple[int, tuple[str, ...]], list[tuple[int, RowScores]]] = {}
    for position, one in enumerate(published):
        stored = one.stored
        if one.row.evidence == "reported" or stored.records is None or stored.headline is None:
            continue
        try:
            rows = _read_samples(storage, stored.records)
        except (StorageError, UsageError, msgspec.DecodeError):
            # Without its file, or the key of it, a submission is compared by its interval, as a
            # reported one is.
            continue
        if _is_headline(rows, one):
            sets.setdefault((stored.version, rows.ids), []).append((position, rows))
    tables = []
    for members in sets.values():
        if len(members) < 2:
            continue
        clusters = members[0][1].clusters or ("",) * len(members[0][1].ids)
        names = [name or f"\0{index}" for index, name in enumerate(clusters)]
        numbers = np.unique(names, return_inverse=True)[1]
        positions = tuple(position for position, _ in members)
        headlines = tuple(published[position].score.headline for position in positions)
        tables.append(PairedSamples(positions, tuple(rows for _, rows in members), headlines, numbers))
    return tables


def _read_samples(storage: Storage, key: str) -> RowScores:
    rows = _samples.get(key)
    if rows is None:
        rows = msgspec.json.decode(storage.get(key), type=RowScores)
        _samples.put(key, rows)
    return rows


def _is_headline(rows: RowScores, one: PublishedScore) -> bool:
    """Whether the samples make up the headline: by their influence on it, or as their mean."""
    if not rows.ids:
        return False
    if rows.influences:
        return True
    headline = one.score.headline
    mean = headline.top * sum(rows.scores) / len(rows.scores)
    return headline.value is not None and abs(mean - headline.value) < _TOLERANCE * headline.top
