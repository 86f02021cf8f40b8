"""Where media lie inside data files. They are read only when they are needed; what reads them can be
pickled."""

from __future__ import annotations

import binascii
import os
import re
import time
from collections.abc import Iterable
from functools import lru_cache
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, NamedTuple, Protocol

import msgspec
import pybase64
from msgspec import Struct

from snellen.core.errors import DataError, MediaError
from snellen.core.media import InlineSource, MediaKind, digest_bytes
from snellen.core.sample import MediaRef

DATA_URL = re.compile(rb"data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*;base64,")
_BLANKS = b" \t\r\n"
_MTIME_RESOLUTION = 2.0
"""Seconds. A file changed more recently may change again within one tick of its file system's
clock (2 s on FAT), unnoticed by its modification time."""


def decode_base64(text: bytes | memoryview) -> bytes:
    """Decode base64, allowing line breaks. Raises ValueError (binascii.Error) for other text."""
    try:
        # The standard library's decoder takes 40 times as long (0.1 ms for an image of 40 kB).
        return pybase64.b64decode(text, validate=True)
    except binascii.Error:
        return binascii.a2b_base64(bytes(text).translate(None, _BLANKS), strict_mode=True)


class DataFile(Struct, frozen=True, gc=False):
    """A file with its size and modification time from before its index was opened."""

    path: str
    size: int
    changed: int | None
    """Time of the last change in ns; None if it is too recent to rely on (`_MTIME_RESOLUTION`)."""

    @classmethod
    def from_path(cls, path: str) -> DataFile:
        """Raises OSError."""
        stat = Path(path).stat()
        settled = time.time() - stat.st_mtime > _MTIME_RESOLUTION
        return cls(path, stat.st_size, stat.st_mtime_ns if settled else None)

    def excerpt(self, offset: int, length: int) -> Excerpt:
        """Read `length` bytes at `offset`. Raises MediaError."""
        try:
            with FileIO(self.path) as file:
                stat = os.fstat(file.fileno())
                file.seek(offset)
                data = file.read(length)
                # One read returns at most 2 GB, and may return less.
                while len(data) < length and (more := file.read(length - len(data))):
                    data += more
        except OSError as error:
            raise MediaError(f"cannot read {self.path}: {error.strerror or error}") from error
        return Excerpt(data, (stat.st_size, stat.st_mtime_ns) == (self.size, self.changed))


class Excerpt(NamedTuple):
    """Bytes from the middle of a file."""

    data: bytes
    unchanged: bool
    """Whether the file is as it was when it was indexed, so that digests need not be checked
    again."""


