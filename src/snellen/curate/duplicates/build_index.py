"""Build an index of picture hashes: shard by shard, so that a killed build goes on where it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from snellen.core.errors import StorageError, UsageError
from snellen.core.media import Source
from snellen.curate.duplicates.hamming import MAX_BLOCK, HashTables
from snellen.curate.duplicates.hashing import HashResult, open_hasher
from snellen.curate.duplicates.index_format import (
    HAS_COPY,
    HAS_DHASH,
    HAS_PHASH,
    HAS_PIXELS,
    HAS_SHA256,
    INDEX_FILE,
    IS_BROKEN,
    IS_FLAT,
    TABLES,
    Array,
    BrokenEntry,
    IndexInfo,
    StringColumn,
    TableBlock,
    map_array,
    read_info,
    read_strings,
    save_info,
    shard_folder,
    write_arrays,
)
from snellen.curate.duplicates.listing import Batch, Listing
from snellen.curate.duplicates.picture_hashes import TURNS, BrokenPicture, PictureHash
from snellen.curate.duplicates.picture_rule import THUMB_SHAPE
from snellen.curate.duplicates.texts import band_keys, shingles, tokens
from snellen.curate.folder_lock import LOCK_FILE, lock_folder

SHARD_SIZE = 10_000
MIN_CONTRAST = 2.0
"""Standard deviation of the reduced grey values (0..255) below which a picture counts as flat: all
flat pictures have nearly the same hash, or none that means anything. They are compared by their
bytes and pixels alone."""
_TEXT_BATCH = 2_000

Embed = Callable[[Sequence[Source | None]], Array]
"""Embeddings of pictures, (n, features) in float16; rows of zeros for what cannot be embedded."""


class ListChanged(UsageError):
    """The list names other pictures than when its index was begun."""


class IndexProgress(NamedTuple):
    """How far a build is."""

    entries: int
    """Entries of finished shards."""
    reused: int
    """Of these, entries that an earlier start had finished."""


OnProgress = Callable[[IndexProgress], None]


class ShardJob(NamedTuple):
    """A shard that is to be made: consecutive entries of the list."""

    number: int
    first: int
    """Row of its first entry."""
    batch: Batch
    has_turned: bool
    """Whether the hashes of mirrored and turned pictures are wanted."""


class Shard(NamedTuple):
    """A shard that is to be written."""

    job: ShardJob
    arrays: dict[str, Array]
    broken: list[BrokenEntry]


MakeShards = Callable[[Iterator[ShardJob]], Iterator[Shard]]
"""Makes shards, in any order."""


def build_index(
    listing: Listing,
    out: Path,
    *,
    processes: int | None = None,
    shard_size: int = SHARD_SIZE,
    has_turned: bool = False,
    embed: Embed | None = None,
    embedder: str = "",
    on_progress: OnProgress | None = None,
    make_shards: MakeShards | None = None,
) -> IndexInfo:
    """Hash the pictures of a list into the folder `out`, or go on where an earlier start was.

    `make_shards` makes the shards elsewhere than in processes of this machine. Raises UsageError
    for a folder that holds something else or an index of another list, RunLocked if another process
    writes it, DataError for a list without entries, and StorageError.
    """
    wanted = IndexInfo(listing.spec, listing.kind, shard_size, has_turned, embedder)
    lock = lock_folder(
        out, f"another process is writing the index {out}; wait for it, or use another folder"
    )
    try:
        info = _start(out, wanted)
        with open_hasher(processes) as hasher:

            def make_here(jobs: Iterator[ShardJob]) -> Iterator[Shard]:
                return (make_shard(job, hasher.hash, embed) for job in jobs)

            info = _write_shards(listing, out, info, make_shards or make_here, on_progress)
        if not info.complete:
            info = replace(info, complete=True, blocks=_write_tables(out, info))
            save_info(out, info)
        return info
    finally:
        lock.release()


def _start(out: Path, wanted: IndexInfo) -> IndexInfo:
    """The index's info: new, or of an earlier start with the same settings."""
    if not (out / INDEX_FILE).exists():
        if any(child.name != LOCK_FILE for child in out.iterdir()):
            raise UsageError(
                f"{out} is not empty and holds no index of picture hashes; choose another folder"
            )
        save_info(out, wanted)
        return wanted
    info = read_info(out)
    for name in ("source", "kind", "shard_size", "has_turned", "embedder"):
        before, now = getattr(info, name), getattr(wanted, name)
        if before != now:
            raise UsageError(
                f"{out} is an index with {name} {before!r}, now it is {now!r}; choose another "
                "folder, or delete this one"
            )
    return info


