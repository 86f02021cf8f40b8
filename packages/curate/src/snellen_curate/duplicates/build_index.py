"""Build an index of picture hashes: shard by shard, so that a killed build goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from snellen.core.errors import UsageError
from snellen.data_sets.folder_lock import LOCK_FILE, lock_folder
from snellen_curate.duplicates.hashing import HashSources, open_hasher
from snellen_curate.duplicates.index_format import (
    HAS_COPY,
    HAS_DHASH,
    HAS_PHASH,
    HAS_PIXELS,
    HAS_SHA256,
    INDEX_FILE,
    IS_FLAT,
    Array,
    IndexInfo,
    Shard,
    read_info,
    save_info,
    shard_path,
    write_shard,
)
from snellen_curate.duplicates.listing import ListEntry, Listing
from snellen_curate.duplicates.picture_hashes import TURNS, BrokenPicture, PictureHash
from snellen_curate.duplicates.picture_rule import THUMB_SHAPE
from snellen_curate.duplicates.texts import band_keys, shingles, tokens

SHARD_SIZE = 10_000
MIN_CONTRAST = 2.0
"""Standard deviation of the reduced grey values (0..255) below which a picture counts as flat: all
flat pictures have nearly the same hash, or none that means anything. They are compared by their
bytes and pixels alone."""
_TEXT_BATCH = 2_000

Columns = dict[str, Array | Sequence[str]]


class ListChanged(UsageError):
    """The list names other pictures than when its index was begun."""


class IndexProgress(NamedTuple):
    """How far a build is."""

    entries: int
    """Entries of finished shards."""
    reused: int
    """Of these, entries that an earlier start had finished."""


OnProgress = Callable[[IndexProgress], None]


def build_index(
    listing: Listing,
    out: Path,
    *,
    processes: int | None = None,
    shard_size: int = SHARD_SIZE,
    has_turned: bool = False,
    on_progress: OnProgress | None = None,
) -> IndexInfo:
    """Hash the pictures of a list into the folder `out`, or go on where an earlier start was.

    Raises UsageError for a folder that holds something else or an index of another list, RunLocked
    if another process writes it, DataError for a list without entries, and StorageError.
    """
    wanted = IndexInfo(listing.spec, listing.kind, shard_size, has_turned)
    lock = lock_folder(out, f"another process is writing the index {out}; wait for it, or use another folder")
    try:
        info = _start(out, wanted)
        with open_hasher(processes) as hash_sources:

            def make(batch: Sequence[ListEntry]) -> Columns:
                return _make_shard(batch, has_turned, hash_sources)

            sizes = _write_shards(listing, out, info, make, on_progress)
        if not info.complete:
            info = replace(info, complete=True, shards=tuple(sizes), **_count(out, len(sizes)))
            save_info(out, info)
        return info
    finally:
        lock.release()


def _start(out: Path, wanted: IndexInfo) -> IndexInfo:
    """The index's info: new, or of an earlier start with the same settings."""
    if not (out / INDEX_FILE).exists():
        if any(child.name != LOCK_FILE for child in out.iterdir()):
            raise UsageError(f"{out} is not empty and holds no index of picture hashes; choose another folder")
        save_info(out, wanted)
        return wanted
    info = read_info(out)
    for name in ("source", "kind", "shard_size", "has_turned"):
        before, now = getattr(info, name), getattr(wanted, name)
        if before != now:
            raise UsageError(
                f"{out} is an index with {name} {before!r}, now it is {now!r}; choose another "
                "folder, or delete this one"
            )
    return info


def _write_shards(
    listing: Listing,
    out: Path,
    info: IndexInfo,
    make: Callable[[Sequence[ListEntry]], Columns],
    on_progress: OnProgress | None,
) -> list[int]:
    """Write the shards that are missing, and compare the others' names with the list. Returns the
    number of entries of each shard."""
    sizes: list[int] = []
    reused = 0
    changed = ListChanged(
        f"{listing.spec} lists other pictures than when {out} was begun; choose another folder, or "
        "delete this one and start again"
    )
    for number, batch in enumerate(listing.batches(info.shard_size)):
        path = shard_path(out, number)
        if path.exists():
            if not Shard(path).has_texts("names", [one.name for one in batch]):
                raise changed
            reused += len(batch)
        elif info.complete:
            raise changed
        else:
            write_shard(path, make(batch))
        sizes.append(len(batch))
        if on_progress is not None:
            on_progress(IndexProgress(sum(sizes), reused))
    if not sizes:
        raise UsageError(f"{listing.spec} is empty: it lists no picture and no caption")
    if shard_path(out, len(sizes)).exists():
        raise changed
    return sizes


def _count(out: Path, shards: int) -> dict[str, int]:
    counts = dict.fromkeys(("pictures", "flat", "captions", "broken", "only_text"), 0)
    for number in range(shards):
        shard = Shard(shard_path(out, number))
        has = (shard["flags"] & (HAS_SHA256 | HAS_PHASH)) > 0
        counts["pictures"] += int(has.sum())
        counts["flat"] += int(((shard["flags"] & IS_FLAT) > 0).sum())
        counts["broken"] += int(shard["broken"].sum())
        counts["only_text"] += int((~has & ~shard["broken"]).sum())
        keys = shard.get("bands")
        counts["captions"] += 0 if keys is None else int((keys[:, 0] > 0).sum())
    return counts


def _make_shard(batch: Sequence[ListEntry], has_turned: bool, hash_sources: HashSources) -> Columns:
    """Hash the pictures of consecutive entries and compute the keys of their captions."""
    problems = [one.problem for one in batch]
    columns: Columns = {"names": [one.name for one in batch]}
    columns |= _hash_batch(batch, has_turned, hash_sources, problems)
    columns |= {"problems": problems, "broken": np.array([bool(one) for one in problems])}
    captions = [one.caption for one in batch]
    if any(captions):
        columns["captions"] = captions
        columns["bands"] = np.concatenate(list(_caption_keys(captions)))
    return columns


def _hash_batch(
    batch: Sequence[ListEntry], has_turned: bool, hash_sources: HashSources, problems: list[str]
) -> dict[str, Array]:
    """Columns of hashes. What is wrong with a picture goes to its row of `problems`."""
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
    sources = [(row, one.source) for row, one in enumerate(batch) if one.source is not None]
    if sources:
        arrays["copies"] = np.zeros((count, *THUMB_SHAPE), np.uint8)
    _add_listed(arrays, batch)
    hashed = hash_sources(source for _, source in sources)
    for (row, _), one in zip(sources, hashed, strict=True):
        if isinstance(one, BrokenPicture):
            problems[row] = one.reason
        else:
            _add_hashed(arrays, row, one)
    return arrays


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


def _add_listed(arrays: dict[str, Array], batch: Sequence[ListEntry]) -> None:
    """The hashes that the list itself holds."""
    for row, one in enumerate(batch):
        if one.phash is not None:
            arrays["phash"][row] = one.phash
            arrays["flags"][row] |= HAS_PHASH
        if one.dhash is not None:
            arrays["dhash"][row] = one.dhash
            arrays["flags"][row] |= HAS_DHASH
        if one.sha256 is not None:
            arrays["sha256"][row] = np.frombuffer(one.sha256, np.uint8)
            arrays["flags"][row] |= HAS_SHA256


def _caption_keys(captions: Sequence[str]) -> Iterator[Array]:
    for start in range(0, len(captions), _TEXT_BATCH):
        some = captions[start : start + _TEXT_BATCH]
        yield band_keys([shingles(tokens(caption)) for caption in some])
