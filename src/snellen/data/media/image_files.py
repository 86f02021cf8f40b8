"""Images in separate files: where they are searched, and a cache of their hashes."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from snellen.core.atomic_write import modification_stamp
from snellen.core.limits import DEFAULT_LIMITS, MB, Limits, raising_advice
from snellen.core.media import FileSource
from snellen.core.sample import MediaRef
from snellen.data.media.sources import broken_medium

Algorithm = Literal["sha256", "md5"]

_CREATE_TABLE = (
    "CREATE TABLE IF NOT EXISTS files (path TEXT, algorithm TEXT, size INTEGER, mtime_ns TEXT, "
    "digest TEXT, PRIMARY KEY (path, algorithm)) WITHOUT ROWID"
)
_BATCH = 256


class FileDigests(AbstractContextManager["FileDigests"]):
    """Hashes of files, cached by path, size and modification time.

    If the cache cannot be written, hashes are computed again.
    """

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._connection: sqlite3.Connection | None = None
        self._opened = False
        self._new: list[tuple[str, str, int, str, str]] = []

    def __exit__(self, *error: object) -> None:
        if self._connection:
            self._save()
            self._connection.close()

    def digest(self, path: Path, algorithm: Algorithm = "sha256") -> str:
        """The file's hash in hex. Raises OSError if the file cannot be read."""
        stat = path.stat()
        facts = (str(path.absolute()), algorithm, stat.st_size, modification_stamp(stat))
        cached = self._cached_digest(facts)
        if cached:
            return cached
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, algorithm).hexdigest()
        self._new.append((*facts, digest))
        if len(self._new) >= _BATCH:
            self._save()
        return digest

    def _cached_digest(self, facts: tuple[str, str, int, str]) -> str | None:
        connection = self._open()
        if connection is None:
            return None
        try:
            row = connection.execute(
                "SELECT digest FROM files WHERE path = ? AND algorithm = ? AND size = ? AND mtime_ns = ?", facts
            ).fetchone()
        except sqlite3.DatabaseError:
            return None
        return row[0] if row else None

    def _open(self) -> sqlite3.Connection | None:
        if not self._opened:
            self._opened = True
            try:
                self._cache.mkdir(parents=True, exist_ok=True)
                # Rows may be read by another thread than the one that began the iteration.
                self._connection = sqlite3.connect(self._cache / "files.sqlite", timeout=30, check_same_thread=False)
                self._connection.execute(_CREATE_TABLE)
            except (OSError, sqlite3.DatabaseError):
                self._connection = None
        return self._connection

    def _save(self) -> None:
        if self._connection and self._new:
            try:
                with self._connection:
                    self._connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", self._new)
            except sqlite3.DatabaseError:
                pass  # Only the cache is lost; the digests returned are right.
        self._new.clear()


@dataclass(frozen=True, slots=True)
class MediaFolders:
    """Folders in which the files that a table names are searched, and folders that it may name."""

    search_folders: tuple[str, ...]
    """Searched in this order."""
    allowed: tuple[str, ...] | None = None
    """Folders outside of which no file is read, not even by an absolute path or `..`; None, for
    the user's own tables, allows any file."""
    picture_mb: int = DEFAULT_LIMITS.picture_mb

    def with_folder(self, folder: str) -> MediaFolders:
        """The same with one more folder, searched last."""
        allowed = None if self.allowed is None else (*self.allowed, os.path.normpath(folder))
        return replace(self, search_folders=(*self.search_folders, folder), allowed=allowed)

    def problem(self, path: Path) -> str | None:
        """Why a file must not be read, or None."""
        if self.allowed is None:
            return None
        normalised = Path(os.path.normpath(path.absolute()))
        if any(normalised.is_relative_to(folder) for folder in self.allowed):
            return None
        return (
            f"{path} is outside the folders in which this table may name files; put the file into "
            f"one of them ({', '.join(self.allowed)}), or allow its folder with "
            "SNELLEN_MEDIA_FOLDERS"
        )


def media_folders(
    search_folders: tuple[str, ...], user_folders: tuple[Path, ...] | None, limits: Limits, *, fetched: bool
) -> MediaFolders:
    """The folders of a table.

    A `fetched` table may name no file outside of `search_folders` and `user_folders`. Nor may any
    table if the user names folders (`user_folders` is not None).
    """
    allowed = None
    if fetched or user_folders is not None:
        allowed = tuple(map(os.path.normpath, (*search_folders, *map(str, user_folders or ()))))
    return MediaFolders(search_folders, allowed, limits.picture_mb)


def is_file(path: Path) -> bool:
    """Whether the path is a file; False for impossible names, for which `Path.is_file` raises."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Whether the path is a folder; False for impossible names."""
    return os.path.isdir(path)  # noqa: PTH112


def locate_image(name: str, folders: MediaFolders, files: FileDigests, where: str) -> MediaRef:
    """The image file called `name` in the first folder that has it, else a source that raises
    MediaError. An absolute path of another machine is looked for by its last parts, of which at least
    one is a folder."""
    candidates = [Path(folder, name) for folder in folders.search_folders]
    parts = Path(name).parts
    tails = [Path(*parts[first:]) for first in range(1, len(parts) - 1)] if Path(name).is_absolute() else []
    for path in (*candidates, *(Path(folder, tail) for tail in tails for folder in folders.search_folders)):
        if not is_file(path):
            continue
        problem = folders.problem(path)
        try:
            if problem is None and path.stat().st_size > folders.picture_mb * MB:
                problem = f"{path} is longer than {folders.picture_mb} MB; {raising_advice('picture_mb')}"
            if problem is None:
                return MediaRef(files.digest(path), FileSource(str(path)))
        except OSError as error:
            problem = f"cannot read {path}: {error.strerror or error}"
        return broken_medium(name, f"{where}: {problem}")
    folder_names = ", ".join(dict.fromkeys(str(path.parent) for path in candidates))
    return broken_medium(name, f"{where}: there is no image file {name!r} (looked in {folder_names})")
