"""Files that are unpacked once into the cache: gzip, and JSON documents as one record a line."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from snellen.core.errors import DataError, StorageError
from snellen.core.whole_files import changed_ns, whole_file


def plain_file(path: Path, cache: Path) -> Path:
    """`path` itself, or for `.gz` its content as a file in the cache.

    Raises DataError if the gzip stream is damaged, StorageError if the cache is not writable.
    """
    if path.suffix.lower() != ".gz":
        return path

    def write(file: BinaryIO) -> None:
        try:
            with gzip.open(path) as packed:
                shutil.copyfileobj(packed, file, 1 << 20)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(
                f"{path} cannot be unpacked: {error}; the file may be cut short, fetch it again"
            ) from error

    return unpacked(path, cache, path.stem, write)


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
