"""The row index of a data file: text cells and image locations, in a small SQLite file.

Built once, on first use, in the cache folder. Its key is the data file's path, size and
modification time. It is published atomically, and rebuilt if its schema differs or it is damaged.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from snellen.core.atomic_write import atomic_file, modification_stamp
from snellen.core.errors import DataError, StorageError
from snellen.data.columns import OPTION_LISTS, id_of, id_text
from snellen.data.media.image_cells import BrokenCell, NamedImage, StoredMedium, broken_cell, is_file_name

SCHEMA = 8
"""Raise it whenever the content of an index, or the way cells are read, changes."""

_CREATE_TABLES = """
CREATE TABLE about (value TEXT NOT NULL);
CREATE TABLE rows (number INTEGER PRIMARY KEY, id TEXT, cells BLOB NOT NULL, media BLOB NOT NULL);
"""
_SELECT_ROWS = "SELECT number, cells, media FROM rows ORDER BY number"
_SELECT_SOME = "SELECT number, cells, media FROM rows WHERE number IN ({}) ORDER BY number"
_SELECT_IDS = "SELECT id FROM rows WHERE length(id) >= ? ORDER BY number"


class IndexedRow(Struct, frozen=True, gc=False):
    """The cells of a row, and where its images and videos are."""

    cells: dict[str, str]
    media: Sequence[StoredMedium]


StoredRow = tuple[int, dict[str, str], tuple[StoredMedium, ...]]
"""Number from 0, cells, and where the media are."""


class IndexHeader(Struct, frozen=True):
    """What an index stores about its data file."""

    schema: int
    columns: tuple[str, ...]
    digest: str
    """SHA-256 of the data file's content, in hex."""
    rows: int


class Scan(NamedTuple):
    """A data file being read for the first time; `digest` may be called once `rows` is
    exhausted."""

    columns: Sequence[str]
    rows: Iterator[IndexedRow]
    digest: Callable[[], str]


_cells_decoder = msgspec.json.Decoder(dict[str, str])
_media_decoder = msgspec.json.Decoder(tuple[StoredMedium, ...])
_NO_MEDIA = b"[]"
"""How no media are written."""


@dataclass(frozen=True, slots=True)
class RowIndex:
    """A finished index; picklable, each iteration opens the file anew."""

    path: Path
    header: IndexHeader

    def __iter__(self) -> Iterator[StoredRow]:
        return self._select(_SELECT_ROWS)

    def take(self, numbers: Sequence[int]) -> Iterator[StoredRow]:
        """The rows of these numbers, in the order of the file."""
        marks = ",".join("?" * len(numbers))
        return self._select(_SELECT_SOME.format(marks), numbers)

    def _select(self, query: str, numbers: Sequence[int] = ()) -> Iterator[StoredRow]:
        with closing(_connect(self.path)) as connection:
            decode = _cells_decoder.decode
            for number, cells, media in connection.execute(query, numbers):
                yield number, decode(cells), _media_decoder.decode(media) if media != _NO_MEDIA else ()

    def ids(self, at_least: int = 0) -> Iterator[str]:
        """As `HasIds` says, without decoding the rows."""
        with closing(_connect(self.path)) as connection:
            return iter([name for (name,) in connection.execute(_SELECT_IDS, (at_least,))])


def index_key(paths: Sequence[Path], options: Mapping[str, str]) -> str:
    """Name of the index of one or more files; `options` are other settings that decide how they
    are read."""
    stats = [(str(path.absolute()), path.stat()) for path in paths]
    facts = [(path, stat.st_size, modification_stamp(stat)) for path, stat in stats]
    return hashlib.sha256(msgspec.json.encode((facts, sorted(options.items())))).hexdigest()[:32]


def open_index(folder: Path, key: str, scan: Callable[[], Scan]) -> RowIndex:
    """The index named `key`, built from `scan` if it does not exist or is unusable.

    Raises what `scan` raises (DataError), and StorageError if the cache cannot be written.
    """
    path = folder / f"{key}.sqlite"
    header = _read_header(path)
    if header is None:
        from filelock import FileLock

        try:
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(str(path) + ".lock"):
                header = _read_header(path) or _build_index(path, scan())
        except (sqlite3.DataError, OverflowError) as error:
            raise DataError(f"a row is longer than an index can hold: {error}") from error
        except (OSError, sqlite3.OperationalError) as error:
            raise StorageError(
                f"cannot make the row index {path}: {error}; "
                "make room, or set SNELLEN_CACHE to a folder that can be written"
            ) from error
    return RowIndex(path, header)


def _connect(path: Path) -> sqlite3.Connection:
    # The file never changes once it has its name (immutable: no locks). Rows may be read by
    # another thread than the one that began the iteration.
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    return sqlite3.connect(uri, uri=True, check_same_thread=False)


