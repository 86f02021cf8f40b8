"""Files that appear under their name once they are complete, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from snellen.core.errors import storage_errors


def modification_stamp(stat: os.stat_result) -> str:
    """Stamp that differs whenever a file was changed or replaced: mtime and ctime, in ns.

    The mtime alone does not suffice: copies and archives restore an older one. The ctime cannot be
    set by a program.
    """
    return f"{stat.st_mtime_ns} {stat.st_ctime_ns}"


@contextmanager
def atomic_file(target: Path, *, sync: bool = False) -> Iterator[Path]:
    """Context with a temporary path in the same folder, renamed to `target` if the block succeeds.

    If it fails, the temporary file is deleted. `sync` flushes the content to disk first, for files
    that are trusted by their name alone. If `target` is a link, the file behind it is replaced; a
    device or pipe is written directly. The folder must exist. Raises OSError.
    """
    if target.exists() and not target.is_file():
        yield target
        return
    target = target.resolve()
    part = target.with_name(f"{target.name}.{threading.get_native_id()}.part")
    part.unlink(missing_ok=True)  # left by a killed process of the same id
    try:
        yield part
        if sync:
            with part.open("rb") as file:
                os.fsync(file.fileno())
        part.replace(target)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Context with a temporary folder beside `target`, renamed to it if the block succeeds, unless another process has
    put the same folder there first. The folder around it is made. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=target.parent, prefix="."))
    try:
        yield unfinished
        try:
            unfinished.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def save(target: Path, content: bytes | str) -> None:
    """Write a file atomically, text as UTF-8. Raises StorageError."""
    data = content.encode() if isinstance(content, str) else content
    with storage_errors("write", target), atomic_file(target) as part:
        part.write_bytes(data)


def save_json_lines(target: Path, values: Iterable[object], *, sort_keys: bool = False) -> int:
    """Write a JSON value a line, atomically; returns the number of lines. Raises StorageError, and
    whatever `values` raise."""
    encode = msgspec.json.Encoder(order="deterministic" if sort_keys else None).encode
    count = 0
    with storage_errors("write", target):
        target.absolute().parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as part, part.open("wb") as file:
            for value in values:
                file.write(encode(value) + b"\n")
                count += 1
    return count