class SliceLocation(Struct, frozen=True, tag="slice", tag_field="type"):
    """Base64 text in the data file."""

    offset: int
    length: int
    digest: str
    size: int
    """Bytes of the image."""
    kind: ClassVar[MediaKind] = "image"

    def read(self, home: DataFile, row: int) -> InlineSource:
        """The bytes with their base64. Raises MediaError."""
        text, unchanged = home.excerpt(self.offset, self.length)
        try:
            data = decode_base64(text)
        except ValueError as error:
            raise _changed_error(home.path, row) from error
        if not unchanged:
            _verify_digest(data, self.digest, home.path, row)
        # Of a text without blanks, only its end can be written in several ways.
        end = data[3 * ((len(data) - 1) // 3) :] if data else b""
        is_canonical = len(text) == 4 * -(-len(data) // 3) and text[-4:] == pybase64.b64encode(end)
        return InlineSource(data, text if is_canonical else b"")


class JsonLocation(Struct, frozen=True, tag="json", tag_field="type"):
    """A base64 text in a JSON object that fills a slice of the data file. `keys` is the path from
    the object to the text."""

    offset: int
    length: int
    keys: tuple[str | int, ...]
    digest: str
    size: int
    kind: MediaKind = "image"

    def read(self, home: DataFile, row: int) -> InlineSource:
        text, unchanged = home.excerpt(self.offset, self.length)
        try:
            data = _cell_bytes(msgspec.json.decode(text), self.keys)
        except (ValueError, LookupError, TypeError, msgspec.DecodeError) as error:
            raise _changed_error(home.path, row) from error
        return InlineSource(data if unchanged else _verify_digest(data, self.digest, home.path, row))


class ParquetLocation(Struct, frozen=True, tag="parquet", tag_field="type"):
    """A value in a column of a Parquet file: row `place` of row group `group`."""

    path: str
    group: int
    place: int
    keys: tuple[str | int, ...]
    digest: str
    size: int
    kind: MediaKind = "image"

    def read(self, home: DataFile, row: int) -> InlineSource:
        from pyarrow import ArrowException

        try:
            cells = _read_column(self.path, self.group, str(self.keys[0]))
            data = _cell_bytes(cells[self.place].as_py(), self.keys[1:])
        except OSError as error:
            raise MediaError(f"cannot read {self.path}: {error.strerror or error}") from error
        except (ArrowException, LookupError, TypeError) as error:
            raise _changed_error(self.path, row) from error
        return InlineSource(_verify_digest(data, self.digest, self.path, row))


class DatasetLocation(Struct, frozen=True, tag="dataset", tag_field="type"):
    """A value in a row of a Hugging Face data set."""

    number: int
    keys: tuple[str | int, ...]
    digest: str
    size: int
    kind: MediaKind = "image"

    def read(self, home: OpenedDataset, row: int) -> InlineSource:
        try:
            data = _cell_bytes(home.record(self.number), self.keys)
        except (DataError, LookupError, TypeError, ValueError) as error:
            raise MediaError(f"{home.name}, row {row}: {error}") from error
        if digest_bytes(data) != self.digest:
            raise MediaError(f"{home.name}, row {row}: the image was changed after the data set was opened")
        return InlineSource(data)


class OpenedDataset(Protocol):
    """A data set that the `datasets` library keeps memory-mapped."""

    @property
    def name(self) -> str: ...

    def record(self, number: int) -> Any:
        """The values of a row. Raises DataError."""
        ...


CellLocation = SliceLocation | JsonLocation | ParquetLocation | DatasetLocation


class StoredCell(Struct, frozen=True, gc=False):
    """A medium in a cell, of which nothing is read before it is needed. `row` counts from 1."""

    home: Any
    """The `DataFile`, or the `OpenedDataset`, that the location is in."""
    location: CellLocation
    row: int

    def read(self) -> bytes:
        return self.read_inline().data

    def read_inline(self) -> InlineSource:
        """The bytes, with their base64 if the file has it. Raises MediaError."""
        return self.location.read(self.home, self.row)


class BrokenSource(Struct, frozen=True, gc=False):
    """An image that cannot be read; `reason` names the file and the row."""

    reason: str

    def read(self) -> bytes:
        raise MediaError(self.reason)


def broken_medium(name: str, problem: str, kind: MediaKind = "image") -> MediaRef:
    """A medium of this name that cannot be read."""
    return MediaRef(digest_bytes(name.encode()), BrokenSource(problem), kind)


def strip_data_url(text: bytes) -> bytes:
    """The text without surrounding white space and without a data-URL prefix."""
    text = text.strip(_BLANKS)
    prefix = DATA_URL.match(text)
    return text[prefix.end() :] if prefix else text


def _cell_bytes(value: Any, keys: Iterable[str | int]) -> bytes:
    """The bytes that keys lead to in a value. Raises LookupError, TypeError, ValueError."""
    for key in keys:
        value = value[key]
    if isinstance(value, str):
        return decode_base64(strip_data_url(value.encode()))
    if not isinstance(value, bytes):
        raise TypeError(f"expected bytes, got {type(value).__name__}")
    return value


def _verify_digest(data: bytes, digest: str, path: str, row: int) -> bytes:
    if digest_bytes(data) != digest:
        raise _changed_error(path, row)
    return data


def _changed_error(path: str, row: int) -> MediaError:
    return MediaError(
        f"{path}, row {row}: the image is no longer where it was; the file was changed after it was opened"
    )


def _read_column(path: str, group: int, column: str) -> Any:
    stat = Path(path).stat()
    with _PARQUET_LOCK:
        return _read_column_chunk(path, stat.st_size, stat.st_mtime_ns, group, column)


_PARQUET_LOCK = Lock()
"""Held while reading: a ParquetFile must not be shared by threads."""


@lru_cache(maxsize=2)
def _read_column_chunk(path: str, size: int, mtime_ns: int, group: int, column: str) -> Any:
    """One column of a row group. `size` and `mtime_ns` are part of the cache key, so a changed
    file is read again."""
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path, memory_map=True) as file:
        return file.read_row_group(group, columns=[column]).column(0)
