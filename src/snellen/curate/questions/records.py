"""`pictures.jsonl` of a data set folder: all that is known of each picture that is done.

A line is written before its decisions, so that a picture is never half done: after a kill, pictures
with a line are not looked at again. The file is also one of extractions: `file:DIR/pictures.jsonl`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from snellen.core.errors import DataError, StorageError
from snellen.curate.decisions import Decision, Evidence
from snellen.curate.questions.extractors.recorded import RecordedFacts
from snellen.curate.questions.rules import WrittenQuestion

PICTURES_FILE = "pictures.jsonl"
_SYNC_EVERY = 64
"""Lines between two flushes to the disk: the end of the process loses none."""


class Draft(Struct, frozen=True, omit_defaults=True):
    """A question that passed every rule about itself."""

    id: str
    dimension: str
    """Name of the evaluation dimension."""
    pictures: tuple[str, ...]
    """Ids of the pictures that it shows, in order; one but for albums."""
    written: WrittenQuestion
    evidence: tuple[Evidence, ...] = ()
    """What models said on the way: the extraction, the writing, the checks."""
    doubts: dict[str, str] = {}
    """Checks that a model could not make, by rule: for a person to look at."""


class RestatedCaption(Struct, frozen=True):
    """A question with its options as captions, and the property that they are about."""

    aspect: str
    statement: str
    wrong: list[str]


class PictureRecord(RecordedFacts, frozen=True, omit_defaults=True, kw_only=True):
    """A picture, video, album or restated question that is done."""

    decisions: tuple[Decision, ...] = ()
    drafts: tuple[Draft, ...] = ()
    restated: RestatedCaption | None = None
    """Of the record of a question that was restated for In-Context Captioning."""
    shown: str = ""
    """The picture of that question."""
    evidence: tuple[Evidence, ...] = ()
    """What was said for it."""


class PictureRecords:
    """The file of a step that runs: lines are appended as pictures become done, and read again at
    their places."""

    def __init__(self, folder: Path) -> None:
        """Open the file, new or of an earlier start; a last line that a killed process left
        unfinished is cut off. Raises StorageError and DataError."""
        self._path = folder / PICTURES_FILE
        self._places: dict[str, int] = {}
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            end = self._index()
            os.ftruncate(self._file, end)
        except OSError as error:
            raise self._storage_error("write", error) from error
        self._end = end
        self._unsynced = 0

    def __contains__(self, picture: object) -> bool:
        return picture in self._places

    def __len__(self) -> int:
        return len(self._places)

    def add(self, record: PictureRecord) -> None:
        """Append a line. Raises StorageError."""
        line = msgspec.json.encode(record) + b"\n"
        try:
            if os.write(self._file, line) < len(line):
                raise OSError("the disk is full")
            self._unsynced += 1
            if self._unsynced >= _SYNC_EVERY:
                os.fsync(self._file)
                self._unsynced = 0
        except OSError as error:
            raise self._storage_error("write", error) from error
        self._places[record.picture] = self._end
        self._end += len(line)

    def read(self, picture: str) -> PictureRecord:
        """The line of a picture that is done. Raises StorageError and DataError."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._places[picture])
                return self._decode(file.readline())
        except OSError as error:
            raise self._storage_error("read", error) from error

    def records(self) -> Iterator[PictureRecord]:
        """All lines, in the order in which they were written."""
        try:
            with self._path.open("rb") as file:
                for line in itertools.islice(file, len(self._places)):
                    yield self._decode(line)
        except OSError as error:
            raise self._storage_error("read", error) from error

    def close(self) -> None:
        os.close(self._file)

    def _index(self) -> int:
        """Find the lines' places; returns where the last whole line ends."""
        place = 0
        with self._path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._places[self._decode(line).picture] = place
                place += len(line)
        return place

    def _decode(self, line: bytes) -> PictureRecord:
        try:
            return msgspec.json.decode(line, type=PictureRecord)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataError(
                f"{self._path} cannot be read: {error}; delete the folder and start again"
            ) from error

    def _storage_error(self, verb: str, error: OSError) -> StorageError:
        return StorageError(f"cannot {verb} {self._path}: {error.strerror or error}")
