"""Hashes of large files, cached by path, size and times of change."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from pathlib import Path

from snellen.core.atomic_write import atomic_file, modification_stamp
from snellen.core.errors import UsageError
from snellen.settings import Settings

_MIN_CACHED_BYTES = 32 * 2**20
"""Bytes from which a hash is cached; smaller files are hashed again (under 0.1 s)."""


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex. Raises UsageError if it cannot be read."""
    try:
        stat = path.stat()
        if stat.st_size < _MIN_CACHED_BYTES:
            return _hash(path)
        key = f"{path.resolve()}\0{stat.st_size}\0{modification_stamp(stat)}"
        cache_file = Settings.from_environment().cache / "file-hashes" / hashlib.sha256(key.encode()).hexdigest()
        with contextlib.suppress(OSError):
            return cache_file.read_text(encoding="ascii")
        digest = _hash(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, no answers
        cache_file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(cache_file) as part:
            part.write_text(digest, encoding="ascii")
    return digest


def files_digest(folder: Path, paths: Iterable[Path]) -> str:
    """SHA-256 (hex) over the names and contents of files in a folder, in the order of their paths.
    Raises UsageError if one cannot be read."""
    digest = hashlib.sha256()
    for path in sorted(set(paths)):
        if path.is_file():
            digest.update(f"{path.relative_to(folder).as_posix()}\0{file_digest(path)}\n".encode())
    return digest.hexdigest()


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
