"""Backing a hub up while it runs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from snellen import __version__
from snellen.core.atomic_write import atomic_file
from snellen.core.errors import StorageError, UsageError
from snellen_hub.backup.archive import CONFIG, FILES, FORMAT, TABLES, BackupHeader, BackupWriter, Manifest
from snellen_hub.backup.rows import STORED_KEY, dump_rows, read_file_keys, read_tables_of
from snellen_hub.config import CONFIG_FILE, without_urls
from snellen_hub.database.schema import check_known
from snellen_hub.hub import Hub
from snellen_hub.moment_text import now

_CHUNK = 1 << 20


class WrittenBackup(NamedTuple):
    """A backup that was written."""

    schema: str
    manifest: Manifest
    size: int


def write_backup(hub: Hub, target: Path) -> WrittenBackup:
    """Back a hub up into a file, which appears once it is complete.

    The database is read as it is when this begins; what is submitted meanwhile is in the next
    backup. Files that are missing are named in the manifest. Raises UsageError if the file exists
    or the hub's schema is not known to this code, StorageError also if all files are missing.
    """
    if target.exists():
        raise UsageError(f"{target} exists already; name another file for the backup")
    schema = hub.database.schema()
    if schema is None:
        raise UsageError("the database of this hub is empty; there is nothing to back up")
    check_known(schema)
    kind = hub.database.engine.dialect.name
    header = BackupHeader(FORMAT, schema, __version__, kind, now())
    try:
        with atomic_file(target, sync=True) as part:
            # The file holds hashes of passwords.
            os.close(os.open(part, os.O_WRONLY | os.O_CREAT, 0o600))
            writer = BackupWriter(part, header)
            try:
                manifest = _write_parts(hub, writer)
            finally:
                writer.close()
        return WrittenBackup(schema, manifest, target.stat().st_size)
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}") from error


def _write_parts(hub: Hub, writer: BackupWriter) -> Manifest:
    writer.write(CONFIG, [without_urls((hub.folder / CONFIG_FILE).read_text()).encode()])
    rows: dict[str, int] = {}
    keys: set[str] = set()
    required: set[str] = set()
    with hub.database.snapshot() as connection:
        for table in read_tables_of(connection):
            count = _LineCount(keys)
            writer.write(f"{TABLES}{table.name}.jsonl", count.lines(dump_rows(connection, table)))
            # The first line names the columns.
            rows[table.name] = count.number - 1
            required |= read_file_keys(connection, table)
    # Files never change, so that those of the snapshot are still what they were.
    stored = {file.key for file in hub.storage.list_files()}
    if required and not required & stored:
        raise StorageError(
            f"the storage has none of the {len(required):,} files that this hub needs; is it the "
            "right one, and mounted?"
        )
    for key in sorted((keys | required) & stored):
        writer.write(FILES + key, _chunks(hub, key))
    return writer.finish(rows, sorted(required - stored))


class _LineCount:
    """Counts lines on their way, and notes the keys of the storage that they hold."""

    def __init__(self, keys: set[str]) -> None:
        self._keys = keys
        self.number = 0

    def lines(self, source: Iterator[bytes]) -> Iterator[bytes]:
        for line in source:
            self.number += 1
            self._keys.update(key.decode() for key in STORED_KEY.findall(line))
            yield line


def _chunks(hub: Hub, key: str) -> Iterator[bytes]:
    with hub.storage.open_stored(key) as file:
        while chunk := file.read(_CHUNK):
            yield chunk
