"""The replies that runs need of the store beside them: copied to another store, or deleted. Batches that wait for
the models of the runs are copied too.

A run needs the replies to the requests in its `samples.jsonl` and `failures.jsonl`, whoever had asked
for them, and those that it had asked for before it was killed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from snellen.core.errors import StorageError
from snellen.core.output import Drawn
from snellen.core.run import RunInfo
from snellen.store.batches import copy_batches
from snellen.store.compaction import cut_unused_pages
from snellen.store.in_flight import count_live_runs
from snellen.store.responses import STORE_FILE, connect, decode_output, readable_file
from snellen.store.runs import RUN_FILE, RUN_FILES, open_run

_BATCH = 500
"""Replies changed at once: runs that use the store wait no longer than that takes."""


class _Requests(Struct, frozen=True, gc=False):
    requests: tuple[str, ...] = ()


class UnneededReplies(NamedTuple):
    """Replies that no run but those named needs; `reason` says why none may be deleted."""

    store: Path
    digests: frozenset[bytes]
    runs: tuple[int, ...]
    """Numbers, in the store, of the runs named."""
    shared: frozenset[bytes] = frozenset()
    """Replies that these runs had asked for and that others need."""
    reason: str = ""


def store_of(folder: Path) -> Path | None:
    """The store beside a run; None if there is none."""
    store = folder.parent / STORE_FILE
    return store if store.is_file() else None


def missing_runs(store: Path) -> list[Path]:
    """The folders of runs that used a store and are no longer there. Raises StorageError."""
    with _reading(store) as connection:
        return [folder for folder in _folders_by_number(connection, store).values() if not _has_run(folder)]


def copy_replies(store: Path, target: Path, folders: Mapping[Path, Path]) -> int:
    """Copy the replies of runs, with drawn pictures, to another store, where the runs are those of the new
    folders; returns the number of replies. Raises StorageError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with closing(connect(target)) as connection, _errors(f"the replies of {store} cannot be copied to {target}"):
        connection.execute("ATTACH DATABASE ? AS other", (readable_file(store),))
        numbers = _numbers(connection, store, folders, "other.")
        _fill_wanted(
            connection, (*map(_recorded_digests, folders), _digests_asked_by(connection, numbers.values(), "other."))
        )
        connection.execute("CREATE TEMP TABLE renamed (id INTEGER PRIMARY KEY, folder TEXT)")
        named = [(number, str(folders[folder].absolute())) for folder, number in numbers.items()]
        connection.executemany("INSERT INTO renamed VALUES (?, ?)", named)
        connection.execute("CREATE TEMP TABLE asked (digest TEXT PRIMARY KEY)")
        asked = {digest for folder in folders if _has_run(folder) for digest in _asked_models(open_run(folder).info)}
        connection.executemany("INSERT INTO asked VALUES (?)", [(digest,) for digest in asked])
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_COPY_MODELS)
        copy_batches(connection)
        for statement in _COPY:
            before = connection.total_changes
            connection.execute(statement)
        copied = connection.total_changes - before
        for name in _pictures(connection):
            connection.execute("INSERT OR IGNORE INTO media SELECT * FROM other.media WHERE digest = ?", (name,))
        connection.execute("COMMIT")
        return copied


_COPY_MODELS = (
    "INSERT OR IGNORE INTO main.models (digest, identity) SELECT digest, identity FROM other.models "
    "WHERE digest IN asked AND id IN (SELECT model FROM other.batches)"
)
"""Of the batches that wait."""
_COPY = (
    "INSERT OR IGNORE INTO main.runs (folder) SELECT folder FROM renamed",
    "INSERT OR IGNORE INTO main.models (digest, identity) SELECT digest, identity FROM other.models WHERE id IN "
    "(SELECT model FROM other.responses JOIN wanted USING (digest))",
    """
    INSERT OR IGNORE INTO main.responses (digest, model, packed, output, checksum, stored_at, run)
    SELECT reply.digest, model.id, reply.packed, reply.output, reply.checksum, reply.stored_at, run.id
    FROM other.responses AS reply
    JOIN wanted USING (digest)
    JOIN other.models AS theirs ON theirs.id = reply.model
    JOIN main.models AS model ON model.digest = theirs.digest
    LEFT JOIN renamed ON renamed.id = reply.run
    LEFT JOIN main.runs AS run ON run.folder = renamed.folder
    """,
)


