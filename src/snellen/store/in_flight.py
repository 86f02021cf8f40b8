"""What the runs on one store have in flight, so that they need not ask the same at the same time.

Each run keeps a row with a lease in `askers`. A run that is alone notes nothing else. Where there
are several, each notes its requests in `in_flight` before they are sent and takes them out once
they have ended; the others wait meanwhile. A run whose process is dead, or whose lease has run out
because it was stopped, holds nothing.

All of it saves requests and decides nothing: where the file cannot be written, a run asks as if it
were alone.
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
"""Seconds for which a run counts as alive after its latest sign."""
_RENEWAL_INTERVAL = 3.0
"""Seconds after which a lease is renewed."""


class _OtherRun(NamedTuple):
    machine: str
    process: int
    lease: float
    sharing: int

    def is_alive(self) -> bool:
        # A lease that ends long after any that was given: a clock was set back.
        if not 0 <= self.lease - time.time() <= 2 * LEASE:
            return False
        return self.machine != _machine() or _is_running(self.process)


class InFlightRequests:
    """One run's view. Used from one thread; `path` is the store's file."""

    def __init__(self, path: Path) -> None:
        self._connection = connect(path)
        # It waits for nobody for long: the event loop of the run would stand still.
        self._connection.execute("PRAGMA busy_timeout = 200")
        self._key = secrets.randbits(62)
        self._renewed_at = 0.0
        self.sharing = False
        """Whether this run notes its requests."""
        self.others_share = True
        """Whether all other runs do."""

    def enter(self) -> None:
        """Become known to the other runs, and forget those that are dead."""
        self._in_transaction(self._enter)

    def renew(self, requests: Iterable[bytes]) -> None:
        """Renew the lease and look for others. To be called every half second or so with what is
        in flight."""
        others = self._others()
        self.others_share = all(other.sharing for other in others)
        if bool(others) != self.sharing or time.monotonic() - self._renewed_at > _RENEWAL_INTERVAL:
            self._in_transaction(partial(self._update_lease, requests))

    def leave(self) -> None:
        self._in_transaction(partial(self._forget, self._key))
        self._connection.close()

    def claim(self, digest: bytes) -> bool:
        """Note a request as this run's; False while another run has it in flight."""
        with suppress(sqlite3.Error):
            row = self._connection.execute(
                "SELECT asker, machine, process, lease, sharing FROM in_flight "
                "LEFT JOIN askers ON askers.id = in_flight.asker WHERE digest = ?",
                (digest,),
            ).fetchone()
            holder = None if row is None else row[0]
            if holder not in (None, self._key) and row[1] and _OtherRun(*row[1:]).is_alive():
                return False
            done = self._connection.execute(
                "INSERT INTO in_flight VALUES (?, ?) "
                "ON CONFLICT (digest) DO UPDATE SET asker = excluded.asker WHERE asker IS ?",
                (digest, self._key, holder),
            )
            return done.rowcount == 1
        return True

    def release(self, digest: bytes) -> None:
        with suppress(sqlite3.Error):
            self._connection.execute(
                "DELETE FROM in_flight WHERE digest = ? AND asker = ?", (digest, self._key)
            )

    def _enter(self) -> None:
        rows = self._connection.execute(
            "SELECT id, machine, process, lease, sharing FROM askers"
        ).fetchall()
        for key, *fields in rows:
            if not _OtherRun(*fields).is_alive():
                self._forget(key)
        self._update_lease(())

    def _update_lease(self, requests: Iterable[bytes]) -> None:
        """Begin or end to note requests, by whether others are there, and renew the lease. Inside
        a transaction, so that of two runs that start together the second sees the first."""
        others = self._others()
        self.others_share = all(other.sharing for other in others)
        sharing = bool(others)
        if sharing:
            rows = [(digest, self._key) for digest in requests]
            self._connection.executemany("INSERT OR IGNORE INTO in_flight VALUES (?, ?)", rows)
        elif self.sharing:
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
        """All of a change at once, or nothing where the store is held or full."""
        with suppress(sqlite3.Error):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                change()
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")


def count_live_runs(connection: sqlite3.Connection) -> int:
    """How many runs use a store now."""
    rows = connection.execute("SELECT machine, process, lease, sharing FROM askers").fetchall()
    return sum(_OtherRun(*row).is_alive() for row in rows)


@cache
def _machine() -> str:
    """Where process numbers mean the same: a container has its own."""
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
