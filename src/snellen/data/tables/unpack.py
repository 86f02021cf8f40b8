"""Unpack files once into the cache: gzip, and JSON documents as JSON Lines."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from snellen.core.atomic_write import atomic_file, modification_stamp
from snellen.core.errors import DataError, StorageError
from snellen.core.limits import DEFAULT_LIMITS, GB, MB, Limits, check_ratio, raising_advice

_BLOCK_SIZE = MB
_CHECK_INTERVAL = 64 * MB
"""Bytes after which the free space is checked again."""
_MIN_FREE = 256 * MB
"""Bytes that unpacking leaves free on the disk."""
FREE_SPACE = _MIN_FREE + _CHECK_INTERVAL
"""Bytes that must be free before more is unpacked."""


def unpacked_file(path: Path, cache: Path, limits: Limits = DEFAULT_LIMITS) -> Path:
    """`path` itself, or for `.gz` its content as a file in the cache.

    Raises DataError if the gzip stream is damaged or over the limits, StorageError if the cache is
    not writable or its disk too small.
    """
    if path.suffix.lower() != ".gz":
        return path

    def write(file: BinaryIO) -> None:
        try:
            with gzip.open(path) as packed:
                _copy_checked(packed, file, path, cache, limits)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{path} cannot be unpacked: {error}; the file may be cut short, fetch it again") from error

    return unpack_once(path, cache, path.stem, write)


def remove_unpacked_copy(plain: Path, path: Path) -> None:
    """Delete `plain` if it is the unpacked copy of `path`, which turned out to be unusable."""
    if plain != path:
        shutil.rmtree(plain.parent, ignore_errors=True)


def _copy_checked(packed: gzip.GzipFile, file: BinaryIO, path: Path, cache: Path, limits: Limits) -> None:
    size, written, next_check = path.stat().st_size, 0, 0
    while block := packed.read(_BLOCK_SIZE):
        written += len(block)
        if written > limits.unpacked_gb * GB:
            raise DataError(f"{path} holds more than {limits.unpacked_gb} GB; {raising_advice('unpacked_gb')}")
        check_ratio(written, size, limits, str(path))
        if written > next_check:
            check_free_space(cache, path)
            next_check = written + _CHECK_INTERVAL
        file.write(block)


def check_free_space(cache: Path, path: Path) -> None:
    """Raises StorageError if the cache's disk is so full that other programs would suffer."""
    free = shutil.disk_usage(cache).free
    if free < FREE_SPACE:
        raise StorageError(
            f"{path} cannot be unpacked: {cache} has {free / 1e9:.1f} GB free; make room, or set "
            "SNELLEN_CACHE to a folder on another disk"
        )


def unpack_once(path: Path, cache: Path, name: str, write: Callable[[BinaryIO], None]) -> Path:
    """The cached file `name`, written by `write`, once for each state of `path`.

    Raises what `write` raises, and StorageError.
    """
    stat = path.stat()
    facts = f"{path.absolute()}\0{stat.st_size}\0{modification_stamp(stat)}"
    target = cache / "unpacked" / hashlib.sha256(facts.encode()).hexdigest()[:32] / name
    if not target.exists():
        _write_once(target, write)
    return target


def _write_once(target: Path, write: Callable[[BinaryIO], None]) -> None:
    """Write `target` under a lock; other processes wait and use the file of the first."""
    from filelock import FileLock

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if target.exists():
                return
            with atomic_file(target, sync=True) as part, part.open("wb") as file:
                write(file)
    except OSError as error:
        raise StorageError(
            f"cannot write {target}: {error.strerror or error}; "
            "make room, or set SNELLEN_CACHE to a folder that can be written"
        ) from error