def _pictures(connection: sqlite3.Connection) -> set[str]:
    """The drawn pictures of the wanted replies."""
    if connection.execute("SELECT 1 FROM other.media LIMIT 1").fetchone() is None:
        return set()
    rows = connection.execute("SELECT digest, packed, output, checksum FROM other.responses JOIN wanted USING (digest)")
    outputs = (decode_output(*row) for row in rows)
    return {name for output in outputs if isinstance(output, Drawn) for name in output.images}


def find_unneeded(store: Path, folders: Collection[Path]) -> UnneededReplies:
    """The replies that of all runs of a store only those in `folders` need, which may be gone already. Raises
    StorageError."""
    folders = [folder.resolve() for folder in folders]
    with _reading(store) as connection:
        numbers = _numbers(connection, store, folders)
        runs = tuple(numbers.values())
        if count_live_runs(connection):
            return UnneededReplies(store, frozenset(), runs, reason="a run that goes on uses the store")
        listed = _folders_by_number(connection, store)
        others: dict[Path, int | None] = {folder: number for number, folder in listed.items() if number not in runs}
        others |= {folder: None for folder in _sibling_runs(store) if folder not in others and folder not in folders}
        gone = [folder for folder in others if not _has_run(folder)]
        if gone:
            reason = (
                f"{len(gone)} other runs that used the store are no longer where they were, such as {gone[0]}: "
                f"if they are deleted for good, first: snellen runs {store.parent} --where state=gone --delete"
            )
            return UnneededReplies(store, frozenset(), runs, reason=reason)
        asked = frozenset(_digests_asked_by(connection, runs))
        needed = {*asked, *(digest for one in folders for digest in _recorded_digests(one))}
        models = _models_of(connection, needed)
        others = {one: number for one, number in others.items() if _may_share(connection, one, models)}
        for folder in others:
            needed.difference_update(_recorded_digests(folder))
        needed.difference_update(
            _digests_asked_by(connection, [number for number in others.values() if number is not None])
        )
        return UnneededReplies(store, frozenset(needed), runs, asked - needed)


def delete_replies(found: UnneededReplies) -> int:
    """Delete replies, in batches, and that the runs used the store; returns their number. Pages that are left without
    a reply are cut off the file (`compaction`); drawn pictures stay. Raises StorageError."""
    with closing(connect(found.store)) as connection, _errors(f"cannot delete replies of {found.store}"):
        deleted = _change(connection, "DELETE FROM responses WHERE digest = ?", found.digests)
        if not found.reason:
            _change(connection, "UPDATE responses SET run = NULL WHERE digest = ?", found.shared)
            for number in found.runs:
                connection.execute("DELETE FROM runs WHERE id = ?", (number,))
        cut_unused_pages(connection)
        return deleted


def _change(connection: sqlite3.Connection, statement: str, digests: Collection[bytes]) -> int:
    """Execute a statement for each reply, in batches and in the order of the file; returns the number of changes."""
    before, rows = connection.total_changes, [(digest,) for digest in sorted(digests)]
    for start in range(0, len(rows), _BATCH):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(statement, rows[start : start + _BATCH])
        connection.execute("COMMIT")
    return connection.total_changes - before


def _recorded_digests(folder: Path) -> Iterator[bytes]:
    """The digests of the replies that a run has recorded."""
    if _has_run(folder):
        for line in open_run(folder).read_as(_Requests):
            yield from map(bytes.fromhex, line.requests)