def _read_header(path: Path) -> IndexHeader | None:
    """The header of an index, or None if there is no usable index."""
    try:
        with path.open("rb") as file:
            header = file.read(32)
            size = file.seek(0, os.SEEK_END)
        # SQLite itself would only notice a truncated file when it reads the missing pages.
        if len(header) < 32 or _declared_size(header) != size:
            return None
        with closing(_connect(path)) as connection:
            (value,) = connection.execute("SELECT value FROM about").fetchone()
        about = msgspec.json.decode(value, type=IndexHeader)
    except (OSError, sqlite3.DatabaseError, TypeError, msgspec.DecodeError):
        return None
    return about if about.schema == SCHEMA else None


def _declared_size(header: bytes) -> int:
    """Bytes the file should have, by its header (SQLite file format, sections 1.3.2, 1.3.8)."""
    page_size, pages = struct.unpack(">16xH10xI", header)
    return int((65536 if page_size == 1 else page_size) * pages)


def _build_index(path: Path, scan: Scan) -> IndexHeader:
    """Write the index of `scan` to `path` in one transaction."""
    with atomic_file(path, sync=True) as part, closing(sqlite3.connect(part, isolation_level=None)) as connection:
        # A partial file never gets its final name, so neither journal nor sync is needed.
        connection.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + _CREATE_TABLES)
        connection.execute("BEGIN")
        header = _insert_rows(connection, scan)
        connection.execute("COMMIT")
    return header


def _insert_rows(connection: sqlite3.Connection, scan: Scan) -> IndexHeader:
    """Write all rows and the header.

    A row may name a later row, so names are resolved once all rows are written.
    """
    row_columns: dict[str, None] = {}
    named_rows: list[int] = []
    encode = msgspec.json.encode
    count = 0
    for number, row in enumerate(scan.rows):
        cells, media = row.cells, row.media
        row_columns.update(dict.fromkeys(cells))
        if any(isinstance(item, NamedImage) for item in media):
            named_rows.append(number)
        values = (number, id_of(cells) or str(number), encode(cells), encode(media))
        connection.execute("INSERT INTO rows VALUES (?, ?, ?, ?)", values)
        count = number + 1
    if named_rows:
        _resolve_names(connection, named_rows)
    columns = dict.fromkeys([*scan.columns, *row_columns])
    # A list of options was spread over A, B, C, ..., so its column no longer exists.
    spread = {name for name in OPTION_LISTS if name in columns and name not in row_columns}
    columns = {name: None for name in columns if name not in spread or "A" not in row_columns}
    header = IndexHeader(SCHEMA, tuple(columns), scan.digest(), count)
    connection.execute("INSERT INTO about VALUES (?)", (encode(header).decode(),))
    return header


def _resolve_names(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Replace the name of another row by that row's images."""
    connection.execute("CREATE INDEX rows_by_id ON rows (id)")
    changes: list[tuple[bytes, int]] = []
    for number in numbers:
        media = _media_at(connection, "number = ?", number)
        resolved: list[StoredMedium] = []
        for item in media or ():
            resolved.extend(_resolve_name(connection, item) if isinstance(item, NamedImage) else (item,))
        if tuple(resolved) != media:
            changes.append((msgspec.json.encode(resolved), number))
    connection.executemany("UPDATE rows SET media = ? WHERE number = ?", changes)


def _resolve_name(connection: sqlite3.Connection, item: NamedImage) -> Sequence[StoredMedium]:
    """The images that a name means: those of the row with this id, else the file of this name.

    One step only: a row that names a third row is an error, so references cannot form a loop.
    """
    media = _media_at(connection, "id = ?", id_text(item.name))
    if media is None:
        if is_file_name(item.name) or "/" in item.name:
            return (item,)
        return (
            broken_cell(f"the image cell {item.name!r} is neither an image nor the id of a row", item.name.encode()),
        )
    if not media:
        return (_broken_reference(item, "which has no image"),)
    for target in media:
        if not isinstance(target, NamedImage):
            continue
        if _media_at(connection, "id = ?", id_text(target.name)) is not None:
            return (_broken_reference(item, "which names yet another row"),)
    return media


def _broken_reference(item: NamedImage, why: str) -> BrokenCell:
    return broken_cell(f"the image cell names row {item.name!r}, {why}", item.name.encode())


def _media_at(connection: sqlite3.Connection, condition: str, value: str | int) -> tuple[StoredMedium, ...] | None:
    row = connection.execute(f"SELECT media FROM rows WHERE {condition} ORDER BY number", (value,)).fetchone()
    return None if row is None else _media_decoder.decode(row[0])
