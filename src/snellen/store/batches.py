"""Batches that wait at a provider: written before they are sent, deleted once their replies are stored.

A row is added before anything is uploaded, marked before the batch is created, and gets its place,
the provider's name of the batch, as soon as that is known. So a process that is killed leaves a row
that says how far it came, and no request of it is asked twice.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.errors import StorageError
from snellen.store.in_flight import is_alive_here, this_process
from snellen.store.responses import UNANSWERED_BATCHES, connect

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOREIGN_SECONDS = 3600.0
"""Seconds for which a process of another machine counts as alive after it wrote its row."""


class BatchRow(NamedTuple):
    """A batch as it was left."""

    name: str
    """Its key, which the provider was told as well."""
    account: str
    place: str
    """The provider's names of the batch, separated by blanks; empty while unknown."""
    owner: str
    """Machine and process that submits it."""
    prepared: float
    """When it was written, in seconds since 1970."""
    created: float
    """When its creation began; 0 before."""
    requests: int

    def has_live_owner(self) -> bool:
        """Whether the process that submits it may be alive, this one excepted."""
        if self.owner == this_process():
            return False
        return is_alive_here(self.owner, time.time() - self.prepared < _FOREIGN_SECONDS)


class BatchTable:
    """The batches of a store. For use from one thread; `path` is the store, None is in memory."""

    def __init__(self, path: Path | None) -> None:
        self._connection = connect(path)

    def close(self) -> None:
        self._connection.close()

    def add(self, name: str, account: str, model_key: int, facts: Mapping[bytes, str]) -> None:
        """Write a batch that is about to be uploaded, with its requests (digests) and what their
        replies are read with."""
        row = (name, account, model_key, this_process(), time.time(), len(facts))
        with self._durable_transaction() as connection:
            connection.execute(
                "INSERT INTO batches (name, account, model, owner, prepared, requests) VALUES (?, ?, ?, ?, ?, ?)", row
            )
            connection.executemany(
                "INSERT OR REPLACE INTO batch_requests VALUES (?, ?, ?)",
                [(digest, name, fact) for digest, fact in facts.items()],
            )

    def note_creation(self, name: str) -> None:
        """Note that the provider is about to be told to create the batch."""
        with self._durable_transaction() as connection:
            connection.execute("UPDATE batches SET created = ? WHERE name = ?", (time.time(), name))

    def set_place(self, name: str, place: str) -> None:
        """Note where the batch is."""
        with self._durable_transaction() as connection:
            connection.execute("UPDATE batches SET place = ? WHERE name = ?", (place, name))

    def delete(self, name: str) -> bool:
        """Forget a batch whose replies are stored, or that was never created; False if another process already did."""
        with self._durable_transaction() as connection:
            connection.execute("DELETE FROM batch_requests WHERE batch = ?", (name,))
            return connection.execute("DELETE FROM batches WHERE name = ?", (name,)).rowcount > 0

    def rows(self, account: str, model_key: int) -> list[BatchRow]:
        """The batches of a model at an account, the oldest first."""
        return self._rows("WHERE account = ? AND model = ? ORDER BY prepared", (account, model_key))

    def row(self, name: str) -> BatchRow | None:
        """A batch, or None once it is forgotten."""
        return next(iter(self._rows("WHERE name = ?", (name,))), None)

    def batch_of(self, digest: bytes) -> str | None:
        """The batch that holds a request."""
        row = self._connection.execute("SELECT batch FROM batch_requests WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else str(row[0])

    def facts(self, name: str) -> dict[bytes, str]:
        """The requests of a batch, with what their replies are read with."""
        rows = self._connection.execute("SELECT digest, facts FROM batch_requests WHERE batch = ?", (name,))
        return dict(rows.fetchall())

    def _rows(self, condition: str, values: Iterable[object]) -> list[BatchRow]:
        columns = ", ".join(BatchRow._fields)
        rows = self._connection.execute(f"SELECT {columns} FROM batches {condition}", tuple(values))
        return [BatchRow(*row) for row in rows]

    @contextmanager
    def _durable_transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction that survives the death of the machine: a batch costs money. Raises StorageError."""
        connection = self._connection
        try:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise StorageError(
                f"cannot write to the response store: {error}; batches that were submitted are kept, "
                "and the same command takes their replies"
            ) from error


_INSERT = f"""
    INSERT INTO main.batches ({", ".join(BatchRow._fields)}, model)
    SELECT {", ".join("?" * len(BatchRow._fields))}, model.id FROM other.batches AS batch
    JOIN other.models AS theirs ON theirs.id = batch.model
    JOIN main.models AS model ON model.digest = theirs.digest
    WHERE batch.name = ?
    ON CONFLICT (name) DO UPDATE SET place = excluded.place WHERE place = ''
"""
# Of two batches that hold a request the later one counts: it was asked again, for the first did not answer it.
_INSERT_REQUESTS = """
    INSERT INTO main.batch_requests SELECT digest, batch, facts FROM other.batch_requests
    WHERE batch IN (SELECT name FROM main.batches)
    ON CONFLICT (digest) DO UPDATE SET batch = excluded.batch, facts = excluded.facts
    WHERE (SELECT prepared FROM main.batches WHERE name = excluded.batch)
        > (SELECT prepared FROM main.batches WHERE name = batch)
"""


def copy_batches(connection: sqlite3.Connection) -> None:
    """Copy the batches of the models that a store has (`main`) from another (`other`). Raises sqlite3.Error."""
    for fields in connection.execute(f"SELECT {', '.join(BatchRow._fields)} FROM other.batches").fetchall():
        row = BatchRow(*fields)
        if not row.created and not row.has_live_owner():
            # It was never created.
            continue
        # One that is being submitted may exist at any moment: only the provider knows.
        connection.execute(_INSERT, (*row._replace(created=row.created or row.prepared), row.name))
    connection.execute(_INSERT_REQUESTS)


def drop_answered_batches(connection: sqlite3.Connection) -> None:
    """Forget the batches of which a store has every reply: the store that they were copied from has taken them.
    Raises sqlite3.Error."""
    connection.execute(f"DELETE FROM batches WHERE name NOT IN ({UNANSWERED_BATCHES})")
    connection.execute("DELETE FROM batch_requests WHERE batch NOT IN (SELECT name FROM batches)")
