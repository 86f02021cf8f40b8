"""The catalogue of runs: one SQLite file in the user's cache with what was read of run folders.

A row counts while the state of the files that it was made from is the one it was stored with, so that
runs that are moved, deleted, resumed or killed are read again, and nothing else is. The file is a
cache: it is made again if it is damaged or of another version, nothing is stored where it cannot be
written or while another process writes for long, and no command needs it. Any number of processes may
use it at once.

    runs       a row for each run, with the columns of `snellen runs` for other programs
    snapshots  what `snellen view` last sent to a page
    reports    numbers of runs that were killed or go on, summed up from their samples
    scores     the score of each sample of a run, in the order of one list of ids
    ids        these lists, each once, by digest
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import snellen
from snellen.settings import Settings
from snellen.store.runs import FAILURES_FILE, SAMPLES_FILE

CATALOG_FILE = "runs.sqlite"
WORTH_BYTES = 1 << 24
"""Samples of fewer bytes than this are read faster than they are looked up."""
_BUSY_SECONDS = 2.0
"""How long to wait for another process that writes; after that, nothing is stored."""
_AT_ONCE = 500
"""Paths of a query."""
_RUN_TEXTS = ("model", "benchmark", "version", "status", "setting", "metric", "created", "finished", "currency")
_RUN_NUMBERS = ("score", "low", "high", "n", "samples", "done", "cost", "tokens", "seconds", "bytes")
RUN_COLUMNS = (*_RUN_TEXTS, *_RUN_NUMBERS)
"""Columns of the table `runs` for other programs; they repeat what `row` holds."""
_TABLES = {
    "runs": "(path TEXT PRIMARY KEY, state TEXT, schema INTEGER, row BLOB, "
    f"{', '.join(f'{name} TEXT' for name in _RUN_TEXTS)}, {', '.join(f'{name} REAL' for name in _RUN_NUMBERS)}) "
    "WITHOUT ROWID",
    "snapshots": "(roots TEXT PRIMARY KEY, serial INTEGER, schema INTEGER, known BLOB, body BLOB)",
    "reports": "(path TEXT PRIMARY KEY, state TEXT, report BLOB) WITHOUT ROWID",
    "scores": "(path TEXT PRIMARY KEY, state TEXT, ids BLOB, scores BLOB, unscored BLOB) WITHOUT ROWID",
    "ids": "(digest BLOB PRIMARY KEY, ids BLOB) WITHOUT ROWID",
}
_BY_PATH = ("runs", "reports", "scores")
_VERSION = zlib.crc32(repr((snellen.__version__, _TABLES)).encode()) >> 1
"""What another version of Snellen stored is made anew."""


class RunCatalogFile:
    """The file of the catalogue, by default in the user's cache."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = Settings.from_environment().cache / CATALOG_FILE if file is None else file

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read from. Raises sqlite3.Error or OSError where that is not possible."""
        try:
            connection = self._connect()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            # Damaged: begin anew. Another process that has it open keeps what it has.
            self.file.unlink(missing_ok=True)
            connection = self._connect()
        with closing(connection):
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection whose changes are committed together. Raises like `reading`."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.reading() as connection, connection:
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

    def rows_of(self, table: str, columns: str, keys: Sequence[Any], key: str = "path") -> Iterator[tuple[Any, ...]]:
        """The rows of these keys, so far as they are stored and can be read."""
        with suppress(sqlite3.Error, OSError), self.reading() as connection:
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ", ".join("?" * len(some))
                query = f"SELECT {columns} FROM {table} WHERE {key} IN ({marks})"
                yield from connection.execute(query, some).fetchall()

    def put(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Store rows in place of those of the same keys."""
        rows = list(rows)
        if not rows:
            return
        marks = ", ".join("?" * len(rows[0]))
        with suppress(sqlite3.Error, OSError), self.writing() as connection:
            connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)

    def forget(self, paths: Iterable[str]) -> None:
        """Remove what is stored about folders."""
        gone = [(path,) for path in paths]
        if gone:
            with suppress(sqlite3.Error, OSError), self.writing() as connection:
                for table in _BY_PATH:
                    connection.executemany(f"DELETE FROM {table} WHERE path = ?", gone)


ABSENT, CLOSED = "-", "closed"
"""States of a file that is not there, and of one that this user may not look at."""


def file_state(path: str) -> str:
    """What changes whenever a file does: its time, size and number."""
    try:
        # Not Path.stat: this is asked of every file of thousands of runs.
        status = os.stat(path)  # noqa: PTH116
    except PermissionError:
        return CLOSED
    except OSError:
        return ABSENT
    return f"{status.st_mtime_ns:x}.{status.st_size:x}.{status.st_ino:x}"


def samples_state(folder: Path) -> str:
    """The state of the files with a run's samples."""
    return f"{file_state(f'{folder}/{SAMPLES_FILE}')} {file_state(f'{folder}/{FAILURES_FILE}')}"


def is_worth_keeping(folders: Iterable[Path]) -> bool:
    """Whether reading the samples of these runs takes longer than looking in the catalogue."""
    total = 0
    for folder in folders:
        with suppress(OSError):
            total += (folder / SAMPLES_FILE).stat().st_size
        if total >= WORTH_BYTES:
            return True
    return False
