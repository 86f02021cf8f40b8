"""Requests in flight of the runs on one store, so that no request is sent twice at the same time.

Each run keeps a row with a lease in the table `askers`. A run that is alone writes nothing else. If
there are several runs, each writes its requests to `in_flight` before it sends them, and deletes
them once they have ended; the other runs wait meanwhile. The rows of a run count only while its
process is alive and its lease is valid: a suspended process does not renew its lease.

This only saves requests, and no result depends on it: if the file cannot be written, a run goes on
as if it were alone.
"""

from __future__ import annotations

import os
import platform
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from snellen.store.responses import connect

LEASE = 15.0
"""Seconds for which a run counts as alive after its last renewal."""
_RENEWAL_INTERVAL = 3.0
"""Seconds after which a lease is renewed."""


class _OtherRun(NamedTuple):
    machine: str
    process: int
    lease: float
    sharing: int

    def is_alive(self) -> bool:
        # A lease that ends later than any lease can: the clock was set back since.
        if not 0 <= self.lease - time.time() <= 2 * LEASE:
            return False
        return self.machine != _machine() or _is_running(self.process)


class InFlightRequests:
    """The requests in flight as one run sees them. For use from one thread; `path` is the store."""

    def __init__(self, path: Path) -> None:
        self._connection = connect(path)
        # Milliseconds. Every wait for a locked store blocks the run's event loop.
        self._connection.execute("PRAGMA busy_timeout = 200")
        self._key = secrets.randbits(62)
        self._renewed_at = 0.0
        self.sharing = False
        """Whether this run writes its requests to the table."""
        self.others_share = True
        """Whether all other runs do so."""

    def enter(self) -> None:
        """Register this run, and delete the rows of dead runs."""
        self._in_transaction(self._enter)

    def renew(self, requests: Iterable[bytes]) -> None:
        """Renew the lease and look for other runs. Call it about every half second, with the
        digests of the requests in flight."""
        others = self._others()
        self.others_share = all(other.sharing for other in others)
        if bool(others) != self.sharing or time.monotonic() - self._renewed_at > _RENEWAL_INTERVAL:
            self._in_transaction(partial(self._update_lease, requests))

    def leave(self) -> None:
        self._in_transaction(partial(self._forget, self._key))
        self._connection.close()

    def claim(self, digest: bytes) -> bool:
        """Claim a request for this run; False while another live run has it in flight."""
        with suppress(sqlite3.Error):
            row = self._connection.execute(
                "SELECT asker, machine, process, lease, sharing FROM in_flight "
                "LEFT JOIN askers ON askers.id = in_flight.asker WHERE digest = ?",
                (digest,),
            ).fetchone()
            holder = None if row is None else row[0]
            if holder not in (None, self._key) and row[1] and _OtherRun(*row[1:]).is_alive():
                return False
            # Insert the claim, or take it over from the dead holder that was just read. If another
            # run did so in between, the row has a new holder, and nothing is changed.
            done = self._connection.execute(
                "INSERT INTO in_flight VALUES (?, ?) "
                "ON CONFLICT (digest) DO UPDATE SET asker = excluded.asker WHERE asker IS ?",
                (digest, self._key, holder),
            )
            return done.rowcount == 1
        # The table cannot be used: go on as if alone.
        return True

    def release(self, digest: bytes) -> None:
        with suppress(sqlite3.Error):
            self._connection.execute("DELETE FROM in_flight WHERE digest = ? AND asker = ?", (digest, self._key))

    def _enter(self) -> None:
        rows = self._connection.execute("SELECT id, machine, process, lease, sharing FROM askers").fetchall()
        for key, *fields in rows:
            if not _OtherRun(*fields).is_alive():
                self._forget(key)
        self._update_lease(())

    def _update_lease(self, requests: Iterable[bytes]) -> None:
        """Renew the lease, and start or stop sharing depending on whether there are other runs.

        Runs inside a transaction, so that of two runs that start together the second sees the
        first.
        """
        others = self._others()
        self.others_share = all(other.sharing for other in others)
        sharing = bool(others)
        if sharing:
            rows = [(digest, self._key) for digest in requests]
            self._connection.executemany("INSERT OR IGNORE INTO in_flight VALUES (?, ?)", rows)
        elif self.sharing:
            # Alone again: nobody reads the table any more.
            self._connection.execute("DELETE FROM in_flight")
        row = (self._key, _machine(), os.getpid(), time.time() + LEASE, int(sharing))
        self._connection.execute("INSERT OR REPLACE INTO askers VALUES (?, ?, ?, ?, ?)", row)
        self.sharing, self._renewed_at = sharing, time.monotonic()

    def _forget(self, key: int) -> None:
        self._connection.execute("DELETE FROM in_flight WHERE asker = ?", (key,))
        self._connection.execute("DELETE FROM askers WHERE id = ?", (key,))

    def _others(self) -> list[_OtherRun]:
        with suppress(sqlite3.Error):
            rows = self._connection.execute(
                "SELECT machine, process, lease, sharing FROM askers WHERE id != ?", (self._key,)
            ).fetchall()
            return [other for row in rows if (other := _OtherRun(*row)).is_alive()]
        return []

    def _in_transaction(self, change: Callable[[], object]) -> None:
        """Apply a change in one transaction; does nothing if the store is locked or full."""
        with suppress(sqlite3.Error):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                change()
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")


def count_live_runs(connection: sqlite3.Connection) -> int:
    """Number of live runs that use a store."""
    rows = connection.execute("SELECT machine, process, lease, sharing FROM askers").fetchall()
    return sum(_OtherRun(*row).is_alive() for row in rows)


def this_process() -> str:
    """Name of this process: its machine and its number there."""
    return f"{_machine()} {os.getpid()}"


def is_alive_here(process: str, elsewhere: bool) -> bool:
    """Whether a process (`this_process`) runs; `elsewhere` is the answer for one of another machine."""
    machine, _, number = process.rpartition(" ")
    return _is_running(int(number)) if machine == _machine() else elsewhere


@cache
def _machine() -> str:
    """Name of the machine and of its process-id namespace: a container has its own."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return f"{platform.node()} {space}".strip()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
