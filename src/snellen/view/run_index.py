"""Rows of runs that were read before, in one file of the user's cache.

An entry counts while the state of its run's files is the one it was made from, so that thousands of
runs are read once. The file is a cache: it is made again if it is damaged or of another version,
and nothing is kept if it cannot be written. Servers may use it at the same time.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

import snellen
from snellen.settings import Settings
from snellen.view.run_row import CatalogRow

INDEX_FILE = "runs.sqlite"
MAX_SNAPSHOTS = 8
"""Number of sets of folders whose first page is stored; each takes a few megabytes for 12,000
runs."""
_BUSY_SECONDS = 2.0
"""How long to wait for another server that writes; after that, entries are not kept."""
_TABLES = {
    "runs": "(path TEXT PRIMARY KEY, state TEXT, row BLOB) WITHOUT ROWID",
    "snapshots": "(roots TEXT PRIMARY KEY, serial INTEGER, known BLOB, body BLOB)",
}
_FORMAT = 2
"""Raised when what is stored changes in a way that the fields of rows do not show."""


class IndexedRun(NamedTuple):
    """A row, and the state of the run's files that it was made from."""

    state: str
    row: CatalogRow


class Snapshot(NamedTuple):
    """The rows last sent to the first page, so that it can be shown before any folder is read."""

    serial: int
    """The change up to which it is."""
    known: dict[str, tuple[str, str]]
    """By path of each run: its key, and a mark that differs if its row does."""
    body: bytes
    """JSON of all rows."""


class RunIndex:
    """The stored rows by the path of their folder."""

    def __init__(self, file: Path | None = None) -> None:
        """`file` is by default in the user's cache."""
        self.file = Settings.from_environment().cache / INDEX_FILE if file is None else file

    def load(self, root: str) -> dict[str, IndexedRun]:
        """The entries of folders below `root`. Empty if there is no index, or it cannot be read."""
        found: dict[str, IndexedRun] = {}
        decode = msgspec.msgpack.Decoder(CatalogRow).decode
        with suppress(sqlite3.Error, OSError), self._open() as index:
            # "0" is the character after "/".
            rows = index.execute(
                "SELECT path, state, row FROM runs WHERE path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0')", (root,)
            )
            for path, state, row in rows:
                with suppress(msgspec.DecodeError):
                    found[path] = IndexedRun(state, decode(row))
        return found

    def save(self, entries: Mapping[str, IndexedRun], gone: Iterable[str]) -> None:
        """Store entries, and forget those of folders that are gone. Does nothing where the cache
        cannot be written, or while another server writes for long."""
        encode = msgspec.msgpack.Encoder().encode
        rows = [(path, one.state, encode(one.row)) for path, one in entries.items()]
        with suppress(sqlite3.Error, OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self._open() as index, index:
                index.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", rows)
                index.executemany("DELETE FROM runs WHERE path = ?", ((path,) for path in gone))

    def load_snapshot(self, roots: str) -> Snapshot | None:
        """The snapshot of some folders; None if there is none."""
        with suppress(sqlite3.Error, OSError, msgspec.DecodeError), self._open() as index:
            found = index.execute("SELECT serial, known, body FROM snapshots WHERE roots = ?", (roots,)).fetchone()
            if found is not None:
                serial, known, body = found
                decoded = msgspec.msgpack.decode(known, type=dict[str, tuple[str, str]])
                return Snapshot(serial, decoded, body)
        return None

    def save_snapshot(self, roots: str, snapshot: Snapshot) -> None:
        """Store a snapshot, in place of an earlier one and, beyond `MAX_SNAPSHOTS`, of the oldest.
        Does nothing where the cache cannot be written."""
        known = msgspec.msgpack.encode(snapshot.known)
        row = (roots, snapshot.serial, known, snapshot.body)
        with suppress(sqlite3.Error, OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self._open() as index, index:
                index.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", row)
                index.execute(
                    "DELETE FROM snapshots WHERE roots NOT IN "
                    "(SELECT roots FROM snapshots ORDER BY serial DESC LIMIT ?)",
                    (MAX_SNAPSHOTS,),
                )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._connect()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            # Damaged: begin anew. Another server that has it open keeps what it has.
            self.file.unlink(missing_ok=True)
            connection = self._connect()
        with closing(connection):
            yield connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.file, timeout=_BUSY_SECONDS)
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version != _VERSION:
                with connection:
                    for name, columns in _TABLES.items():
                        connection.execute(f"DROP TABLE IF EXISTS {name}")
                        connection.execute(f"CREATE TABLE {name} {columns}")
                    connection.execute(f"PRAGMA user_version = {_VERSION}")
        except sqlite3.Error:
            connection.close()
            raise
        return connection


_VERSION = zlib.crc32(repr((snellen.__version__, _FORMAT, CatalogRow.__struct_fields__)).encode()) >> 1
"""Rows of another version of Snellen, or with other fields, are made anew."""
