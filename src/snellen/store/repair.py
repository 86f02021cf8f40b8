"""Checks a store for damage, and rescues the sound rows of a damaged one.

Every row has a checksum, so rows can be rescued from a file with damaged pages: rows that SQLite
can still reach are copied into a new store, and so are rows on pages that it no longer finds, if
their checksum matches.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from snellen.core.errors import StorageError, UsageError
from snellen.store.in_flight import count_live_runs
from snellen.store.pages import rows_on_pages
from snellen.store.responses import (
    DIGEST_BYTES,
    UNANSWERED_BATCHES,
    check_is_file,
    checksum,
    connect,
    decode_output,
    is_sound_medium,
)

_KEYS = 1 << 8 * DIGEST_BYTES
_RANGES_PER_PAGE = 8
"""The search around unreadable pages ends at ranges of 1/8 of the keys of an average page."""
_NEWER_COLUMNS = ("checksum", "stored_at", "run")
_Row = tuple[bytes, int, int, bytes, int | None, float | None, int | None]
"""digest, model, packed, output, checksum, stored_at, run"""


class StoreCheck(NamedTuple):
    """The condition of a store."""

    replies: int
    """Sound rows."""
    without_checksum: int
    """Sound rows of older versions, without a checksum: they can be decoded, which is no proof."""
    damaged: int
    """Rows that can be reached but differ from what was stored."""
    media: int
    damaged_media: int
    batches: tuple[int, int]
    """Batches that wait at a provider, and requests in them."""
    lost_batches: bool
    """Whether batches or requests in them cannot be read."""
    errors: tuple[str, ...]
    """Errors that SQLite reports; if there are any, rows may be out of reach."""

    @property
    def is_sound(self) -> bool:
        return not (self.damaged or self.damaged_media or self.errors)


class StoreRepair(NamedTuple):
    """What a repair did."""

    before: StoreCheck
    damaged_file: Path
    """The new path of the damaged store."""


def check(path: Path) -> StoreCheck:
    """Check every row of a store without changing it.

    Raises UsageError if there is no such file, and StorageError if its tables cannot be read.
    """
    with closing(_open_read_only(path)) as connection:
        return _copy_sound_rows(path, connection, None)


def repair(path: Path) -> StoreRepair | None:
    """Copy the sound rows into a new store under the same name, and rename the damaged one.

    Returns None if the store is sound; it is then not touched. Raises UsageError while a run uses
    it, and StorageError if nothing can be rescued; the damaged file then keeps its name.
    """
    if check(path).is_sound:
        return None
    new = path.with_name(path.name + ".repairing")
    _remove(new)
    try:
        with closing(_open_read_only(path)) as connection:
            _refuse_while_used(path, connection)
            with closing(connect(new)) as target:
                target.execute("BEGIN IMMEDIATE")
                before = _copy_sound_rows(path, connection, target)
                target.execute("COMMIT")
                target.execute("PRAGMA journal_mode=DELETE")
        damaged_file = _free_name(path)
        for suffix in ("-wal", "-shm", ""):
            with suppress(FileNotFoundError):
                _add_suffix(path, suffix).rename(_add_suffix(damaged_file, suffix))
        new.rename(path)
    except OSError as error:
        raise StorageError(f"cannot write beside {path}: {error.strerror or error}") from error
    except sqlite3.DatabaseError as error:
        raise _unusable_error(path, error) from error
    finally:
        _remove(new)
    return StoreRepair(before, damaged_file)


def _copy_sound_rows(path: Path, source: sqlite3.Connection, target: sqlite3.Connection | None) -> StoreCheck:
    """Check every row, and copy the sound ones if there is a target."""
    errors = _integrity_errors(source)
    columns = {row[1] for row in source.execute("PRAGMA table_info(responses)")}
    added = [name if name in columns else "NULL" for name in _NEWER_COLUMNS]
    tables = {row[0] for row in source.execute("SELECT name FROM sqlite_master")}
    rows = f"SELECT digest, model, packed, output, {', '.join(added)} FROM responses"
    replies = without_checksum = damaged = 0
    models: set[int] = set()
    sound: set[bytes] = set()
    (pages,) = source.execute("PRAGMA page_count").fetchone()
    min_range = _KEYS // max(1, _RANGES_PER_PAGE * pages)
    reached = _readable_rows(source, rows, min_range)
    unreached = _out_of_reach(path, sound) if errors else iter(())
    for candidate in chain(reached, unreached):
        sound_row = _sound(candidate)
        if sound_row is None:
            damaged += 1
            continue
        digest, model, packed, output, expected, stored_at, run = sound_row
        replies += 1
        without_checksum += expected is None
        if errors:
            sound.add(digest)
        if target is not None:
            models.add(model)
            row_checksum = checksum(digest, output)
            values = (digest, model, packed, output, row_checksum, stored_at, run)
            target.execute("INSERT OR IGNORE INTO responses VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    media, damaged_media = _copy_media(source, target) if "media" in tables else (0, 0)
    if target is not None:
        _copy_names(source, target, models, tables)
    batches, is_lost = _copy_batches(source, target) if "batches" in tables else ((0, 0), False)
    return StoreCheck(replies, without_checksum, damaged, media, damaged_media, batches, is_lost, errors)


def _copy_media(source: sqlite3.Connection, target: sqlite3.Connection | None) -> tuple[int, int]:
    """Check every medium, and copy the sound ones if there is a target; how many are sound and how
    many damaged."""
    sound = 0
    digests = [str(row[0]) for row in _rows_before_damage(source, "SELECT digest FROM media")]
    for digest in digests:
        row = next(_rows_before_damage(source, "SELECT data FROM media WHERE digest = ?", digest), None)
        if row is None or not is_sound_medium(digest, row[0]):
            continue
        sound += 1
        if target is not None:
            target.execute("INSERT OR IGNORE INTO media VALUES (?, ?)", (digest, row[0]))
    return sound, len(digests) - sound


def _copy_names(source: sqlite3.Connection, target: sqlite3.Connection, models: set[int], tables: set[str]) -> None:
    """Copy the models and runs, which rows refer to by number."""
    for row in _rows_before_damage(source, "SELECT id, digest, identity FROM models"):
        target.execute("INSERT OR IGNORE INTO models VALUES (?, ?, ?)", row)
    for model in models:
        # A model whose row is lost keeps its number: no other model may inherit its replies.
        lost = (model, f"lost {model}", "{}")
        target.execute("INSERT OR IGNORE INTO models VALUES (?, ?, ?)", lost)
    if "runs" in tables:
        for row in _rows_before_damage(source, "SELECT id, folder FROM runs"):
            target.execute("INSERT OR IGNORE INTO runs VALUES (?, ?)", row)


def _copy_batches(source: sqlite3.Connection, target: sqlite3.Connection | None) -> tuple[tuple[int, int], bool]:
    """Count the batches that wait at a provider and their requests, and copy them if there is a target; whether some
    cannot be read."""
    found: dict[str, list[tuple[object, ...]]] = {"batches": [], "batch_requests": []}
    is_lost = False
    for table, rows in found.items():
        try:
            rows.extend(source.execute(f"SELECT * FROM {table}"))
        except sqlite3.DatabaseError:
            is_lost = True
        if target is not None and rows:
            values = ", ".join("?" * len(rows[0]))
            target.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({values})", rows)
    with suppress(sqlite3.DatabaseError):
        unanswered = {name for (name,) in source.execute(UNANSWERED_BATCHES)}
        found["batches"] = [row for row in found["batches"] if row[0] in unanswered]
    # The others were never created.
    sent = [requests for *_, created, requests in found["batches"] if created]
    return (len(sent), sum(requests for requests in sent if isinstance(requests, int))), is_lost


def _sound(row: tuple[object, ...]) -> _Row | None:
    """Return a row if its values have the right types and its checksum matches, else None."""
    match row:
        case (
            bytes(digest),
            int(model),
            int(packed),
            bytes(output),
            int() | None as expected,
            float() | int() | None as stored_at,
            int() | None as run,
        ):
            if decode_output(digest, packed, output, expected) is not None:
                return digest, model, packed, output, expected, stored_at, run
    return None


def _out_of_reach(path: Path, sound: Collection[bytes]) -> Iterator[_Row]:
    """Rows on the pages of a file whose checksum matches, other than those in `sound`, to which the
    caller adds each row that it copies."""
    for row in rows_on_pages(path):
        sound_row = _sound(row)
        if sound_row is not None and sound_row[4] is not None and sound_row[0] not in sound:
            yield sound_row


def _readable_rows(
    source: sqlite3.Connection, rows: str, min_range: int, low: int = 0, high: int = _KEYS
) -> Iterator[tuple[object, ...]]:
    """Rows whose keys lie in a range, skipping what cannot be read.

    Reads forwards to the first unreadable page, then backwards from the end to the last one, and
    recurses into both halves of what lies between, down to `min_range` keys.
    """
    first, last = low, high
    within = f"{rows} WHERE digest >= ? AND digest < ? ORDER BY digest"
    limits = (_key(low), b"\xff" * 33 if high == _KEYS else _key(high))
    try:
        for row in source.execute(within, limits):
            # A damaged key may be any number: the search stays within its range.
            first = min(high, max(first, _number(row[0], first - 1) + 1))
            yield row
        return
    except sqlite3.DatabaseError:
        pass
    with suppress(sqlite3.DatabaseError):
        for row in source.execute(f"{within} DESC", limits):
            number = _number(row[0], last)
            if number < first:
                return
            last = min(last, number)
            yield row
    if last - first > min_range:
        middle = (first + last) // 2
        yield from _readable_rows(source, rows, min_range, first, middle)
        yield from _readable_rows(source, rows, min_range, middle, last)


def _key(number: int) -> bytes:
    return number.to_bytes(DIGEST_BYTES)


def _number(key: object, otherwise: int) -> int:
    """A key as a number; `otherwise` if damage has left no key."""
    if not isinstance(key, bytes):
        return otherwise
    return int.from_bytes(key[:DIGEST_BYTES].ljust(DIGEST_BYTES, b"\0"))


def _rows_before_damage(source: sqlite3.Connection, statement: str, *values: object) -> Iterator[tuple[object, ...]]:
    """Rows up to the first that cannot be read."""
    with suppress(sqlite3.DatabaseError):
        yield from source.execute(statement, values)


def _integrity_errors(connection: sqlite3.Connection) -> tuple[str, ...]:
    """The first few errors that SQLite finds in the file."""
    try:
        messages = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
    except sqlite3.DatabaseError as error:
        return (str(error),)
    lines = [line for text in messages for line in text.splitlines() if line.strip() != "ok"]
    return tuple(line for line in lines if not line.startswith("***"))[:5] if lines else ()


def _open_read_only(path: Path) -> sqlite3.Connection:
    """Open a store for reading, whatever its schema."""
    check_is_file(path)
    # Without a WAL file no process has the store open; `immutable` then reads it without creating
    # files beside it.
    mode = "mode=ro" if _add_suffix(path, "-wal").exists() else "mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)
    except sqlite3.Error as error:
        raise StorageError(f"cannot open the response store {path}: {error}") from error
    try:
        # Otherwise SQLite refuses to open a truncated file.
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("SELECT digest, output FROM responses LIMIT 0")
    except sqlite3.DatabaseError as error:
        connection.close()
        raise _unusable_error(path, error) from error
    return connection


def _unusable_error(path: Path, error: Exception) -> StorageError:
    return StorageError(
        f"nothing can be saved of the response store {path}, or it is not a store ({error}); move "
        "it away: finished samples are kept in the run folders, only the others are asked again"
    )


def _refuse_while_used(path: Path, connection: sqlite3.Connection) -> None:
    using = 0
    with suppress(sqlite3.DatabaseError):
        using = count_live_runs(connection)
    if using:
        raise UsageError(f"a run is using the store {path}; repair it once that run has ended")


def _free_name(path: Path) -> Path:
    """A new name for the damaged store: with the date, and a number if that exists already."""
    day = time.strftime("%Y-%m-%d", time.gmtime())
    name, number = path.with_name(f"{path.name}.damaged-{day}"), 1
    while name.exists():
        number += 1
        name = path.with_name(f"{path.name}.damaged-{day}-{number}")
    return name


def _add_suffix(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        _add_suffix(path, suffix).unlink(missing_ok=True)
