"""`pictures.jsonl` of a data set folder: all that is known of each image that is done.

A line is written before its decisions, so that an image is never half done: after a kill, images
with a line are not looked at again. The file is also one of extractions: `file:DIR/pictures.jsonl`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from snellen.core.errors import storage_errors
from snellen.data_sets.decisions import Decision, Evidence
from snellen.store.runs import end_of_last_line
from snellen_curate.questions.extractors.recorded import RecordedFacts, RecordedFile
from snellen_curate.questions.rules import WrittenQuestion

IMAGES_FILE = "pictures.jsonl"


class Draft(Struct, frozen=True, omit_defaults=True, rename={"images": "pictures"}):
    """A question that passed every rule about itself."""

    id: str
    dimension: str
    """Name of the evaluation dimension."""
    images: tuple[str, ...]
    """Ids of the images that it shows, in order; one but for albums."""
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


class ImageRecord(RecordedFacts, frozen=True, omit_defaults=True, kw_only=True):
    """An image, video, album or restated question that is done."""

    decisions: tuple[Decision, ...] = ()
    drafts: tuple[Draft, ...] = ()
    restated: RestatedCaption | None = None
    """Of the record of a question that was restated for In-Context Captioning."""
    shown: str = ""
    """The image of that question."""
    evidence: tuple[Evidence, ...] = ()
    """What was said for it."""


class ImageRecords(RecordedFile[ImageRecord]):
    """The file of a step that runs: lines are appended as images become done, and read again at
    their places."""

    def __init__(self, folder: Path) -> None:
        """Open the file, new or of an earlier start; a last line that a killed process left
        unfinished is cut off. Raises StorageError and DataError."""
        path = folder / IMAGES_FILE
        with storage_errors("write", path):
            self._log = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            os.ftruncate(self._log, end_of_last_line(self._log))
        super().__init__(path, ImageRecord)

    def add(self, record: ImageRecord) -> None:
        """Append a line. Raises StorageError."""
        line = msgspec.json.encode(record) + b"\n"
        with storage_errors("write", self.path):
            if os.write(self._log, line) < len(line):
                raise OSError("the disk is full")
        self._places[record.image] = self._end
        self._end += len(line)

    def records(self) -> Iterator[ImageRecord]:
        """All lines, in the order in which they were written."""
        return map(self.__getitem__, list(self))

    def close(self) -> None:
        os.close(self._log)
