"""Copies the log of a store back into its file from a thread of its own.

SQLite would do that within the commit that fills the log, which then waits for thousands of writes all over a large
file, and the event loop with it.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path

_RESTART_PAGES = 6_000
"""Pages of the log at which writers are held for the moment in which its last pages are copied, so that it starts anew:
under steady writing it would never end else."""
_RESTART_WAIT = 20
"""Milliseconds for which writers are held at most, if a reader has opened the log meanwhile."""


class Checkpointer:
    """The thread of one store. `request` it every few hundred commits."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wanted = threading.Event()
        self._ends = False
        self._thread = threading.Thread(target=self._work, name="snellen-checkpoints", daemon=True)
        self._thread.start()

    def request(self) -> None:
        self._wanted.set()

    def close(self) -> None:
        self._ends = True
        self._wanted.set()
        self._thread.join()

    def _work(self) -> None:
        # What fails here is done by a later request, or by a commit in the end.
        with suppress(sqlite3.Error), closing(sqlite3.connect(self._path, timeout=0.5)) as connection:
            while self._wanted.wait() and not self._ends:
                self._wanted.clear()
                with suppress(sqlite3.OperationalError):
                    checkpoint(connection)


def checkpoint(connection: sqlite3.Connection) -> None:
    """Copy the log back, beside readers and writers; a long log that no reader holds is then started anew. Raises
    sqlite3.Error."""
    _, pages, copied = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if pages > _RESTART_PAGES and copied == pages:
        (wait,) = connection.execute("PRAGMA busy_timeout").fetchone()
        # No write begins while this waits for a reader.
        connection.execute(f"PRAGMA busy_timeout = {_RESTART_WAIT}")
        connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        connection.execute(f"PRAGMA busy_timeout = {wait}")
