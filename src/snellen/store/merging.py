"""Join response stores: every reply, medium, model and run of several stores in one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import repeat
from pathlib import Path

from snellen.core.errors import StorageError
from snellen.store.batches import copy_batches, drop_answered_batches
from snellen.store.responses import WAIT, connect, readable_file

# Rows are numbered by each store for itself: a model or run is found by what it is.
_STATEMENTS = (
    "INSERT OR IGNORE INTO main.models (digest, identity) SELECT digest, identity FROM other.models",
    "INSERT OR IGNORE INTO main.runs (folder) SELECT folder FROM other.runs",
    "INSERT OR IGNORE INTO main.media (digest, data) SELECT digest, data FROM other.media",
)
_REPLIES = """
    INSERT OR IGNORE INTO main.responses (digest, model, packed, output, checksum, stored_at, run)
    SELECT reply.digest, model.id, reply.packed, reply.output, reply.checksum, reply.stored_at, run.id
    FROM other.responses AS reply
    CROSS JOIN other.models AS theirs ON theirs.id = reply.model
    CROSS JOIN main.models AS model ON model.digest = theirs.digest
    LEFT JOIN other.runs AS asked ON asked.id = reply.run
    LEFT JOIN main.runs AS run ON run.folder = asked.folder
    WHERE reply.digest > ? AND reply.digest <= ?
    ORDER BY reply.digest
"""
_KEYS = "SELECT digest FROM other.responses WHERE digest > ? ORDER BY digest LIMIT ?"
_BATCH = 1_000
"""Replies copied at once: runs that use the target wait no longer than that takes."""
_READERS = 8
"""Threads that read the pages of a batch before the target is held. Together they wait for the disk once."""


def merge_stores(sources: Iterable[Path], target: Path) -> int:
    """Copy what the target lacks from each source, in short transactions; returns the number of replies that were
    added. Killed and started again, it copies the rest. Of a request that several stores have answered, the reply of
    the first counts. Raises StorageError."""
    connection = connect(target)
    try:
        added = 0
        for source in sources:
            file = readable_file(source)
            try:
                connection.execute("ATTACH DATABASE ? AS other", (file,))
                connection.execute("BEGIN IMMEDIATE")
                for statement in _STATEMENTS:
                    connection.execute(statement)
                copy_batches(connection)
                connection.execute("COMMIT")
                added += _copy_replies(connection, target)
                drop_answered_batches(connection)
                connection.execute("DETACH DATABASE other")
            except sqlite3.Error as error:
                raise StorageError(
                    f"the replies of {source} cannot be copied to {target}: {error}; the shards are unchanged: make "
                    "room or mend the store with `snellen doctor STORE --repair`, and merge again"
                ) from error
        return added
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.close()


def _copy_replies(connection: sqlite3.Connection, target: Path) -> int:
    """Copy the replies in the order of their keys; returns how many the target lacked. Raises sqlite3.Error."""
    before, last = connection.total_changes, b""
    with ThreadPoolExecutor(_READERS) as pool:
        while keys := [key for (key,) in connection.execute(_KEYS, (last, _BATCH))]:
            list(pool.map(_read_pages, repeat(target), (keys[at::_READERS] for at in range(_READERS))))
            connection.execute(_REPLIES, (last, keys[-1]))
            last = keys[-1]
    return connection.total_changes - before


def _read_pages(store: Path, keys: list[bytes]) -> None:
    """Have the system read the pages on which these keys are or would be. Raises sqlite3.Error."""
    with closing(sqlite3.connect(store.absolute(), timeout=WAIT)) as reader:
        marks = ", ".join("?" * len(keys))
        reader.execute(f"SELECT count(*) FROM responses WHERE digest IN ({marks})", keys).fetchone()
