"""Rows of runs that were read before, in the catalogue of the user's cache (`store.run_catalog_file`).

An entry counts while the state of its run's files is the one it was made from, so that thousands of
runs are read once.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import msgspec

from snellen.store.run_catalog_file import RUN_COLUMNS, RunCatalogFile
from snellen.view.run_row import CatalogRow

MAX_SNAPSHOTS = 8
"""Number of sets of folders whose first page is stored; each takes a few megabytes for 12,000
runs."""
_SCHEMA = zlib.crc32(repr((3, CatalogRow.__struct_fields__)).encode())
"""Rows with other fields are made anew. The number is raised when what is stored changes in a way that
the fields do not show."""


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
        self._catalog = RunCatalogFile(file)
        self.file = self._catalog.file

    def load(self, root: str) -> dict[str, IndexedRun]:
        """The entries of folders below `root`. Empty if there is no index, or it cannot be read."""
        found: dict[str, IndexedRun] = {}
        decode = msgspec.msgpack.Decoder(CatalogRow).decode
        with suppress(sqlite3.Error, OSError), self._catalog.reading() as index:
            # "0" is the character after "/".
            rows = index.execute(
                "SELECT path, state, row FROM runs "
                "WHERE (path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0')) AND schema = ?2",
                (root, _SCHEMA),
            )
            for path, state, row in rows:
                with suppress(msgspec.DecodeError):
                    found[path] = IndexedRun(state, decode(row))
        return found

    def save(self, entries: Mapping[str, IndexedRun], gone: Iterable[str]) -> None:
        """Store entries, and forget those of folders that are gone. Does nothing where the cache
        cannot be written, or while another process writes for long."""
        encode = msgspec.msgpack.Encoder().encode
        columns = itemgetter(*RUN_COLUMNS)
        self._catalog.put(
            "runs",
            ((path, one.state, _SCHEMA, encode(one.row), *columns(one.row.facts())) for path, one in entries.items()),
        )
        self._catalog.forget(gone)

    def load_snapshot(self, roots: str) -> Snapshot | None:
        """The snapshot of some folders; None if there is none."""
        for serial, schema, known, body in self._catalog.rows_of(
            "snapshots", "serial, schema, known, body", [roots], "roots"
        ):
            with suppress(msgspec.DecodeError):
                decoded = msgspec.msgpack.decode(known, type=dict[str, tuple[str, str]])
                return Snapshot(serial, decoded, body) if schema == _SCHEMA else None
        return None

    def save_snapshot(self, roots: str, snapshot: Snapshot) -> None:
        """Store a snapshot, in place of an earlier one and, beyond `MAX_SNAPSHOTS`, of the oldest.
        Does nothing where the cache cannot be written."""
        row = (roots, snapshot.serial, _SCHEMA, msgspec.msgpack.encode(snapshot.known), snapshot.body)
        with suppress(sqlite3.Error, OSError), self._catalog.writing() as index:
            index.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)", row)
            index.execute(
                "DELETE FROM snapshots WHERE roots NOT IN (SELECT roots FROM snapshots ORDER BY serial DESC LIMIT ?)",
                (MAX_SNAPSHOTS,),
            )
