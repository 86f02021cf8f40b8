"""Join response stores: every reply, medium, model and run of several stores in one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from snellen.core.errors import StorageError
from snellen.store.batches import COPY
from snellen.store.responses import connect, readable_file

_STATEMENTS = (
    "INSERT OR IGNORE INTO main.models (digest, identity) SELECT digest, identity FROM other.models",
    "INSERT OR IGNORE INTO main.runs (folder) SELECT folder FROM other.runs",
    "INSERT OR IGNORE INTO main.media (digest, data) SELECT digest, data FROM other.media",
    # Rows are numbered by each store for itself: a model or run is found by what it is.
    *COPY,
    """
    INSERT OR IGNORE INTO main.responses (digest, model, packed, output, checksum, stored_at, run)
    SELECT reply.digest, model.id, reply.packed, reply.output, reply.checksum, reply.stored_at, run.id
    FROM other.responses AS reply
    JOIN other.models AS theirs ON theirs.id = reply.model
    JOIN main.models AS model ON model.digest = theirs.digest
    LEFT JOIN other.runs AS asked ON asked.id = reply.run
    LEFT JOIN main.runs AS run ON run.folder = asked.folder
    """,
)


def merge_stores(sources: Iterable[Path], target: Path) -> int:
    """Copy what the target lacks from each source, in one transaction a source; returns the number of replies that
    were added. Of a request that several stores have answered, the reply of the first counts. Raises StorageError."""
    connection = connect(target)
    try:
        added = 0
        for source in sources:
            file = readable_file(source)
            try:
                connection.execute("ATTACH DATABASE ? AS other", (file,))
                connection.execute("BEGIN IMMEDIATE")
                for statement in _STATEMENTS:
                    before = connection.total_changes
                    connection.execute(statement)
                added += connection.total_changes - before
                connection.execute("COMMIT")
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
