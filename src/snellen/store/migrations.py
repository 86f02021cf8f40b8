"""The store's schema as numbered migrations; `PRAGMA user_version` counts the applied ones."""

from __future__ import annotations

import sqlite3

from snellen.core.errors import StorageError

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE models (
        id INTEGER PRIMARY KEY,
        digest TEXT NOT NULL UNIQUE,
        identity TEXT NOT NULL
    );
    CREATE TABLE responses (
        digest BLOB PRIMARY KEY,
        model INTEGER NOT NULL REFERENCES models (id),
        packed INTEGER NOT NULL,
        output BLOB NOT NULL
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE media (
        digest TEXT PRIMARY KEY,
        data BLOB NOT NULL
    );
    """,
    # Older rows have no checksum, time or run; they are read without.
    """
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY,
        folder TEXT NOT NULL UNIQUE
    );
    ALTER TABLE responses ADD COLUMN checksum INTEGER;
    ALTER TABLE responses ADD COLUMN stored_at REAL;
    ALTER TABLE responses ADD COLUMN run INTEGER REFERENCES runs (id);
    CREATE TABLE askers (
        id INTEGER PRIMARY KEY,
        machine TEXT NOT NULL,
        process INTEGER NOT NULL,
        lease REAL NOT NULL,
        sharing INTEGER NOT NULL
    );
    CREATE TABLE in_flight (
        digest BLOB PRIMARY KEY,
        asker INTEGER NOT NULL
    ) WITHOUT ROWID;
    """,
)


def migrate(connection: sqlite3.Connection) -> None:
    """Migrate a store to the newest schema; safe if two processes open it at once.

    Raises StorageError if a newer Snellen wrote it.
    """
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        if version > len(MIGRATIONS):
            raise StorageError(
                f"the response store has schema {version}, written by a newer Snellen; "
                f"this one knows up to {len(MIGRATIONS)}: upgrade, or choose another --store"
            )
        for step in MIGRATIONS[version:]:
            for statement in filter(str.strip, step.split(";")):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version
