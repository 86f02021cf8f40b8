"""A queue of runs in one file, which outlives the processes that submit to it and work on it.

Several servers may share a folder: all of them submit, follow and stop; the one that holds the lock
works. If it ends, another one goes on with the job that it had begun.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
from filelock import FileLock, Timeout
from msgspec import Struct

from snellen.core.errors import StorageError, UsageError

QUEUE_FILE = "queue.sqlite"
_LOCK_FILE = "queue.lock"
JobState = Literal["waiting", "running", "ended", "stopped", "failed"]
_WAIT = 10.0
"""Seconds to wait for another process that is writing the file."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL, benchmark TEXT NOT NULL, question_limit INTEGER,
    state TEXT NOT NULL DEFAULT 'waiting', submitted TEXT NOT NULL, runs TEXT NOT NULL DEFAULT '[]',
    note TEXT NOT NULL DEFAULT '', stop_requested INTEGER NOT NULL DEFAULT 0,
    before REAL, spent REAL NOT NULL DEFAULT 0, unit TEXT NOT NULL
)"""


class QueuedRun(Struct, frozen=True):
    """A run that was asked for."""

    id: int
    model: str
    benchmark: str
    limit: int | None
    """Questions of a random sample."""
    state: JobState
    submitted: str
    """When, in UTC, ISO 8601."""
    runs: list[str]
    """Names of the runs that it made, once it ended."""
    note: str
    """Why it ended early or failed."""
    spent: float
    """In the unit of the budget it was asked for under."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state not in ("waiting", "running")


class JobQueue:
    """The jobs of a folder. Raises StorageError if their file cannot be read or written."""

    def __init__(self, folder: Path, unit: str) -> None:
        """`unit` is that of the budget: what was spent in another unit does not count."""
        self._path = folder / QUEUE_FILE
        self._unit = unit
        self._lock = FileLock(folder / _LOCK_FILE)
        with self._transaction() as connection:
            connection.execute(_SCHEMA)

    def submit(self, model: str, benchmark: str, limit: int | None) -> QueuedRun:
        """Add a job, or find the same one that is not over yet."""
        with self._transaction() as connection:
            found = connection.execute(
                "SELECT id FROM jobs WHERE model = ? AND benchmark = ? AND question_limit IS ? "
                "AND state IN ('waiting', 'running') AND NOT stop_requested",
                (model, benchmark, limit),
            ).fetchone()
            if found is None:
                added = connection.execute(
                    "INSERT INTO jobs (model, benchmark, question_limit, submitted, unit) VALUES (?, ?, ?, ?, ?)",
                    (model, benchmark, limit, datetime.now(UTC).isoformat(timespec="seconds"), self._unit),
                )
                found = (added.lastrowid,)
            return self._job(connection, found[0])

    def job(self, number: int) -> QueuedRun:
        """A job by its number. Raises UsageError for one that there is not."""
        with self._transaction() as connection:
            return self._job(connection, number)

    def jobs(self) -> list[QueuedRun]:
        """All jobs, the newest first."""
        with self._transaction() as connection:
            return [_read(row) for row in connection.execute(f"SELECT {_COLUMNS} FROM jobs ORDER BY id DESC")]

    def total_spent(self) -> float:
        """What all jobs have spent that were asked for under a budget of this unit."""
        with self._transaction() as connection:
            query = "SELECT coalesce(sum(spent), 0) FROM jobs WHERE unit = ?"
            return float(connection.execute(query, (self._unit,)).fetchone()[0])

    def request_stop(self, number: int) -> QueuedRun:
        """Stop a job: one that waits at once, one that runs by the process that works on it. Raises
        UsageError for one that there is not."""
        with self._transaction() as connection:
            self._job(connection, number)
            connection.execute("UPDATE jobs SET stop_requested = 1 WHERE id = ? AND state = 'running'", (number,))
            connection.execute("UPDATE jobs SET state = 'stopped' WHERE id = ? AND state = 'waiting'", (number,))
            return self._job(connection, number)

    def is_stop_requested(self, number: int) -> bool:
        """Whether a job that runs is to be stopped."""
        with self._transaction() as connection:
            return bool(connection.execute("SELECT stop_requested FROM jobs WHERE id = ?", (number,)).fetchone()[0])

    def has_waiting(self, models: Collection[str]) -> bool:
        """Whether a job of these models waits, or was begun by a process that may have been killed."""
        with self._transaction() as connection:
            rows = connection.execute("SELECT model FROM jobs WHERE state IN ('waiting', 'running')").fetchall()
        return any(model in models for (model,) in rows)

    def try_to_lock(self) -> bool:
        """Become the process that works on the jobs, if no other is. What a process that was killed
        had begun waits again."""
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            return False
        except OSError as error:
            raise StorageError(f"cannot write to {self._path.parent}: {error.strerror or error}") from error
        with self._transaction() as connection:
            connection.execute(
                "UPDATE jobs SET state = CASE WHEN stop_requested THEN 'stopped' ELSE 'waiting' END "
                "WHERE state = 'running'"
            )
        return True

    def unlock(self) -> None:
        """Let another process work on the jobs."""
        self._lock.release()

    def begin(self, models: Collection[str], before: float) -> tuple[QueuedRun, float] | None:
        """Begin the oldest job of these models that waits; None if there is none. With it comes what
        had been spent when it was begun first: `before`, unless it goes on after a kill."""
        with self._transaction() as connection:
            rows = connection.execute("SELECT id, model FROM jobs WHERE state = 'waiting' ORDER BY id")
            number = next((number for number, model in rows if model in models), None)
            if number is None:
                return None
            connection.execute(
                "UPDATE jobs SET state = 'running', unit = ?, "
                "before = CASE WHEN unit = ? THEN coalesce(before, ?) ELSE ? END WHERE id = ?",
                (self._unit, self._unit, before, before, number),
            )
            (first,) = connection.execute("SELECT before FROM jobs WHERE id = ?", (number,)).fetchone()
            return self._job(connection, number), float(first)

    def write(self, number: int, state: JobState, spent: float, runs: list[str], note: str) -> None:
        """Write how far a job is; `waiting` if it goes on later."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE jobs SET state = ?, spent = ?, runs = ?, note = ? WHERE id = ?",
                (state, spent, msgspec.json.encode(runs).decode(), note, number),
            )

    def _job(self, connection: sqlite3.Connection, number: int) -> QueuedRun:
        row = connection.execute(f"SELECT {_COLUMNS} FROM jobs WHERE id = ?", (number,)).fetchone()
        if row is None:
            raise UsageError(f"there is no job {number}; the tool `queue` lists them")
        return _read(row)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own for each look: threads and processes share nothing but the file."""
        try:
            connection = sqlite3.connect(self._path, timeout=_WAIT, isolation_level=None)
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise StorageError(f"cannot use {self._path}: {error}") from error


_COLUMNS = "id, model, benchmark, question_limit, state, submitted, runs, note, spent"


def _read(row: tuple[Any, ...]) -> QueuedRun:
    number, model, benchmark, limit, state, submitted, runs, note, spent = row
    return QueuedRun(number, model, benchmark, limit, state, submitted, msgspec.json.decode(runs), note, spent)
