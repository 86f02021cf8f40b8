"""Hashes of large files, remembered by path, size and times of change."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from snellen.core.atomic_write import changed_ns, whole_file
from snellen.core.errors import UsageError
from snellen.settings import Settings

_REMEMBERED_FROM = 32 * 2**20
"""Bytes from which a hash is remembered; smaller files are read again (under 0.1 s)."""


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex. Raises UsageError when it cannot be read."""
    try:
        stat = path.stat()
        if stat.st_size < _REMEMBERED_FROM:
            return _hash(path)
        key = f"{path.resolve()}\0{stat.st_size}\0{changed_ns(stat)}"
        note = Settings.from_environment().cache / "file-hashes" / _name(key)
        with contextlib.suppress(OSError):
            return note.read_text(encoding="ascii")
        digest = _hash(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, no answers
        note.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(note) as part:
            part.write_text(digest, encoding="ascii")
    return digest


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _name(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
