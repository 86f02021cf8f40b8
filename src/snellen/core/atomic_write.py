"""Files that appear under their name when they are whole, or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from snellen.core.errors import StorageError


def modification_stamp(stat: os.stat_result) -> str:
    """When a file was written, and when it was put in its place, both in ns. The time of writing
    can be set to that of the file before, as copies and archives do, or to one in the future; the
    time of the entry cannot."""
    return f"{stat.st_mtime_ns} {stat.st_ctime_ns}"


@contextmanager
def atomic_file(target: Path, *, sync: bool = False) -> Iterator[Path]:
    """A path beside `target` to write to. It takes the place of `target` when the block ends
    without an error, and is gone otherwise.

    `sync` waits until the content is on the disk, for a file that is trusted by its name alone.
    A link stays and its target is replaced; a device or pipe is written straight. The folder must
    be there. Raises OSError.
    """
    if target.exists() and not target.is_file():
        yield target
        return
    target = target.resolve()
    part = target.with_name(f"{target.name}.{threading.get_native_id()}.part")
    part.unlink(missing_ok=True)  # of a process that was killed and had the same number
    try:
        yield part
        if sync:
            with part.open("rb") as file:
                os.fsync(file.fileno())
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def save(target: Path, content: bytes | str) -> None:
    """Write a whole file, text as UTF-8. Raises StorageError."""
    data = content.encode() if isinstance(content, str) else content
    try:
        with atomic_file(target) as part:
            part.write_bytes(data)
    except OSError as error:
        raise StorageError(f"cannot write {target}: {error.strerror or error}") from error
