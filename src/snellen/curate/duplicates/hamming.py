"""Exact search for 64-bit hashes within a Hamming distance, by multi-index hashing.

M. Norouzi, A. Punjani and D. Fleet, "Fast exact search in Hamming space with multi-index hashing"
(IEEE TPAMI 36, 2014): hashes are cut into m parts. Two hashes that differ in at most r bits differ
in at most r // m bits in one of their parts (Sec. 2, with the sharper rule of Sec. 3: let
r = m q + a; then a part among the first a + 1 differs in at most q bits, or one of the others in at
most q - 1). So only hashes are compared that share a nearly equal part, which are found by a table
of each part. Where that costs more than comparing everything, everything is compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from snellen.curate.duplicates.picture_hashes import HASH_BITS, Hashes

Rows = npt.NDArray[np.int64]

MAX_BLOCK = 1 << 24
"""Hashes of one table: row numbers and offsets fit into 32 bits, and building it into memory."""
_MAX_PART_BITS = 24
"""A part's table of offsets has 2 ** bits entries."""
_BATCH = 1 << 21
"""Candidates that are compared at once: a few tens of megabytes."""
_SCAN_BATCH = 1 << 16
"""Hashes that are compared with one query at once: they stay in the processor's cache."""
_COST_SCAN, _COST_PROBE, _COST_CANDIDATE = 1.0, 12.0, 15.0
"""Nanoseconds, roughly: only their proportions matter, and only for which way is taken."""


class Matches(NamedTuple):
    """Pairs within the radius, in no particular order."""

    query: Rows
    row: Rows
    distance: npt.NDArray[np.uint8]

    @classmethod
    def join(cls, parts: list[Matches]) -> Matches:
        if not parts:
            return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8))
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


class Part(NamedTuple):
    """Bits `shift` to `shift + bits` of the hashes, and the hashes in their order."""

    shift: int
    bits: int
    starts: npt.NDArray[np.uint32]
    """(2 ** bits + 1,): where the hashes with each value of the part begin."""
    hashes: Hashes
    """All different hashes, sorted by the part."""
    order: npt.NDArray[np.uint32]
    """Their places among the different hashes."""


