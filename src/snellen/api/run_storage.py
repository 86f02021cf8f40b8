"""Delete, copy and move stored runs with the replies that they need."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from snellen.core.errors import UsageError, storage_errors
from snellen.store.responses import STORE_FILE
from snellen.store.run_catalog_file import RunCatalogFile
from snellen.store.run_replies import UnneededReplies, copy_replies, delete_replies, find_unneeded, group_by_store
from snellen.store.runs import LOCK_FILE, RUN_FILE, SAMPLES_FILE, SPENT_FILE, RunWriter

QUIET_SECONDS = 600.0
"""A run whose files were written less long ago counts as running even if its lock is free: a shared file system may
have no working locks."""


def is_going_on(folder: Path) -> bool:
    """Whether a process is writing a run that has the status `running`."""
    written = 0.0
    for name in (RUN_FILE, SAMPLES_FILE, SPENT_FILE):
        with suppress(OSError):
            written = max(written, (folder / name).stat().st_mtime)
    if time.time() - written < QUIET_SECONDS:
        return True
    if not (folder / LOCK_FILE).exists():
        return False
    lock = FileLock(folder / LOCK_FILE)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:
        return False
    lock.release()
    return False


class DeletedRuns(NamedTuple):
    """How many replies were deleted with runs, and why others were not."""

    replies: int
    reasons: tuple[str, ...]


def delete_runs(folders: Sequence[Path], gone: Sequence[tuple[Path, Path]] = ()) -> DeletedRuns:
    """Delete runs, and the replies in the stores beside them that no other run needs. `gone` are folders that were
    deleted before, each with its store. Raises RunLocked for a run that a process is writing, StorageError."""
    groups = group_by_store(folders)
    for folder, store in gone:
        groups.setdefault(store, []).append(folder)
    # What the runs need is read while they are there.
    unneeded = [find_unneeded(store, members) for store, members in groups.items()]
    for folder in folders:
        _delete_folder(folder)
    RunCatalogFile().forget(str(folder.resolve()) for folder in folders)
    return _delete_replies(unneeded)


def _delete_folder(folder: Path) -> None:
    with RunWriter(folder), storage_errors("delete", folder):
        # Under another name first: a kill leaves no half of a run.
        hidden = folder.with_name(f".deleted-{folder.name}")
        shutil.rmtree(hidden, ignore_errors=True)
        folder.rename(hidden)
    with storage_errors("delete", hidden):
        shutil.rmtree(hidden)


def _delete_replies(unneeded: Sequence[UnneededReplies]) -> DeletedRuns:
    deleted = sum(delete_replies(found) for found in unneeded)
    return DeletedRuns(
        deleted, tuple(f"the replies in {one.store} stay: {one.reason}" for one in unneeded if one.reason)
    )


def copy_runs(folders: Sequence[Path], out: Path) -> int:
    """Copy runs into a folder, and their replies into the store there; returns the number of replies that it did
    not have. Raises UsageError if a run of the name is there, StorageError."""
    _check_free(folders, out)
    replies = _copy_replies(folders, out)
    for folder in folders:
        _copy_folder(folder, out / folder.name)
    return replies


def move_runs(folders: Sequence[Path], out: Path) -> DeletedRuns:
    """Move runs and their replies into a folder; replies that other runs need are in both stores. Raises like
    `copy_runs` and `delete_runs`."""
    _check_free(folders, out)
    _copy_replies(folders, out)
    unneeded = [find_unneeded(store, members) for store, members in group_by_store(folders).items()]
    for folder in folders:
        with RunWriter(folder):
            try:
                folder.rename(out / folder.name)
                continue
            except OSError:
                # On another file system.
                _copy_folder(folder, out / folder.name)
        _delete_folder(folder)
    RunCatalogFile().forget(str(folder.resolve()) for folder in folders)
    return _delete_replies(unneeded)


def _check_free(folders: Sequence[Path], out: Path) -> None:
    names: set[str] = set()
    for folder in folders:
        if folder.name in names or (out / folder.name).exists():
            raise UsageError(f"{out} has a run {folder.name}, or two would come there; name another folder")
        names.add(folder.name)


def _copy_replies(folders: Sequence[Path], out: Path) -> int:
    with storage_errors("write to", out):
        out.mkdir(parents=True, exist_ok=True)
    targets = {folder: out.resolve() / folder.name for folder in folders}
    groups = group_by_store(folders).items()
    return sum(
        copy_replies(store, out / STORE_FILE, {one: targets[one] for one in members}) for store, members in groups
    )


def _copy_folder(folder: Path, target: Path) -> None:
    part = target.with_name(f".{target.name}.part")
    with storage_errors("copy", folder):
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(folder, part, ignore=shutil.ignore_patterns(LOCK_FILE))
        part.rename(target)
