"""Files of an index of picture hashes: shards of columns, written once each, whole or not at all.

index.json            format, version, what was listed, counts; `complete` once everything is there
shards/000000/        consecutive entries of the list: a `.npy` file for each column, their names
tables/000/           tables by which hashes are found (`hamming.HashTables`), for many shards
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from snellen.core.atomic_write import save
from snellen.core.errors import DataError, StorageError

INDEX_FILE = "index.json"
FORMAT = "snellen picture hashes"
VERSION = 2
SHARDS, TABLES = "shards", "tables"

HAS_SHA256, HAS_PIXELS, HAS_PHASH, HAS_DHASH, HAS_COPY, IS_FLAT, IS_BROKEN = (
    1 << bit for bit in range(7)
)
"""Bits of the column `flags`."""

Array = npt.NDArray[Any]


class BrokenEntry(Struct, frozen=True):
    """An entry of the list that could not be used, and why."""

    row: int
    name: str
    reason: str


class TableBlock(Struct, frozen=True):
    """Rows whose hashes are in one folder of tables."""

    first: int
    rows: int


class IndexInfo(Struct, frozen=True):
    """Content of `index.json`."""

    source: str
    """What was listed, as it was typed."""
    kind: str
    """`folder`, `tars`, `manifest` or `items`."""
    shard_size: int
    has_turned: bool = False
    """Whether the hashes of the mirrored and turned pictures are stored as well."""
    embedder: str = ""
    """The model of the stored embeddings; empty if there are none."""
    format: str = FORMAT
    version: int = VERSION
    complete: bool = False
    shards: tuple[int, ...] = ()
    """Entries of each shard, once the index is complete."""
    blocks: tuple[TableBlock, ...] = ()
    pictures: int = 0
    """Entries with a hash or digest of a picture."""
    flat: int = 0
    captions: int = 0
    broken: int = 0
    only_text: int = 0
    """Entries without any picture that could be compared: an address or a caption alone."""

    @property
    def entries(self) -> int:
        return sum(self.shards)


@dataclass(frozen=True, slots=True)
class StringColumn:
    """Texts one after the other, with where each ends: any of ten million is read alone."""

    data: Array
    """UTF-8 bytes."""
    ends: Array

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, row: int) -> str:
        start = int(self.ends[row - 1]) if row else 0
        return bytes(self.data[start : int(self.ends[row])]).decode("utf-8", "surrogateescape")

    @staticmethod
    def arrays(name: str, texts: Sequence[str]) -> dict[str, Array]:
        encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
        ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        joined = np.frombuffer(b"".join(encoded), np.uint8)
        return {name: joined, f"{name}-ends": ends}


def read_info(folder: Path) -> IndexInfo:
    """Read `index.json`. Raises DataError for another format or version, and StorageError."""
    file = folder / INDEX_FILE
    try:
        data = file.read_bytes()
        plain = msgspec.json.decode(data)
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            raise DataError(f"{file} is not of an index of picture hashes; name another folder")
        if plain.get("version") != VERSION:
            raise DataError(
                f"{folder} is an index of version {plain.get('version')}; this Snellen reads "
                f"version {VERSION}: write it again with --index --out"
            )
        return msgspec.json.decode(data, type=IndexInfo)
    except FileNotFoundError:
        raise DataError(
            f"{folder} holds no index; write one with: snellen curate duplicates PICTURES "
            f"--index --out {folder}"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}; write the index again") from error
    except OSError as error:
        raise StorageError(f"cannot read {file}: {error.strerror or error}") from error


def save_info(folder: Path, info: IndexInfo) -> None:
    save(folder / INDEX_FILE, msgspec.json.format(msgspec.json.encode(info), indent=2) + b"\n")


def shard_folder(folder: Path, number: int) -> Path:
    return folder / SHARDS / f"{number:06}"


def write_arrays(
    target: Path, arrays: Mapping[str, Array], broken: Iterable[BrokenEntry] = ()
) -> None:
    """Write arrays as files of a new folder, which appears once all are on disk.

    Raises StorageError."""
    part = target.with_name(target.name + ".part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for name, array in arrays.items():
            with (part / f"{name}.npy").open("wb") as file:
                np.save(file, array, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
        lines = b"".join(msgspec.json.encode(one) + b"\n" for one in broken)
        if lines:
            (part / "broken.jsonl").write_bytes(lines)
        part.rename(target)
    except OSError as error:
        raise StorageError(
            f"cannot write {target}: {error.strerror or error}; what is finished is kept: the same "
            "command goes on from there"
        ) from error


def read_broken(folder: Path) -> list[BrokenEntry]:
    file = folder / "broken.jsonl"
    if not file.exists():
        return []
    return [msgspec.json.decode(line, type=BrokenEntry) for line in file.read_bytes().splitlines()]


def map_array(folder: Path, name: str) -> Array | None:
    """A column of a shard, mapped into memory; None if the shard does not have it.

    Raises DataError for a file that is damaged."""
    file = folder / f"{name}.npy"
    if not file.exists():
        return None
    try:
        # An empty array cannot be mapped.
        mapped: Array = np.load(file, mmap_mode="r" if file.stat().st_size > 256 else None,
                                allow_pickle=False)  # fmt: skip
        return mapped.view(np.ndarray)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{file} cannot be read: {error}; write the index again") from error


def read_strings(folder: Path, name: str) -> StringColumn | None:
    data, ends = map_array(folder, name), map_array(folder, f"{name}-ends")
    return None if data is None or ends is None else StringColumn(data, ends)
