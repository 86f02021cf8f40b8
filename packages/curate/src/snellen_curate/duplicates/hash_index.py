"""An index of image hashes: its files, which are mapped into memory and read in part, and look-ups.

index.json            format, version, what was listed, counts; `complete` once everything is there
shards/000000.arrow   consecutive entries of the list (Arrow IPC), written whole or not at all

A pHash is compared with every stored one, 64 bits at a time: that takes a nanosecond a pair on one
core, misses no hash within the radius, and needs no tables beside the hashes.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow
from msgspec import Struct

from snellen.core.atomic_write import atomic_file, save
from snellen.core.errors import DataError, StorageError
from snellen_curate.duplicates.image_hashes import TURNS, Hashes
from snellen_curate.duplicates.image_rule import UNKNOWN, ImageRule, is_plain, likeness, turn_copies
from snellen_curate.duplicates.report import ImageMatch
from snellen_curate.duplicates.texts import band_keys, differ_in_numbers, jaccard, match_bands, shingles, tokens

INDEX_FILE = "index.json"
VERSION = 3
"""Of the files; part of the name of the folder in the cache."""

HAS_SHA256, HAS_PIXELS, HAS_PHASH, HAS_DHASH, HAS_COPY, IS_FLAT = (1 << bit for bit in range(6))
"""Bits of the column `flags`."""

Array = npt.NDArray[Any]


class IndexInfo(Struct, frozen=True, rename={"images": "pictures"}):
    """Content of `index.json`."""

    source: str
    """What was listed, as it was typed."""
    kind: str
    """`folder`, `tars`, `manifest` or `items`."""
    shard_size: int
    has_turned: bool = False
    """Whether the hashes of the mirrored and turned images are stored as well."""
    complete: bool = False
    shards: tuple[int, ...] = ()
    """Entries of each shard, once the index is complete."""
    images: int = 0
    """Entries with a hash or digest of an image."""
    flat: int = 0
    captions: int = 0
    broken: int = 0
    only_text: int = 0
    """Entries without any image that could be compared: an address or a caption alone."""

    @property
    def entries(self) -> int:
        return sum(self.shards)


class Shard:
    """Columns of a shard, mapped into memory. Raises DataError for a file that is damaged."""

    def __init__(self, path: Path, first: int = 0) -> None:
        """`first`: the row of its first entry in the index."""
        self._path, self.first = path, first
        try:
            # What is mapped stays so once the file is closed.
            with pyarrow.memory_map(str(path)) as file:
                self._batch = pyarrow.ipc.open_file(file).get_batch(0)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{path} cannot be read: {error}; delete its folder") from error

    def __len__(self) -> int:
        return len(self._batch)

    def get(self, name: str) -> Array | None:
        """A column of numbers; None if the shard does not have it."""
        if name not in self._batch.schema.names:
            return None
        column = self._batch.column(name)
        if isinstance(column, pyarrow.FixedShapeTensorArray):
            array: Array = column.to_numpy_ndarray()
            return array
        return np.asarray(column)

    def __getitem__(self, name: str) -> Array:
        array = self.get(name)
        if array is None:
            raise DataError(f"{self._path} lacks its column {name}; delete its folder")
        return array

    def text(self, name: str, row: int) -> str:
        """One text of a column; empty if the shard does not have the column."""
        if name not in self._batch.schema.names:
            return ""
        data: bytes = self._batch.column(name)[row].as_py()
        return data.decode("utf-8", "surrogateescape")

    def has_texts(self, name: str, texts: Sequence[str]) -> bool:
        """Whether a column holds just these texts."""
        return bool(self._batch.column(name).equals(_text_column(texts)))


def shard_path(folder: Path, number: int) -> Path:
    return folder / "shards" / f"{number:06}.arrow"


def write_shard(path: Path, columns: Mapping[str, Array | Sequence[str]]) -> None:
    """Write a shard: columns of texts, and arrays of one dimension or more.

    Raises StorageError."""
    arrays = [_column(values) for values in columns.values()]
    batch = pyarrow.record_batch(arrays, names=list(columns))
    try:
        path.parent.mkdir(exist_ok=True)
        with (
            atomic_file(path, sync=True) as part,
            pyarrow.OSFile(str(part), "wb") as file,
            pyarrow.ipc.new_file(file, batch.schema) as writer,
        ):
            writer.write_batch(batch)
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}; what is finished is kept: the same "
            "command goes on from there"
        ) from error


def _column(values: Array | Sequence[str]) -> pyarrow.Array:
    if not isinstance(values, np.ndarray):
        return _text_column(values)
    if values.ndim == 1:
        return pyarrow.array(values)
    return pyarrow.FixedShapeTensorArray.from_numpy_ndarray(values)


def _text_column(texts: Sequence[str]) -> pyarrow.Array:
    # Names of files need not be valid UTF-8.
    encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
    return pyarrow.array(encoded, pyarrow.binary())


def read_info(folder: Path) -> IndexInfo:
    """Read `index.json`. Raises DataError if it is damaged, and StorageError."""
    file = folder / INDEX_FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=IndexInfo)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}; delete its folder") from error
    except OSError as error:
        raise StorageError(f"cannot read {file}: {error.strerror or error}") from error


def save_info(folder: Path, info: IndexInfo) -> None:
    save(folder / INDEX_FILE, msgspec.json.format(msgspec.json.encode(info), indent=2) + b"\n")


_COMPARED_AT_ONCE = 4096
"""Pairs of small copies that are compared at once: 25 MB."""
_HASHES_AT_ONCE = 1 << 16
"""Pairs of hashes that are compared at once: they stay in the processor's cache."""
_DIGEST_FLAGS = {"sha256": HAS_SHA256, "pixels": HAS_PIXELS}