@dataclass(frozen=True)
class HashTables:
    """Up to `MAX_BLOCK` hashes in an order in which they are found fast. Read-only, so that its
    arrays may lie in files."""

    distinct: Hashes
    """The different hashes, sorted: a picture that stands a thousand times is compared once."""
    starts: npt.NDArray[np.uint32]
    """(distinct + 1,): where the rows of each begin."""
    rows: npt.NDArray[np.uint32]
    """Row numbers, by hash."""
    parts: tuple[Part, ...]

    @classmethod
    def build(cls, hashes: Hashes, rows: Rows | None = None) -> HashTables:
        """Tables of hashes; `rows` are their numbers if not 0, 1, 2 ...

        Raises ValueError for more than `MAX_BLOCK` hashes.
        """
        if len(hashes) > MAX_BLOCK:
            raise ValueError(f"a table holds at most {MAX_BLOCK} hashes, got {len(hashes)}")
        hashes = np.ascontiguousarray(hashes, np.uint64)
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        first = first[: len(ordered)]
        distinct = ordered[first]
        starts = np.append(first, len(ordered)).astype(np.uint32)
        numbers = (order if rows is None else rows[order]).astype(np.uint32)
        parts = tuple(_part(distinct, shift, bits) for shift, bits in part_bits(len(distinct)))
        return cls(distinct, starts, numbers, parts)

    def __len__(self) -> int:
        return len(self.rows)

    def search(self, queries: Hashes, radius: int) -> Matches:
        """Every pair of a query and a row whose hashes differ in at most `radius` bits."""
        found = [
            Matches(query, place, distance)
            for query, place, distance in self._near_distinct(queries, radius)
        ]
        return self._expand(Matches.join(found))

    def pairs(self, radius: int) -> Matches:
        """Every pair of different rows within the radius, once: `query` < `row`."""
        near = Matches.join(
            [
                Matches(query[query < place], place[query < place], distance[query < place])
                for query, place, distance in self._near_distinct(self.distinct, radius)
            ]
        )
        # Of a pair of hashes every row of the one with every row of the other, ...
        left = self._expand(Matches(near.row, near.query, near.distance))
        right = self._expand_rows(left.query)
        pairs = Matches(
            np.repeat(left.row, right.counts),
            right.rows,
            np.repeat(left.distance, right.counts),
        )
        # ... and the rows that share a hash with one another.
        same = self._same_hash()
        low, high = np.minimum(pairs.query, pairs.row), np.maximum(pairs.query, pairs.row)
        return Matches.join([Matches(low, high, pairs.distance), same])

    def _near_distinct(self, queries: Hashes, radius: int) -> Iterator[Matches]:
        """Pairs of a query and the place of a distinct hash."""
        if not len(self.distinct) or not len(queries):
            return
        probes = [_probe_masks(part.bits, share) for part, share in self._shares(radius)]
        tables = sum(
            len(masks) * (_COST_PROBE + _COST_CANDIDATE * len(self.distinct) / (1 << part.bits))
            for part, masks in zip(self.parts, probes, strict=False)
        )
        if not self.parts or tables > _COST_SCAN * len(self.distinct):
            yield from _scan(self.distinct, queries, radius)
            return
        for number, (part, share) in enumerate(self._shares(radius)):
            earlier = [(self.parts[one], self._share(one, radius)) for one in range(number)]
            for found in _probe(part, share, queries, radius):
                # A pair that an earlier part found is not reported again.
                new = np.ones(len(found.query), bool)
                for before, tolerance in earlier:
                    difference = queries[found.query] ^ self.distinct[found.row]
                    new &= _part_distance(difference, before) > tolerance
                yield Matches(found.query[new], found.row[new], found.distance[new])

    def _shares(self, radius: int) -> list[tuple[Part, int]]:
        """The parts that must be searched, with the bits in which they may differ."""
        shares = [(part, self._share(number, radius)) for number, part in enumerate(self.parts)]
        return [(part, share) for part, share in shares if share >= 0]

    def _share(self, number: int, radius: int) -> int:
        whole, rest = divmod(radius, len(self.parts))
        return whole if number <= rest else whole - 1

    def _expand(self, found: Matches) -> Matches:
        """Places of hashes to rows."""
        rows = self._expand_rows(found.row)
        return Matches(
            np.repeat(found.query, rows.counts), rows.rows, np.repeat(found.distance, rows.counts)
        )

    def _expand_rows(self, places: Rows) -> _Expanded:
        starts = self.starts[places].astype(np.int64)
        counts = self.starts[places + 1].astype(np.int64) - starts
        return _Expanded(self.rows[_ranges(starts, counts)].astype(np.int64), counts)

    def _same_hash(self) -> Matches:
        """Neighbours among rows of one hash: as a chain, not every row with every other, so that
        a picture that stands ten thousand times does not make fifty million pairs."""
        last = np.zeros(len(self.rows), bool)
        last[self.starts[1:].astype(np.int64) - 1] = True
        place = np.flatnonzero(~last)
        one, other = self.rows[place].astype(np.int64), self.rows[place + 1].astype(np.int64)
        zero = np.zeros(len(place), np.uint8)
        return Matches(np.minimum(one, other), np.maximum(one, other), zero)

    def arrays(self) -> dict[str, npt.NDArray[np.unsignedinteger]]:
        """The arrays by name, for a file each; `from_arrays` takes them back."""
        arrays: dict[str, npt.NDArray[np.unsignedinteger]] = {
            "distinct": self.distinct, "starts": self.starts, "rows": self.rows,
        }  # fmt: skip
        for number, part in enumerate(self.parts):
            arrays |= {
                f"part{number}-starts": part.starts,
                f"part{number}-hashes": part.hashes,
                f"part{number}-order": part.order,
            }
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.unsignedinteger]]) -> HashTables:
        parts = tuple(
            Part(shift, bits, *(arrays[f"part{number}-{name}"] for name in Part._fields[2:]))
            for number, (shift, bits) in enumerate(part_bits(len(arrays["distinct"])))
        )
        return cls(arrays["distinct"], arrays["starts"], arrays["rows"], parts)

    @classmethod
    def load(cls, folder: Path) -> HashTables:
        """Tables of a folder of `.npy` files, mapped into memory and read where they are needed.

        Raises OSError and ValueError.
        """
        names = {path.stem: path for path in folder.glob("*.npy")}
        return cls.from_arrays(
            {name: np.load(path, mmap_mode="r").view(np.ndarray) for name, path in names.items()}
        )


class _Expanded(NamedTuple):
    rows: Rows
    counts: Rows


def hamming(one: Hashes, other: Hashes) -> npt.NDArray[np.uint8]:
    """Bits in which hashes differ, 0..64, element by element."""
    distance: npt.NDArray[np.uint8] = _count_bits(one ^ other)
    return distance


