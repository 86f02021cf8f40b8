"""Pictures in files of their own: where they are looked for, and their hashes remembered."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal

from snellen.core.media import FileSource, digest_bytes
from snellen.core.sample import MediaRef
from snellen.core.whole_files import changed_ns
from snellen.data.sources import BrokenSource

Algorithm = Literal["sha256", "md5"]

_TABLE = (
    "CREATE TABLE IF NOT EXISTS files (path TEXT, algorithm TEXT, size INTEGER, mtime_ns INTEGER, "
    "digest TEXT, PRIMARY KEY (path, algorithm)) WITHOUT ROWID"
)
_BATCH = 256


class FileDigests:
    """Hashes of files, remembered in the cache by path, size and time of change.

    A cache that cannot be written only costs time: the hashes are made again.
    """

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._connection: sqlite3.Connection | None = None
        self._opened = False
        self._new: list[tuple[str, str, int, int, str]] = []

    def __enter__(self) -> FileDigests:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._save()
        if self._connection:
            self._connection.close()

    def digest(self, path: Path, algorithm: Algorithm = "sha256") -> str:
        """The file's hash in hex. Raises OSError if the file cannot be read."""
        stat = path.stat()
        facts = (str(path.absolute()), algorithm, stat.st_size, changed_ns(stat))
        known = self._known(facts)
        if known:
            return known
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, algorithm).hexdigest()
        self._new.append((*facts, digest))
        if len(self._new) >= _BATCH:
            self._save()
        return digest

    def _known(self, facts: tuple[str, str, int, int]) -> str | None:
        connection = self._open()
        if connection is None:
            return None
        try:
            found = connection.execute(
                "SELECT digest FROM files "
                "WHERE path = ? AND algorithm = ? AND size = ? AND mtime_ns = ?",
                facts,
            ).fetchone()
        except sqlite3.DatabaseError:
            return None
        return found[0] if found else None

    def _open(self) -> sqlite3.Connection | None:
        if not self._opened:
            self._opened = True
            try:
                self._cache.mkdir(parents=True, exist_ok=True)
                # Rows may be read by another thread than the one that began the iteration.
                self._connection = sqlite3.connect(
                    self._cache / "files.sqlite", timeout=30, check_same_thread=False
                )
                self._connection.execute(_TABLE)
            except (OSError, sqlite3.DatabaseError):
                self._connection = None
        return self._connection

    def _save(self) -> None:
        if self._connection and self._new:
            try:
                with self._connection:
                    self._connection.executemany(
                        "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", self._new
                    )
            except sqlite3.DatabaseError:
                pass  # Remembering is a convenience; the digests given out are right.
        self._new.clear()


def locate_picture(name: str, folders: Sequence[str], files: FileDigests, where: str) -> MediaRef:
    """The picture file called `name`, looked for in `folders` in order."""
    candidates = [Path(folder, name) for folder in folders]
    for path in candidates:
        if path.is_file():
            try:
                return MediaRef(files.digest(path), FileSource(str(path)))
            except OSError as error:
                problem = f"{where}: cannot read {path}: {error.strerror or error}"
                return MediaRef(digest_bytes(name.encode()), BrokenSource(problem))
    looked = ", ".join(dict.fromkeys(str(path.parent) for path in candidates))
    problem = f"{where}: there is no picture file {name!r} (looked in {looked})"
    return MediaRef(digest_bytes(name.encode()), BrokenSource(problem))
