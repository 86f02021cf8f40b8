"""Files of an index of image hashes.

index.json            format, version, what was listed, counts; `complete` once everything is there
shards/000000.arrow   consecutive entries of the list (Arrow IPC), written whole or not at all
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow
from msgspec import Struct

from snellen.core.atomic_write import atomic_file, save
from snellen.core.errors import DataError, StorageError

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