class ImageQueries(NamedTuple):
    """Images that are searched for, as columns."""

    phash: Hashes
    dhash: Hashes
    flags: Array
    copies: Array | None
    """Small copies (n, 16, 16, 3), if they are known."""
    turned: Array | None
    """pHashes (n, 8) of the images mirrored and turned, if they are known."""


class HashMatches(NamedTuple):
    """Pairs of a query and a row of the index whose pHashes are near, by query and row."""

    query: Array
    row: Array
    distance: Array


class HashIndex:
    """An index of image hashes that is complete. Raises DataError if it is damaged."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.info: IndexInfo = read_info(folder)
        self._starts = [0, *accumulate(self.info.shards)]
        """The first row of each shard, and the end of the last."""

    def __len__(self) -> int:
        return self.info.entries

    @cached_property
    def shards(self) -> list[Shard]:
        return [Shard(shard_path(self.folder, number), first) for number, first in enumerate(self._starts[:-1])]

    def search(self, queries: ImageQueries, rule: ImageRule) -> dict[tuple[int, int], ImageMatch]:
        """Every pair of a query and a row that are near duplicates by the rule, in their order.
        Exact: none is missed that the rule would accept."""
        with_hash = np.flatnonzero((queries.flags & (HAS_PHASH | IS_FLAT)) == HAS_PHASH)
        has_copies = any(shard.get("copies") is not None for shard in self.shards)
        radius = rule.max_radius
        if queries.copies is None or not has_copies:
            # By hashes alone fewer bits may differ.
            radius = max(rule.hash_radius, rule.lone_radius)
        can_turn = with_hash[:0]
        if rule.turned and has_copies and queries.copies is not None:
            can_turn = with_hash[~is_plain(queries.copies[with_hash])]
        best: dict[tuple[int, int], ImageMatch] = {}
        for way in range(TURNS if queries.turned is not None and len(can_turn) else 1):
            hashes = queries.phash if way == 0 or queries.turned is None else queries.turned[:, way]
            who = can_turn if way else with_hash
            found = self.near_hashes(hashes[who], radius)
            for pair, match in self._accept(found._replace(query=who[found.query]), queries, rule, way):
                # A pair may match in several ways, as a symmetric image does: the nearest counts.
                if pair not in best or (match.phash or 0) < (best[pair].phash or 0):
                    best[pair] = match
        return {pair: best[pair] for pair in sorted(best)}

    def near_hashes(self, hashes: Hashes, radius: int) -> HashMatches:
        """Pairs of these hashes and the rows whose pHash differs in at most `radius` bits."""

        def search(shard: Shard) -> HashMatches:
            stored = np.flatnonzero((shard["flags"] & (HAS_PHASH | IS_FLAT)) == HAS_PHASH)
            found = compare_hashes(hashes, shard["phash"][stored], radius)
            return found._replace(row=stored[found.row] + shard.first)

        # numpy lets other threads run while it compares.
        with ThreadPoolExecutor() as pool:
            return _join(list(pool.map(search, self.shards)))

    def _accept(
        self, found: HashMatches, queries: ImageQueries, rule: ImageRule, way: int
    ) -> Iterator[tuple[tuple[int, int], ImageMatch]]:
        """Those of the pairs that the rule accepts by all that is known of both, the query turned
        in one of the ways of `turned_phashes`, of which 0 leaves it as it is."""
        dhash = np.full(len(found.row), UNKNOWN, np.uint8)
        alike = np.full(len(found.row), np.nan, np.float32)
        for places, shard, local in self._by_shard(found.row) if way == 0 else ():
            who = found.query[places]
            known = np.flatnonzero(shard["flags"][local] & queries.flags[who] & HAS_DHASH)
            stored = shard["dhash"][local[known]]
            dhash[places[known]] = hamming(stored, queries.dhash[who[known]])
        if queries.copies is not None:
            known = np.flatnonzero(queries.flags[found.query] & HAS_COPY)
            alike[known] = self.likeness(queries.copies, found.query[known], found.row[known], way)
        keep = np.flatnonzero(rule.accept(found.distance, dhash, alike))
        columns = (*found, dhash, alike)
        for query, row, bits, other_bits, correlation in zip(
            *(column[keep].tolist() for column in columns), strict=True
        ):
            yield (
                (query, row),
                ImageMatch(
                    "turned" if way else "near",
                    bits,
                    None if other_bits == UNKNOWN else other_bits,
                    None if math.isnan(correlation) else round(correlation, 4),
                ),
            )

    def likeness(self, copies: Array, query: Array, rows: Array, way: int = 0) -> Array:
        """Correlation of the small copies of queries, turned one way (`turn_copies`), with those of
        rows, pair by pair; NaN for a row without one."""
        alike = np.full(len(rows), np.nan, np.float32)
        for places, shard, local in self._by_shard(rows):
            stored = shard.get("copies")
            if stored is None:
                continue
            known = np.flatnonzero(shard["flags"][local] & HAS_COPY)
            for some in np.array_split(known, len(known) // _COMPARED_AT_ONCE + 1):
                turned = turn_copies(copies[query[places[some]]], way)
                alike[places[some]] = likeness(stored[local[some]], turned)
        return alike

    def queries(self) -> ImageQueries:
        """The images of this index as queries; held in memory."""
        return ImageQueries(
            self.column("phash"),
            self.column("dhash"),
            self.column("flags"),
            self.find_column("copies"),
            self.find_column("turned"),
        )

    def search_digests(self, digests: Array, name: str) -> list[tuple[int, int]]:
        """Pairs of a query and a row with the same SHA-256; `name` is `sha256` (of the file's
        bytes) or `pixels`. `digests` is (n, 32)."""
        wanted: dict[bytes, list[int]] = defaultdict(list)
        for query, digest in enumerate(digests):
            wanted[digest.tobytes()].append(query)
        starts = np.unique(_digest_starts(digests))
        pairs = []
        for shard in self.shards:
            stored, known = shard[name], (shard["flags"] & _DIGEST_FLAGS[name]) > 0
            for row in np.flatnonzero(known & np.isin(_digest_starts(stored), starts)).tolist():
                pairs += [(query, shard.first + row) for query in wanted.get(stored[row].tobytes(), ())]
        return sorted(pairs)

    def search_texts(self, texts: Sequence[str], threshold: float) -> list[tuple[int, int, float]]:
        """Query, row and Jaccard similarity of the captions that are near these texts and hold the
        same numbers."""
        words = [tokens(text) for text in texts]
        queries = [shingles(one) for one in words]
        wanted = band_keys(queries)
        found = []
        for shard in self.shards:
            keys = shard.get("bands")
            for query, row in match_bands(wanted, keys) if keys is not None else ():
                caption = tokens(shard.text("captions", row))
                similarity = jaccard(queries[query], shingles(caption))
                if similarity >= threshold and not differ_in_numbers(words[query], caption):
                    found.append((query, shard.first + row, similarity))
        return sorted(found)

    def text(self, name: str, row: int) -> str:
        """A text of an entry: `names` (its path, key or address) or `captions`."""
        shard, local = self._find(row)
        return shard.text(name, local)

    def row(self, row: int, column: str) -> Array:
        """One entry of a column."""
        shard, local = self._find(row)
        value: Array = shard[column][local]
        return value

    def column(self, name: str) -> Array:
        """A whole column, in memory: for indexes of one data set."""
        return np.concatenate([shard[name] for shard in self.shards])

    def find_column(self, name: str) -> Array | None:
        """The same with zeros for shards that lack the column; None if all do."""
        parts = [(len(shard), shard.get(name)) for shard in self.shards]
        known = next((values for _, values in parts if values is not None), None)
        if known is None:
            return None
        empty = known[:0]
        return np.concatenate(
            [np.zeros((size, *empty.shape[1:]), empty.dtype) if values is None else values for size, values in parts]
        )

    def broken(self) -> Iterator[tuple[str, str]]:
        """Names of the entries that could not be used, and why."""
        for shard in self.shards:
            for row in np.flatnonzero(shard["broken"]).tolist():
                yield shard.text("names", row), shard.text("problems", row)

    def _find(self, row: int) -> tuple[Shard, int]:
        """The shard of a row, and where in it this lies."""
        shard = self.shards[bisect_right(self._starts, row) - 1]
        return shard, row - shard.first

    def _by_shard(self, rows: Array) -> Iterator[tuple[Array, Shard, Array]]:
        """Places in `rows`, by the shard that their rows lie in, and where in it these lie."""
        if not len(rows):
            return
        shards = np.searchsorted(self._starts, rows, "right") - 1
        order = np.argsort(shards, kind="stable")
        for places in np.split(order, np.flatnonzero(np.diff(shards[order])) + 1):
            shard = self.shards[shards[places[0]]]
            yield places, shard, rows[places] - shard.first


def hamming(one: Hashes, other: Hashes) -> npt.NDArray[np.uint8]:
    """Bits in which hashes differ, 0..64, element by element."""
    differing = np.asarray(one ^ other)
    if hasattr(np, "bitwise_count"):
        counts: npt.NDArray[np.uint8] = np.bitwise_count(differing)
    else:  # numpy < 2
        bits = np.unpackbits(np.ascontiguousarray(differing[..., None]).view(np.uint8), axis=-1)
        counts = bits.sum(axis=-1, dtype=np.uint8)
    return counts


def compare_hashes(queries: Hashes, hashes: Hashes, radius: int) -> HashMatches:
    """Every pair of a query and a place in `hashes` that differ in at most `radius` bits. Short
    arrays are compared as one matrix."""
    parts = []
    step = max(1, _HASHES_AT_ONCE // max(1, len(hashes)))
    for start in range(0, len(queries), step):
        distance = hamming(queries[start : start + step, None], hashes[None, :])
        # Of a flat view: numpy finds the places of a matrix five times as slowly.
        near = np.flatnonzero(distance <= radius)
        if len(near):
            query, place = np.divmod(near, len(hashes))
            parts.append(HashMatches(query + start, place, distance[query, place]))
    return _join(parts)


def _join(parts: Sequence[HashMatches]) -> HashMatches:
    if not parts:
        return HashMatches(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8))
    return HashMatches(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _digest_starts(digests: Array) -> Array:
    """The first 8 bytes of digests (n, 32) as numbers."""
    starts: Array = np.ascontiguousarray(digests[:, :8]).view(np.uint64)[:, 0]
    return starts