def part_bits(count: int) -> list[tuple[int, int]]:
    """Shift and width of the parts for `count` hashes: about log2(count) bits each, so that a value
    of a part belongs to about one hash (Norouzi et al., Sec. 4). Empty: too few for tables."""
    if count < _SCAN_BATCH:
        return []
    number = math.ceil(HASH_BITS / min(_MAX_PART_BITS, math.log2(count)))
    edges = [HASH_BITS * index // number for index in range(number + 1)]
    return [(low, high - low) for low, high in pairwise(edges)]


def _part(distinct: Hashes, shift: int, bits: int) -> Part:
    keys = _part_of(distinct, shift, bits)
    order = np.argsort(keys, kind="stable").astype(np.uint32)
    starts = np.zeros((1 << bits) + 1, np.uint32)
    np.cumsum(np.bincount(keys, minlength=1 << bits), out=starts[1:])
    return Part(shift, bits, starts, distinct[order], order)


def _part_of(hashes: Hashes, shift: int, bits: int) -> npt.NDArray[np.uint32]:
    return ((hashes >> np.uint64(shift)) & np.uint64((1 << bits) - 1)).astype(np.uint32)


def _part_distance(difference: Hashes, part: Part) -> npt.NDArray[np.uint8]:
    distance: npt.NDArray[np.uint8] = _count_bits(_part_of(difference, part.shift, part.bits))
    return distance


@cache
def _probe_masks(bits: int, share: int) -> npt.NDArray[np.uint32]:
    """Every number of `bits` bits of which at most `share` are set."""
    masks = [
        sum(1 << place for place in places)
        for count in range(share + 1)
        for places in combinations(range(bits), count)
    ]
    return np.array(masks, np.uint32)


def _probe(part: Part, share: int, queries: Hashes, radius: int) -> Iterator[Matches]:
    """Pairs within the radius whose part differs in at most `share` bits."""
    masks = _probe_masks(part.bits, share)
    step = max(1, _BATCH // (len(masks) * max(1, len(part.hashes) >> part.bits)))
    for start in range(0, len(queries), step):
        some = queries[start : start + step]
        keys = _part_of(some, part.shift, part.bits)[:, None] ^ masks
        begins = part.starts[keys].astype(np.int64)
        counts = part.starts[keys + np.uint32(1)].astype(np.int64) - begins
        # Rows of a few queries at a time where buckets are full: memory stays bounded.
        totals = np.cumsum(counts.sum(axis=1))
        edges = [0, *np.searchsorted(totals, np.arange(_BATCH, totals[-1], _BATCH)), len(some)]
        for low, high in pairwise(edges):
            if low == high:
                continue
            per_query = counts[low:high].sum(axis=1)
            places = _ranges(begins[low:high].ravel(), counts[low:high].ravel())
            who = np.repeat(np.arange(low, high), per_query)
            distance = hamming(part.hashes[places], np.repeat(some[low:high], per_query))
            near = np.flatnonzero(distance <= radius)
            yield Matches(
                who[near] + start, part.order[places[near]].astype(np.int64), distance[near]
            )


def _scan(hashes: Hashes, queries: Hashes, radius: int) -> Iterator[Matches]:
    """Every query against every hash. Short inputs are compared as one matrix."""
    step = max(1, _SCAN_BATCH // max(1, min(len(hashes), _SCAN_BATCH)))
    for low in range(0, len(hashes), _SCAN_BATCH):
        some = hashes[low : low + _SCAN_BATCH]
        for start in range(0, len(queries), step):
            distance = hamming(queries[start : start + step, None], some[None, :])
            # Of a flat view: numpy finds the places of a matrix five times as slowly.
            query, place = np.divmod(np.flatnonzero(distance <= radius), len(some))
            if len(query):
                yield Matches(query + start, place + low, distance[query, place])


def _ranges(starts: Rows, counts: Rows) -> Rows:
    """The numbers starts[i] ... starts[i] + counts[i] - 1 for every i, one after the other."""
    filled = np.flatnonzero(counts)
    starts, counts = starts[filled], counts[filled]
    if not len(starts):
        return np.empty(0, np.int64)
    # Steps of one, and from the end of a range to the start of the next.
    steps = np.ones(int(counts.sum()), np.int64)
    steps[0] = starts[0]
    steps[np.cumsum(counts)[:-1]] = starts[1:] - starts[:-1] - counts[:-1] + 1
    return np.cumsum(steps)


def _count_bits(values: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.uint8]:
    """Set bits of each number."""
    if hasattr(np, "bitwise_count"):
        counts: npt.NDArray[np.uint8] = np.bitwise_count(values)
        return counts
    # numpy < 2: by bytes.
    places = np.ascontiguousarray(values).view(np.uint8)
    width = values.dtype.itemsize
    summed: npt.NDArray[np.uint8] = (
        _BYTE_BITS[places].reshape(*values.shape, width).sum(axis=-1, dtype=np.uint8)
    )
    return summed


_BYTE_BITS = np.array([number.bit_count() for number in range(256)], np.uint8)