def _write_shards(
    listing: Listing, out: Path, info: IndexInfo, make_shards: MakeShards,
    on_progress: OnProgress | None,
) -> IndexInfo:  # fmt: skip
    """Write the shards that are missing, and compare the others' names with the list."""
    sizes: list[int] = []
    finished = reused = 0

    def report(count: int, *, is_new: bool) -> None:
        nonlocal finished, reused
        finished += count
        reused += 0 if is_new else count
        if on_progress is not None:
            on_progress(IndexProgress(finished, reused))

    def missing() -> Iterator[ShardJob]:
        for number, batch in enumerate(listing.batches(info.shard_size)):
            folder = shard_folder(out, number)
            sizes.append(len(batch))
            if folder.is_dir():
                _check_names(folder, batch, listing.spec, out)
                report(len(batch), is_new=False)
            elif info.complete:
                raise _list_changed(listing.spec, out)
            else:
                yield ShardJob(number, sum(sizes[:-1]), batch, info.has_turned)

    for shard in make_shards(missing()):
        write_arrays(shard_folder(out, shard.job.number), shard.arrays, shard.broken)
        report(len(shard.job.batch), is_new=True)
    if not sizes:
        raise UsageError(f"{listing.spec} is empty: it lists no picture and no caption")
    if shard_folder(out, len(sizes)).is_dir():
        raise _list_changed(listing.spec, out)
    return replace(info, shards=tuple(sizes), **_count(out, len(sizes)))


def _count(out: Path, shards: int) -> dict[str, int]:
    counts = dict.fromkeys(("pictures", "flat", "captions", "broken", "only_text"), 0)
    for number in range(shards):
        folder = shard_folder(out, number)
        flags = _read_column(folder, "flags")
        has = (flags & (HAS_SHA256 | HAS_PHASH)) > 0
        broken = (flags & IS_BROKEN) > 0
        counts["pictures"] += int(has.sum())
        counts["flat"] += int(((flags & IS_FLAT) > 0).sum())
        counts["broken"] += int(broken.sum())
        counts["only_text"] += int((~has & ~broken).sum())
        keys = map_array(folder, "bands")
        counts["captions"] += 0 if keys is None else int((keys[:, 0] > 0).sum())
    return counts


def _check_names(folder: Path, batch: Batch, spec: str, out: Path) -> None:
    names = read_strings(folder, "names")
    expected = StringColumn.arrays("names", batch.names)
    same = (
        names is not None
        and np.array_equal(names.ends, expected["names-ends"])
        and np.array_equal(names.data, expected["names"])
    )
    if not same:
        raise _list_changed(spec, out)


def _list_changed(spec: str, out: Path) -> ListChanged:
    return ListChanged(
        f"{spec} lists other pictures than when {out} was begun; choose another folder, or delete "
        "this one and start again"
    )


HashSources = Callable[[Iterator[Source]], Iterator[HashResult]]
"""Hashes pictures, in order."""


def make_shard(job: ShardJob, hash_sources: HashSources, embed: Embed | None = None) -> Shard:
    """Hash the pictures of a shard and compute the keys of its captions."""
    batch = job.batch
    arrays, problems = _hash_batch(batch, hash_sources, job.has_turned)
    arrays |= StringColumn.arrays("names", batch.names)
    if any(batch.captions):
        arrays |= StringColumn.arrays("captions", batch.captions)
        arrays["bands"] = np.concatenate(list(_caption_keys(batch.captions)))
    if embed is not None:
        arrays["embeddings"] = embed(batch.sources)
    broken = [
        BrokenEntry(job.first + row, batch.names[row], reason)
        for row, reason in sorted(problems.items())
    ]
    return Shard(job, arrays, broken)


def _hash_batch(
    batch: Batch, hash_sources: HashSources, has_turned: bool
) -> tuple[dict[str, Array], dict[int, str]]:
    """Columns of hashes, and what is wrong by row."""
    count = len(batch)
    arrays: dict[str, Array] = {
        "phash": np.zeros(count, np.uint64),
        "dhash": np.zeros(count, np.uint64),
        "sha256": np.zeros((count, 32), np.uint8),
        "pixels": np.zeros((count, 32), np.uint8),
        "size": np.zeros((count, 2), np.uint32),
        "flags": np.zeros(count, np.uint8),
    }
    if has_turned:
        arrays["turned"] = np.zeros((count, TURNS), np.uint64)
    if any(source is not None for source in batch.sources):
        arrays["copies"] = np.zeros((count, *THUMB_SHAPE), np.uint8)
    _add_listed(arrays, batch)
    problems = {row: problem for row, problem in enumerate(batch.problems) if problem}
    sources = [(row, source) for row, source in enumerate(batch.sources) if source is not None]
    hashed = hash_sources(source for _, source in sources)
    for (row, _), one in zip(sources, hashed, strict=True):
        if isinstance(one, BrokenPicture):
            problems[row] = one.reason
        else:
            _add_hashed(arrays, row, one)
    for row in problems:
        arrays["flags"][row] |= IS_BROKEN
    return arrays, problems


