"""Temporary folders with data and answers in clear, while a worker scores with them or a command
reads them.

A process holds a lock on its folder, which the kernel gives up with the process: so a folder that
nobody holds was left by a process that was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "snellen-clear-"
_WITHOUT_LOCK = "new-"
"""Before the name of a folder until it has its lock, so that nobody takes it for a left one."""


@contextlib.contextmanager
def clear_copy_folder() -> Iterator[Path]:
    """A folder that only this user can read, and that is deleted afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=_WITHOUT_LOCK + _PREFIX))
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = folder.rename(folder.with_name(folder.name.removeprefix(_WITHOUT_LOCK)))
        yield folder
    finally:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)
        os.close(lock)


def left_copies() -> list[Path]:
    """Folders whose process was killed."""
    return [path for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*") if _is_left(path)]


def _is_left(path: Path) -> bool:
    try:
        if path.stat().st_uid != os.getuid():
            return False
        lock = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True
