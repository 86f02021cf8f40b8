"""Checks of the database and the files: schema, rows, key, files that are missing, damaged or of
nobody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta

from sqlalchemy import func, select, text

from snellen.core.errors import StorageError, UsageError
from snellen_hub.backup.rows import STORED_KEY, dump_rows, read_file_keys, read_tables_of
from snellen_hub.database.connection import check_references
from snellen_hub.database.schema import SCHEMA
from snellen_hub.database.tables import Account
from snellen_hub.doctor.findings import HubFinding, fine, first_case, list_some, problem
from snellen_hub.hub import Hub
from snellen_hub.moment_text import now
from snellen_hub.storage import KEY_VARIABLE, PROBE_KEY, SEALED

_OLD = timedelta(days=1)
"""Age of a file to which no row refers after which it may be deleted: its row may be on the way."""
_SKEW, _TOO_MUCH_SKEW = timedelta(seconds=2), timedelta(seconds=20)
_SHORTEST_KEY = 32


def check_schema(hub: Hub) -> Iterator[HubFinding]:
    """Whether the database answers, with the schema of this code."""
    hub.database.check()
    kind = "SQLite" if hub.database.is_sqlite else "PostgreSQL"
    yield fine("schema", f"{SCHEMA}, {kind}")


def check_rows(hub: Hub) -> Iterator[HubFinding]:
    """Whether the database is intact, and somebody owns the hub."""
    if hub.database.is_sqlite:
        with hub.database.snapshot() as connection:
            said = str(connection.scalar(text("PRAGMA quick_check(1)")))
            if said == "ok":
                check_references(connection)
        if said != "ok":
            yield problem("database", f"the file is damaged ({said}); restore the latest backup")
            return
    with hub.database.reading() as session:
        owners = session.scalar(select(func.count()).where(Account.role == "owner", Account.disabled.is_(None)))
    if owners:
        yield fine("database", f"intact, {owners:,} owner{'s' if owners > 1 else ''}")
    else:
        yield problem("owner", "no account owns this hub; make one with: snellen hub account HUB NAME --role owner")


def check_clock(hub: Hub) -> Iterator[HubFinding]:
    """Leases end by the clocks of workers, which must agree."""
    if hub.database.is_sqlite:
        return
    with hub.database.snapshot() as connection:
        before = now()
        there: datetime = connection.execute(text("SELECT clock_timestamp()")).scalar_one()
        difference = abs(there - before)
    said = f"this machine and the database differ by {difference.total_seconds():.1f} seconds"
    yield first_case(
        "clock",
        (difference > _TOO_MUCH_SKEW, "problem", f"{said}: leases may end too early; set the clocks by NTP"),
        (difference > _SKEW, "warning", f"{said}; set the clocks by NTP"),
        (True, "ok", said),
    )


def check_files(hub: Hub, *, fix: bool, quick: bool) -> Iterator[HubFinding]:
    """Whether every file that a row names is there, undamaged, and opened by the key; and files
    that none names."""
    hub.storage.check()
    required, named = _read_keys(hub)
    stored = {file.key: file for file in hub.storage.list_files()}
    sealed = sorted(key for key in required if key.endswith(SEALED))
    key = _check_key(hub, [key for key in sealed if key in stored])
    yield key
    can_open = hub.storage.has_key and key.level != "problem"
    missing = sorted(required - set(stored))
    if missing:
        yield problem(
            "files", f"{len(missing):,} that rows name are missing: {list_some(missing)}; restore them from a backup"
        )
    there = sorted(required & set(stored))
    readable = [key for key in there if can_open or not key.endswith(SEALED)]
    damaged = [] if quick else [key for key in readable if not _is_intact(hub, key)]
    if damaged:
        yield problem(
            "files", f"{len(damaged):,} are damaged: {list_some(damaged)}; delete them and restore them from a backup"
        )
    if not missing and not damaged:
        how = "there" if quick else "there and intact"
        unread = len(there) - len(readable)
        beside = f", {unread:,} of them sealed and not opened" if unread else ""
        yield fine("files", f"all {len(there):,} are {how}{beside}")
    yield from _check_orphans(hub, [key for key in stored if key not in named], fix=fix)


def _read_keys(hub: Hub) -> tuple[set[str], set[str]]:
    """Keys of files that must be there, and all that any row names."""
    required: set[str] = set()
    named = {PROBE_KEY}
    with hub.database.snapshot() as connection:
        for table in read_tables_of(connection):
            required |= read_file_keys(connection, table)
            for line in dump_rows(connection, table):
                named.update(key.decode() for key in STORED_KEY.findall(line))
    return required, named | required


def _check_key(hub: Hub, sealed: list[str]) -> HubFinding:
    storage = hub.storage
    opened = True
    if storage.has_key and sealed:
        # One is enough: there is one key, and damaged files are looked for elsewhere.
        with suppress(UsageError):
            opened = False
            opened = any(_is_intact(hub, key) for key in sealed[:5])
    unset, fill = f"{KEY_VARIABLE} is not set", "set the key with which the hub was filled"
    short = f"{KEY_VARIABLE} has {storage.key_length} characters and might be guessed"
    return first_case(
        "key",
        (not storage.has_key and sealed, "problem", f"{unset}: hidden answers cannot be read; {fill}"),
        (not storage.has_key, "ok", f"{unset}; only hidden answers need it"),
        (not opened, "problem", f"{KEY_VARIABLE} does not open the hidden answers; {fill}"),
        (storage.key_length < _SHORTEST_KEY, "warning", f"{short}; openssl rand -base64 32 makes one of 44"),
        (sealed, "ok", f"{KEY_VARIABLE} opens the hidden answers"),
        (True, "ok", "set"),
    )


def _is_intact(hub: Hub, key: str) -> bool:
    try:
        hub.storage.get(key)
    except StorageError:
        return False
    return True


def _check_orphans(hub: Hub, keys: list[str], *, fix: bool) -> Iterator[HubFinding]:
    """Files that no row names: what an upload or a worker left that did not come to its end, and
    data that were replaced."""
    size, old = 0, 0
    for key in keys:
        # The date is read anew: a file that is stored again meanwhile gets a new one.
        file = hub.storage.describe(key)
        if file is None or now() - file.changed < _OLD:
            continue
        old, size = old + 1, size + file.size
        if fix:
            hub.storage.delete(key)
    files = f"{old:,} files, {size / 1e6:,.1f} MB"
    yield first_case(
        "orphans",
        (old and fix, "ok", f"deleted {files}"),
        (old, "warning", f"no row names {files}, older than a day; delete them with --repair"),
        (True, "ok", f"{len(keys):,} young files that no row names yet"),
    )