def _add_hashed(arrays: dict[str, Array], row: int, one: PictureHash) -> None:
    arrays["phash"][row], arrays["dhash"][row] = one.phash, one.dhash
    arrays["sha256"][row] = np.frombuffer(one.bytes_digest, np.uint8)
    arrays["pixels"][row] = np.frombuffer(one.pixels_digest, np.uint8)
    arrays["size"][row] = one.width, one.height
    arrays["copies"][row] = one.small_copy
    arrays["flags"][row] |= HAS_SHA256 | HAS_PIXELS | HAS_PHASH | HAS_DHASH | HAS_COPY
    arrays["flags"][row] |= IS_FLAT if one.contrast < MIN_CONTRAST else 0
    if "turned" in arrays:
        arrays["turned"][row] = one.turned


def _add_listed(arrays: dict[str, Array], batch: Batch) -> None:
    """The hashes that the list itself holds."""
    for name, values, flag in (
        ("phash", batch.phash, HAS_PHASH), ("dhash", batch.dhash, HAS_DHASH),
    ):  # fmt: skip
        rows = [row for row, value in enumerate(values) if value is not None]
        arrays[name][rows] = [values[row] for row in rows]
        arrays["flags"][rows] |= flag
    rows = [row for row, value in enumerate(batch.sha256) if value is not None]
    if rows:
        joined = b"".join(batch.sha256[row] or b"" for row in rows)
        arrays["sha256"][rows] = np.frombuffer(joined, np.uint8).reshape(len(rows), 32)
        arrays["flags"][rows] |= HAS_SHA256


def _caption_keys(captions: Sequence[str]) -> Iterator[Array]:
    for start in range(0, len(captions), _TEXT_BATCH):
        some = captions[start : start + _TEXT_BATCH]
        yield band_keys([shingles(tokens(caption)) for caption in some])


def _write_tables(out: Path, info: IndexInfo) -> tuple[TableBlock, ...]:
    """Tables of the hashes of all shards, at most `MAX_BLOCK` hashes each."""
    shutil.rmtree(out / TABLES, ignore_errors=True)
    blocks: list[TableBlock] = []
    first, shards = 0, list[int]()
    for number, size in enumerate(info.shards):
        if shards and sum(info.shards[one] for one in shards) + size > MAX_BLOCK:
            blocks.append(_write_block(out, len(blocks), first, shards))
            first, shards = first + blocks[-1].rows, []
        shards.append(number)
    blocks.append(_write_block(out, len(blocks), first, shards))
    return tuple(blocks)


def _write_block(out: Path, number: int, first: int, shards: Sequence[int]) -> TableBlock:
    """Tables by hash, and of the first 8 bytes of each SHA-256. Rows count from `first`."""
    folders = [shard_folder(out, shard) for shard in shards]

    def column(name: str) -> Array:
        return np.concatenate([_read_column(folder, name) for folder in folders])

    flags = column("flags")
    with_hash = np.flatnonzero((flags & (HAS_PHASH | IS_FLAT)) == HAS_PHASH)
    arrays: dict[str, Array] = dict(
        HashTables.build(column("phash")[with_hash], with_hash).arrays()
    )
    for name, flag in (("sha256", HAS_SHA256), ("pixels", HAS_PIXELS)):
        rows = np.flatnonzero(flags & flag)
        prefixes = digest_prefixes(column(name)[rows])
        order = np.argsort(prefixes, kind="stable")
        arrays |= {
            f"{name}-prefixes": prefixes[order],
            f"{name}-rows": rows[order].astype(np.uint32),
        }
    write_arrays(out / TABLES / f"{number:03}", arrays)
    return TableBlock(first, len(flags))


def digest_prefixes(digests: Array) -> Array:
    """The first 8 bytes of digests (n, 32) as numbers."""
    return np.ascontiguousarray(digests[:, :8]).view(">u8")[:, 0].astype(np.uint64)


def _read_column(folder: Path, name: str) -> Array:
    array = map_array(folder, name)
    if array is None:
        raise StorageError(f"{folder} lacks its column {name}; delete the index and write it again")
    return array
