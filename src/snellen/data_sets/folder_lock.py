"""Lock a folder that one process at a time may write, and set one aside."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from snellen.core.errors import RunLocked, StorageError

LOCK_FILE = ".lock"


def lock_folder(folder: Path, in_use: str) -> FileLock:
    """Make a folder if need be, and lock it until `release`.

    Raises RunLocked with the sentence `in_use` if another process holds the lock, and StorageError
    if the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK_FILE)
        lock.acquire(timeout=0)
    except Timeout:
        raise RunLocked(in_use) from None
    except OSError as error:
        raise StorageError(f"cannot write to {folder}: {error.strerror or error}") from error
    return lock


def set_aside(folder: Path) -> Path:
    """Rename a folder to the first free name of `FOLDER.before-1`, ...; returns it. Raises
    StorageError."""
    number = 1
    while (target := folder.with_name(f"{folder.name}.before-{number}")).exists():
        number += 1
    try:
        return folder.rename(target)
    except OSError as error:
        raise StorageError(f"cannot rename {folder}: {error.strerror or error}") from error
