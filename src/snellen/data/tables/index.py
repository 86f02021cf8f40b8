"""The row index of a data file: text cells and the places of pictures, in a small SQLite file.

Made once, on first use, in the cache folder. It is keyed by the data file's path, size and time
of change, appears whole or not at all, and is rebuilt if it is of another schema or damaged.
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

from snellen.core.atomic_write import changed_ns, whole_file
from snellen.core.errors import DataError, StorageError
from snellen.data.columns import OPTION_LISTS, id_of, id_text
from snellen.data.media.image_cells import Broken, Named, Stored, broken, names_file

SCHEMA = 3
"""Raise it whenever what is written, or how cells are read, changes."""

_TABLES = """
CREATE TABLE about (value TEXT NOT NULL);
CREATE TABLE rows (number INTEGER PRIMARY KEY, id TEXT, cells BLOB NOT NULL, media BLOB NOT NULL);
"""
_READ = "SELECT number, cells, media FROM rows ORDER BY number"
_READ_IDS = "SELECT id FROM rows ORDER BY number"


class IndexedRow(NamedTuple):
    cells: dict[str, str]
    media: Sequence[Stored]


class About(Struct, frozen=True):
    """What an index says of its data file."""

    schema: int
    columns: tuple[str, ...]
    digest: str
    """SHA-256 of the data file's content, in hex."""
    rows: int


class Scan(NamedTuple):
    """A data file being read for the first time; `digest` may be asked when `rows` has ended."""

    columns: Sequence[str]
    rows: Iterator[IndexedRow]
    digest: Callable[[], str]


_cells = msgspec.json.Decoder(dict[str, str])
_media = msgspec.json.Decoder(tuple[Stored, ...])
_NONE = b"[]"
"""How no media are written."""


@dataclass(frozen=True, slots=True)
class Index:
    """A finished index; picklable, each iteration opens the file anew."""

    path: Path
    about: About

    def __iter__(self) -> Iterator[tuple[int, dict[str, str], tuple[Stored, ...]]]:
        with closing(_connect(self.path)) as connection:
            for number, cells, media in connection.execute(_READ):
                yield number, _cells.decode(cells), _media.decode(media) if media != _NONE else ()

    def ids(self) -> Iterator[str]:
        """The id of every row, in their order, without decoding any."""
        with closing(_connect(self.path)) as connection:
            for (name,) in connection.execute(_READ_IDS):
                yield name


def index_key(paths: Sequence[Path], also: Mapping[str, str]) -> str:
    """Name of the index of one or more files; `also` is what else decides how they are read."""
    stats = [(str(path.absolute()), path.stat()) for path in paths]
    facts = [(path, stat.st_size, changed_ns(stat)) for path, stat in stats]
    return hashlib.sha256(msgspec.json.encode((facts, sorted(also.items())))).hexdigest()[:32]


def open_index(folder: Path, key: str, scan: Callable[[], Scan]) -> Index:
    """The index named `key`, made from `scan` if it is not there or not usable.

    Raises what `scan` raises (DataError), and StorageError if the cache cannot be written.
    """
    path = folder / f"{key}.sqlite"
    about = _about(path)
    if about is None:
        from filelock import FileLock

        try:
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(str(path) + ".lock"):
                about = _about(path) or _make(path, scan())
        except (sqlite3.DataError, OverflowError) as error:
            raise DataError(f"a row is longer than an index can hold: {error}") from error
        except (OSError, sqlite3.OperationalError) as error:
            raise StorageError(
                f"cannot make the row index {path}: {error}; "
                "make room, or set SNELLEN_CACHE to a folder that can be written"
            ) from error
    return Index(path, about)


def _connect(path: Path) -> sqlite3.Connection:
    # Rows may be asked for by another thread than the one that began.
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    return sqlite3.connect(uri, uri=True, check_same_thread=False)