def _digests_asked_by(connection: sqlite3.Connection, numbers: Collection[int], schema: str = "") -> Iterator[bytes]:
    """The digests of the replies that runs, by their numbers, had asked for. Reads the entire store once."""
    if numbers:
        chosen = ", ".join(map(str, numbers))
        rows = connection.execute(f"SELECT digest FROM {schema}responses WHERE run IN ({chosen})")
        yield from (digest for (digest,) in rows)


def _fill_wanted(connection: sqlite3.Connection, digests: Iterable[Iterable[bytes]]) -> None:
    connection.execute("CREATE TEMP TABLE wanted (digest BLOB PRIMARY KEY) WITHOUT ROWID")
    rows = ((digest,) for some in digests for digest in some)
    connection.execute("BEGIN")
    connection.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", rows)
    connection.execute("COMMIT")


def _folders_by_number(connection: sqlite3.Connection, store: Path, schema: str = "") -> dict[int, Path]:
    """The folders of the runs that used a store, by number; where they are now, if they were moved with it."""
    found = {}
    for number, name in connection.execute(f"SELECT id, folder FROM {schema}runs"):
        folder, beside = Path(name), store.parent / Path(name).name
        found[number] = (beside if not _has_run(folder) and _has_run(beside) else folder).resolve()
    return found


def _numbers(connection: sqlite3.Connection, store: Path, folders: Iterable[Path], schema: str = "") -> dict[Path, int]:
    """The numbers of runs in a store, by their folders as named."""
    numbers = {folder: number for number, folder in _folders_by_number(connection, store, schema).items()}
    return {folder: numbers[folder.resolve()] for folder in folders if folder.resolve() in numbers}


def _sibling_runs(store: Path) -> list[Path]:
    return [file.parent.resolve() for file in store.parent.glob(RUN_FILES)]


def _has_run(folder: Path) -> bool:
    try:
        return (folder / RUN_FILE).is_file()
    except OSError:
        # Closed to this user, so not gone.
        return True


def _models_of(connection: sqlite3.Connection, digests: Iterable[bytes]) -> set[str]:
    """The digests of the models that gave some replies."""
    _fill_wanted(connection, [digests])
    rows = connection.execute(
        "SELECT digest FROM models WHERE id IN (SELECT DISTINCT model FROM responses JOIN wanted USING (digest))"
    )
    return {digest for (digest,) in rows}


def _may_share(connection: sqlite3.Connection, folder: Path, models: set[str]) -> bool:
    """Whether a run may need replies of these models: it asked one of them, or what it asked is not certain."""
    info: RunInfo = open_run(folder).info
    asked = _asked_models(info)
    known = connection.execute("SELECT count(*) FROM models WHERE digest = ?", (asked[0],)).fetchone()[0]
    return not known or not models.isdisjoint(asked)


def _asked_models(info: RunInfo) -> list[str]:
    """The digests of a run's models, the main one first."""
    return [identity.digest() for identity in (info.config.identity, *info.config.roles.values())]


@contextmanager
def _reading(store: Path) -> Iterator[sqlite3.Connection]:
    file = readable_file(store)
    with (
        _errors(f"cannot read the response store {store}"),
        closing(sqlite3.connect(file, isolation_level=None, uri=True)) as connection,
    ):
        yield connection


@contextmanager
def _errors(what: str) -> Iterator[None]:
    """Turns errors of SQLite, and of lines that are no records, into a StorageError."""
    try:
        yield
    except (sqlite3.Error, msgspec.DecodeError, ValueError) as error:
        raise StorageError(f"{what}: {error}; the runs are unchanged") from error


def group_by_store(folders: Sequence[Path]) -> dict[Path, list[Path]]:
    """The runs that have a store beside them, by store."""
    groups: dict[Path, list[Path]] = {}
    for folder in folders:
        store = store_of(folder)
        if store is not None:
            groups.setdefault(store, []).append(folder)
    return groups
