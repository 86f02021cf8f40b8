"""Makes a store smaller while runs use it.

Deleted replies leave pages half empty. A few hundred replies at a time are taken out and written again in the order
of their keys, which fills the pages; then the unused pages are cut off the file. Each step is a short transaction,
after which others have as long to write.
"""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from snellen.core.errors import StorageError, UsageError
from snellen.store.checkpoints import checkpoint
from snellen.store.in_flight import count_live_runs
from snellen.store.responses import check_is_file, connect

Row = tuple[Any, ...]
"""A row of the table of replies."""
_STEP_SECONDS = 0.01
"""Seconds for which a step may hold the store; the number of rows or pages of the next one follows from it."""
_FEWEST, _MOST = 16, 1_000
"""Rows or pages of a step."""
_CHECKPOINT_STEPS = 50
_PAGE_BYTES, _ROW_BYTES, _ROOM_BYTES = 4_080, 70, 420
"""Bytes of a page for rows, of a row but for its output, and of the room that is left on a page."""
_INCREMENTAL = 2
"""`PRAGMA auto_vacuum` of a file whose unused pages can be cut off."""


class Compaction(NamedTuple):
    """Bytes of a store before and after."""

    before: int
    after: int


def compact(store: Path) -> Compaction:
    """Fill the pages of a store, and cut off what is unused. Runs may use it meanwhile, unless an older version made
    it: that one is rewritten at once, for which nothing may use it.

    May be killed at any time. Raises UsageError while a run uses a store that has to be rewritten, StorageError.
    """
    check_is_file(store)
    before = store.stat().st_size
    with closing(connect(store)) as connection:
        try:
            if _number(connection, "auto_vacuum") == _INCREMENTAL:
                _fill_pages(connection)
                cut_unused_pages(connection)
            else:
                _rewrite(connection, store)
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        except sqlite3.Error as error:
            raise StorageError(
                f"cannot compact {store}: {error}; its replies are unchanged, the same command goes on"
            ) from error
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
    return Compaction(before, store.stat().st_size)


def _fill_pages(connection: sqlite3.Connection) -> None:
    last = b""

    def step(count: int) -> bool:
        nonlocal last
        connection.execute("BEGIN IMMEDIATE")
        rows = connection.execute(
            "SELECT * FROM responses WHERE digest > ? ORDER BY digest LIMIT ?", (last, count)
        ).fetchall()
        if rows:
            connection.execute("DELETE FROM responses WHERE digest > ? AND digest <= ?", (last, rows[-1][0]))
            insert_with_room(connection, rows)
            last = rows[-1][0]
        connection.execute("COMMIT")
        return bool(rows)

    _in_steps(connection, step)


def insert_with_room(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Insert rows of replies in the order of their keys, so that about each page keeps room for one more: a reply that
    comes later then changes its page, where it would else split that and the full ones above it, with their
    neighbours. Raises sqlite3.Error."""
    placed: list[Row] = []
    places: list[tuple[bytes]] = []
    filled = 0
    for row in rows:
        placed.append(row)
        filled += _ROW_BYTES + min(len(row[3]), _ROOM_BYTES)
        if filled > _PAGE_BYTES - _ROOM_BYTES:
            # No key is of that length: it stands after this row, and is gone before anyone sees it.
            places.append((row[0] + b"\0",))
            placed.append((*places[-1], 0, 0, bytes(_ROOM_BYTES), None, None, None))
            filled = 0
    connection.executemany("INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?)", placed)
    connection.executemany("DELETE FROM responses WHERE digest = ?", places)


def cut_unused_pages(connection: sqlite3.Connection) -> None:
    """Cut the unused pages off a file, if it can be done in steps. Raises sqlite3.Error."""
    if _number(connection, "auto_vacuum") != _INCREMENTAL:
        return

    def step(count: int) -> bool:
        # `execute` would take a single page.
        connection.executescript(f"PRAGMA incremental_vacuum({count})")
        return _number(connection, "freelist_count") > 0

    _in_steps(connection, step)


def _in_steps(connection: sqlite3.Connection, step: Callable[[int], bool]) -> None:
    """Call `step` with how much it may do, until it returns False. After each, others have as long to write."""
    count, steps = 4 * _FEWEST, 0
    while True:
        started = time.perf_counter()
        if not step(count):
            return
        took = time.perf_counter() - started
        count = round(min(_MOST, max(_FEWEST, count * min(2.0, _STEP_SECONDS / took))))
        steps += 1
        if steps % _CHECKPOINT_STEPS == 0:
            checkpoint(connection)
        # SQLite's locks are not fair: who waits for one asks for it now and then.
        if count_live_runs(connection):
            time.sleep(max(took, _STEP_SECONDS))


def _rewrite(connection: sqlite3.Connection, store: Path) -> None:
    """Write the whole file anew, so that it can be compacted in steps from then on."""
    if count_live_runs(connection):
        raise UsageError(
            f"a run is using {store}, which an older version made: it is rewritten once; compact it when the run has "
            "ended"
        )
    needed = 2 * store.stat().st_size
    free = shutil.disk_usage(store.absolute().parent).free
    if free < needed:
        raise StorageError(
            f"{store} is rewritten once, which takes {needed / 1e9:.1f} GB of free disk for that time; "
            f"{free / 1e9:.1f} GB are free; it is unchanged"
        )
    connection.execute("PRAGMA busy_timeout = 200")
    connection.execute(f"PRAGMA auto_vacuum={_INCREMENTAL}")
    connection.execute("VACUUM")


def _number(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value
