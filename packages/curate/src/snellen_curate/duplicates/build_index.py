"""Build an index of image hashes: shard by shard, so that a killed build goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from snellen.core.errors import UsageError
from snellen.data_sets.step import lock_folder
from snellen_curate.duplicates.hash_index import (
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
from snellen_curate.duplicates.hashing import HashSources, open_hasher
from snellen_curate.duplicates.image_hashes import TURNS, UnreadableImage
from snellen_curate.duplicates.image_rule import THUMB_SHAPE
from snellen_curate.duplicates.listing import ListEntry, Listing
from snellen_curate.duplicates.texts import band_keys, shingles, tokens

SHARD_SIZE = 10_000
MIN_CONTRAST = 2.0
"""Standard deviation of the reduced grey values (0..255) below which an image counts as flat: all
flat images have nearly the same hash, or none that means anything. They are compared by their
bytes and pixels alone."""
_KNOWN = {"phash": HAS_PHASH, "dhash": HAS_DHASH, "sha256": HAS_SHA256, "pixels": HAS_PIXELS, "copies": HAS_COPY}
"""The flag of an entry of which a column is known."""
_KINDS: Mapping[str, tuple[type[np.generic], tuple[int, ...]]] = {
    "phash": (np.uint64, ()),
    "dhash": (np.uint64, ()),
    "sha256": (np.uint8, (32,)),
    "pixels": (np.uint8, (32,)),
    "size": (np.uint32, (2,)),
    "flags": (np.uint8, ()),
    "turned": (np.uint64, (TURNS,)),
    "copies": (np.uint8, THUMB_SHAPE),
}
"""Type and shape of the columns of hashes."""

Columns = dict[str, Array | Sequence[str]]


class ListChanged(UsageError):
    """The list names other images than when its index was begun."""


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
    """Hash the images of a list into the folder `out`, or go on where an earlier start was.

    The folder belongs to this list and these settings alone. Raises ListChanged if the list has changed
    since, RunLocked if another process writes it, UsageError for a list without entries, and StorageError.
    """
    wanted = IndexInfo(listing.spec, listing.kind, shard_size, has_turned)
    lock = lock_folder(out, f"another process is writing the index {out}; wait for it, or use another folder")
    try:
        info = read_info(out) if (out / INDEX_FILE).is_file() else wanted
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
    changed = ListChanged(f"{listing.spec} lists other pictures than when {out} was begun")
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
    counts = dict.fromkeys(("images", "flat", "captions", "broken", "only_text"), 0)
    for number in range(shards):
        shard = Shard(shard_path(out, number))
        has = (shard["flags"] & (HAS_SHA256 | HAS_PHASH)) > 0
        counts["images"] += int(has.sum())
        counts["flat"] += int(((shard["flags"] & IS_FLAT) > 0).sum())
        counts["broken"] += int(shard["broken"].sum())
        counts["only_text"] += int((~has & ~shard["broken"]).sum())
        keys = shard.get("bands")
        counts["captions"] += 0 if keys is None else int((keys[:, 0] > 0).sum())
    return counts


def _make_shard(batch: Sequence[ListEntry], has_turned: bool, hash_sources: HashSources) -> Columns:
    """Hash the images of consecutive entries and compute the keys of their captions."""
    problems, captions = [one.problem for one in batch], [one.caption for one in batch]
    with_source = [row for row, one in enumerate(batch) if one.source is not None]
    kinds = dict(_KINDS)
    if not has_turned:
        del kinds["turned"]
    if not with_source:
        del kinds["copies"]
    arrays: dict[str, Array] = {name: np.zeros((len(batch), *shape), kind) for name, (kind, shape) in kinds.items()}

    def record(row: int, values: Mapping[str, Any], flags: int = 0) -> None:
        for name, value in values.items():
            if value is not None and name in arrays:
                arrays[name][row] = np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value
                arrays["flags"][row] |= _KNOWN.get(name, 0) | flags

    for row, one in enumerate(batch):
        record(row, {"phash": one.phash, "dhash": one.dhash, "sha256": one.sha256})
    hashed = hash_sources(source for one in batch if (source := one.source) is not None)
    for row, image in zip(with_source, hashed, strict=True):
        if isinstance(image, UnreadableImage):
            problems[row] = image.reason
        else:
            record(
                row, {**image._asdict(), "copies": image.small_copy}, IS_FLAT if image.contrast < MIN_CONTRAST else 0
            )
    columns: Columns = {"names": [one.name for one in batch], **arrays, "problems": problems}
    columns["broken"] = np.array([bool(one) for one in problems])
    if any(captions):
        columns |= {"captions": captions, "bands": band_keys([shingles(tokens(caption)) for caption in captions])}
    return columns
