"""Restoring a backup into a database and a storage of any kind."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

from snellen.core.atomic_write import save
from snellen.core.errors import DataError, StorageError, UsageError
from snellen_hub.backup.archive import CONFIG, FILES, TABLES, BackupReader
from snellen_hub.backup.rows import continue_numbers, count_rows, load_rows, read_tables_of
from snellen_hub.config import CONFIG_FILE, DATABASE_VARIABLE, STORAGE_VARIABLE, parse_config
from snellen_hub.database.connection import Database
from snellen_hub.database.schema import SCHEMA, check_known
from snellen_hub.hub import Hub, connect_hub, open_hub
from snellen_hub.storage import KEY_VARIABLE, PROBE_KEY, SEALED, Storage

_LINES = ".jsonl"
_KEY = 64
"""Characters of a key before its suffixes: those of an unfinished file begin alike."""


class RestoredHub(NamedTuple):
    """What was restored."""

    hub: Hub
    rows: dict[str, int]
    files: int
    missing: tuple[str, ...]
    is_key_checked: bool
    """Whether `SNELLEN_HUB_KEY` was seen to open a sealed file."""


def restore_backup(source: Path, folder: Path) -> RestoredHub:
    """Restore a backup into the hub of a folder. The caller closes the hub.

    Database and storage are those that the folder's `hub.toml` or the environment names, by default
    a SQLite file and a folder. The backup is read once completely before anything is written; files
    are written before rows, which appear all at once: after an interruption the same command goes
    on. Raises DataError for a damaged backup, UsageError for a place that holds something else,
    StorageError.
    """
    reader = BackupReader(source)
    try:
        check_known(reader.header.schema, f"{source}, of Snellen {reader.header.snellen},")
        reader.check()
        return _restore(reader, folder)
    finally:
        reader.close()


def _restore(reader: BackupReader, folder: Path) -> RestoredHub:
    hub, config = _open_target(reader, folder)
    try:
        _refuse_other_rows(hub.database)
        _refuse_other_files(hub.storage, reader)
        is_key_checked = _restore_files(reader, hub.storage)
        rows = _restore_rows(reader, hub.database)
        if config is not None:
            # Last: it is what makes a folder a hub.
            save(folder / CONFIG_FILE, config)
    except BaseException:
        hub.close()
        raise
    files = len(reader.names(FILES))
    return RestoredHub(hub, rows, files, reader.manifest.missing, is_key_checked)


def _open_target(reader: BackupReader, folder: Path) -> tuple[Hub, str | None]:
    """The hub to write to, and the `hub.toml` that it is to have: None if it has one."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder} cannot be written: {error.strerror or error}") from error
    if (folder / CONFIG_FILE).exists():
        return open_hub(folder, check=False), None
    text = b"".join(reader.chunks(CONFIG)).decode()
    return connect_hub(folder, parse_config(text, folder)), text


def _refuse_other_rows(database: Database) -> None:
    """Raises UsageError if the database holds a hub."""
    if database.schema() is not None:
        raise UsageError(
            "the database of this hub is not empty, and a backup is restored into an empty one; "
            f"name it in {CONFIG_FILE} or {DATABASE_VARIABLE}"
        )


def _refuse_other_files(storage: Storage, reader: BackupReader) -> None:
    """Raises UsageError if the storage holds files that the backup does not."""
    own = {key[:_KEY] for key in (*reader.names(FILES), PROBE_KEY)}
    files = storage.list_files()
    other = next((file.key for file in files if file.key[:_KEY] not in own), None)
    if other is not None:
        raise UsageError(
            f"the storage of this hub holds other files, such as {other}; a backup is restored "
            f"into an empty one: name it in {CONFIG_FILE} or {STORAGE_VARIABLE}"
        )


def _restore_files(reader: BackupReader, storage: Storage) -> bool:
    """Write the files that are not there yet; returns whether a sealed one could be opened.

    Raises UsageError if the key of this environment does not open them.
    """
    storage.check()
    sealed = None
    for key in reader.names(FILES):
        sealed = key if key.endswith(SEALED) else sealed
        member = reader.manifest.members[FILES + key]
        there = storage.describe(key)
        if there is not None and there.size == member.size:
            continue
        with tempfile.NamedTemporaryFile(prefix="snellen-restore-") as part:
            for chunk in reader.chunks(FILES + key):
                part.write(chunk)
            part.flush()
            storage.put_stored(key, Path(part.name))
        if (written := storage.describe(key)) is None or written.size != member.size:
            raise StorageError(f"the storage did not keep {key} as it was written")
    if sealed is None or not storage.has_key:
        return sealed is None
    try:
        storage.get(sealed)
    except StorageError as error:
        raise UsageError(
            f"{KEY_VARIABLE} is not the key of the hub that was backed up: hidden answers could "
            "not be read; set that key, or none to restore without this check"
        ) from error
    return True


def _restore_rows(reader: BackupReader, database: Database) -> dict[str, int]:
    """Write all rows into tables of this code's schema, in one transaction."""
    rows: dict[str, int] = {}
    with database.rebuilding() as connection:
        database.upgrade_within(connection)
        tables = {table.name: table for table in read_tables_of(connection)}
        names = {name.removesuffix(_LINES) for name in reader.names(TABLES)}
        # An earlier schema has fewer tables and columns; what is new begins empty.
        if names - set(tables) or (reader.header.schema == SCHEMA and names != set(tables)):
            raise DataError(
                f"the backup has other tables than the schema {reader.header.schema}: "
                f"{', '.join(sorted(names ^ set(tables)))}"
            )
        for name, table in tables.items():
            if name not in names:
                continue
            load_rows(connection, table, reader.lines(f"{TABLES}{name}{_LINES}"))
            rows[name] = count_rows(connection, table)
            if rows[name] != reader.manifest.rows[name]:
                raise DataError(
                    f"the table {name} has {rows[name]:,} rows; {reader.manifest.rows[name]:,} were backed up"
                )
            continue_numbers(connection, table)
    return rows
