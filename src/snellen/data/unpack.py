"""Files that are unpacked once into the cache: gzip, and JSON documents as one record a line."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from snellen.core.errors import DataError, StorageError


def plain_file(path: Path, cache: Path) -> Path:
    """`path` itself, or for `.gz` its content as a file in the cache.

    Raises DataError if the gzip stream is damaged, StorageError if the cache is not writable.
    """
    if path.suffix.lower() != ".gz":
        return path

    def write(part: BinaryIO) -> None:
        try:
            with gzip.open(path) as packed:
                shutil.copyfileobj(packed, part, 1 << 20)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(
                f"{path} cannot be unpacked: {error}; the file may be cut short, fetch it again"
            ) from error

    return unpacked(path, cache, path.stem, write)


def unpacked(path: Path, cache: Path, name: str, write: Callable[[BinaryIO], None]) -> Path:
    """The cached file `name` made from `path` by `write`, once per state of `path`."""
    stat = path.stat()
    facts = f"{path.absolute()}\0{stat.st_size}\0{stat.st_mtime_ns}"
    target = cache / "unpacked" / hashlib.sha256(facts.encode()).hexdigest()[:32] / name
    if not target.exists():
        with writing(target) as part:
            if part is not None:
                write(part)
    return target


@contextmanager
def writing(target: Path) -> Iterator[BinaryIO | None]:
    """A file that appears under its name only when it is whole.

    Other processes wait; yields None if one of them made it in the meantime.
    Raises StorageError.
    """
    from filelock import FileLock

    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if target.exists():
                yield None
                return
            with part.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
    except OSError as error:
        raise StorageError(
            f"cannot write {target}: {error.strerror or error}; "
            "make room, or set SNELLEN_CACHE to a folder that can be written"
        ) from error
    finally:
        part.unlink(missing_ok=True)
