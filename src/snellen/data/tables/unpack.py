"""Files that are unpacked once into the cache: gzip, and JSON documents as one record a line."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from snellen.core.atomic_write import changed_ns, whole_file
from snellen.core.errors import DataError, StorageError
from snellen.core.limits import DEFAULT, GB, MB, Limits, check_ratio, raise_it

_BLOCK = MB
_LOOK = 64 * MB
"""Bytes after which the free space is looked at again."""
_LEFT_FREE = 256 * MB
"""Bytes that unpacking leaves free on the disk."""


def plain_file(path: Path, cache: Path, limits: Limits = DEFAULT) -> Path:
    """`path` itself, or for `.gz` its content as a file in the cache.

    Raises DataError if the gzip stream is damaged or holds too much, StorageError if the cache is
    not writable or its disk too small.
    """
    if path.suffix.lower() != ".gz":
        return path

    def write(file: BinaryIO) -> None:
        try:
            with gzip.open(path) as packed:
                _copy(packed, file, path, cache, limits)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(
                f"{path} cannot be unpacked: {error}; the file may be cut short, fetch it again"
            ) from error

    return unpacked(path, cache, path.stem, write)


def remove_unpacked(plain: Path, path: Path) -> None:
    """Give back the space of `plain`, where it was made from `path` and turned out to be of no
    use."""
    if plain != path:
        shutil.rmtree(plain.parent, ignore_errors=True)


def _copy(packed: gzip.GzipFile, file: BinaryIO, path: Path, cache: Path, limits: Limits) -> None:
    size, held, look_at = path.stat().st_size, 0, 0
    while block := packed.read(_BLOCK):
        held += len(block)
        if held > limits.unpacked_gb * GB:
            raise DataError(
                f"{path} holds more than {limits.unpacked_gb} GB; {raise_it('unpacked_gb')}"
            )
        check_ratio(held, size, limits, str(path))
        if held > look_at:
            check_free(cache, path)
            look_at = held + _LOOK
        file.write(block)


def check_free(cache: Path, path: Path) -> None:
    """Raises StorageError where unpacking `path` has filled the disk of the cache so far that
    other programs would suffer."""
    free = shutil.disk_usage(cache).free
    if free < _LEFT_FREE + _LOOK:
        raise StorageError(
            f"{path} cannot be unpacked: {cache} has {free / 1e9:.1f} GB free; make room, or set "
            "SNELLEN_CACHE to a folder on another disk"
        )


def unpacked(path: Path, cache: Path, name: str, write: Callable[[BinaryIO], None]) -> Path:
    """The cached file `name` made from `path` by `write`, once per state of `path`.

    Raises what `write` raises, and StorageError.
    """
    stat = path.stat()
    facts = f"{path.absolute()}\0{stat.st_size}\0{changed_ns(stat)}"
    target = cache / "unpacked" / hashlib.sha256(facts.encode()).hexdigest()[:32] / name
    if not target.exists():
        _write_once(target, write)
    return target


def _write_once(target: Path, write: Callable[[BinaryIO], None]) -> None:
    """Other processes wait, and take the file of the one that was first."""
    from filelock import FileLock

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if target.exists():
                return
            with whole_file(target, synced=True) as part, part.open("wb") as file:
                write(file)
    except OSError as error:
        raise StorageError(
            f"cannot write {target}: {error.strerror or error}; "
            "make room, or set SNELLEN_CACHE to a folder that can be written"
        ) from error