def _about(path: Path) -> About | None:
    """What the index says, or None if there is none that can be used."""
    try:
        with path.open("rb") as file:
            header = file.read(32)
            size = file.seek(0, os.SEEK_END)
        if len(header) < 32 or _declared_size(header) != size:
            return None
        with closing(_connect(path)) as connection:
            (value,) = connection.execute("SELECT value FROM about").fetchone()
        about = msgspec.json.decode(value, type=About)
    except (OSError, sqlite3.DatabaseError, TypeError, msgspec.DecodeError):
        return None
    return about if about.schema == SCHEMA else None


def _declared_size(header: bytes) -> int:
    """Bytes the file should have, by its header (SQLite file format, sections 1.3.2, 1.3.8)."""
    page_size, pages = struct.unpack(">16xH10xI", header)
    return int((65536 if page_size == 1 else page_size) * pages)


def _make(path: Path, scan: Scan) -> About:
    with (
        whole_file(path, synced=True) as part,
        closing(sqlite3.connect(part, isolation_level=None)) as connection,
    ):
        # A half-written file is never seen under its name, so no journal is needed.
        connection.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + _TABLES)
        connection.execute("BEGIN")
        about = _fill(connection, scan)
        connection.execute("COMMIT")
    return about


def _fill(connection: sqlite3.Connection, scan: Scan) -> About:
    seen: dict[str, None] = {}
    followed: list[int] = []
    encode = msgspec.json.encode
    count = 0
    for number, (cells, media) in enumerate(scan.rows):
        seen.update(dict.fromkeys(cells))
        if any(isinstance(item, Named) for item in media):
            followed.append(number)
        values = (number, id_of(cells) or str(number), encode(cells), encode(media))
        connection.execute("INSERT INTO rows VALUES (?, ?, ?, ?)", values)
        count = number + 1
    if followed:
        _follow(connection, followed)
    columns = dict.fromkeys([*scan.columns, *seen])
    # A list of options that was spread over A, B, C ... is no column any more.
    spread = {name for name in OPTION_LISTS if name in columns and name not in seen}
    columns = {name: None for name in columns if name not in spread or "A" not in seen}
    about = About(SCHEMA, tuple(columns), scan.digest(), count)
    connection.execute("INSERT INTO about VALUES (?)", (encode(about).decode(),))
    return about


def _follow(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Put the pictures of the row that is named in the place of the name."""
    connection.execute("CREATE INDEX rows_by_id ON rows (id)")
    changes: list[tuple[bytes, int]] = []
    for number in numbers:
        media = _media_at(connection, "number = ?", number)
        found: list[Stored] = []
        for item in media or ():
            found.extend(_named(connection, item) if isinstance(item, Named) else (item,))
        if tuple(found) != media:
            changes.append((msgspec.json.encode(found), number))
    connection.executemany("UPDATE rows SET media = ? WHERE number = ?", changes)


def _named(connection: sqlite3.Connection, item: Named) -> Sequence[Stored]:
    media = _media_at(connection, "id = ?", id_text(item.name))
    if media is None:
        if names_file(item.name) or "/" in item.name:
            return (item,)
        return (
            broken(
                f"the image cell {item.name!r} is neither a picture nor the id of a row",
                item.name.encode(),
            ),
        )
    if not media:
        return (_lost(item, "which has no picture"),)
    for target in media:
        if not isinstance(target, Named):
            continue
        if _media_at(connection, "id = ?", id_text(target.name)) is not None:
            return (_lost(item, "which names yet another row"),)
    return media


def _lost(item: Named, why: str) -> Broken:
    return broken(f"the image cell names row {item.name!r}, {why}", item.name.encode())


def _media_at(
    connection: sqlite3.Connection, condition: str, value: str | int
) -> tuple[Stored, ...] | None:
    row = connection.execute(
        f"SELECT media FROM rows WHERE {condition} ORDER BY number", (value,)
    ).fetchone()
    return None if row is None else _media.decode(row[0])
