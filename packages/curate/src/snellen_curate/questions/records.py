"""Files of extractions: what was found in each image, elsewhere or by an earlier step; and
`pictures.jsonl` of a data set folder, which is one, with all that is known of each image that is done.

One line an image: `{"picture": "park/dog.png", "captions": ["..."], "instances": [{"label": "dog",
"box": [10, 20, 80, 90], "attributes": ["brown"]}], "dense": [{"text": "...", "box": [...]}],
"texts": [...]}`, boxes in pixels; of videos `"moments": [{"start": 0, "end": 1, "captions":
["..."]}]`. A line is written before its decisions, so that an image is never half done: after a
kill, images with a line are not looked at again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from snellen.core.errors import DataError, StorageError, UsageError, storage_errors
from snellen.core.record import Steps
from snellen.core.sample import MediaRef
from snellen.data_sets.decisions import Decision, Evidence
from snellen.store.runs import end_of_last_line
from snellen_curate.questions.extraction import ASPECTS, Aspect, Extractor, View, VisualFacts, only
from snellen_curate.questions.rules import WrittenQuestion
from snellen_curate.questions.sources import ImageSource


class RecordedFacts(VisualFacts, frozen=True, omit_defaults=True, kw_only=True, rename={"image": "picture"}):
    """A line of the file."""

    image: str
    """Id of the image: its path in the folder, or the id of the manifest's row; or the end of its
    file's path."""


R = TypeVar("R", bound=RecordedFacts)


@dataclass(frozen=True, kw_only=True)
class RecordedExtractor(Extractor):
    recorded: RecordedFile[RecordedFacts]

    def find(self, view: View, aspects: frozenset[Aspect], role: str) -> Steps[VisualFacts]:
        """What the file says of the image; nothing if it is not in the file."""
        yield from ()
        line = self.recorded.get(self.recorded.id_of(view.image, view.ref) or view.image)
        return VisualFacts() if line is None else only(plain_extraction(line), aspects)


def plain_extraction(line: RecordedFacts) -> VisualFacts:
    """The extraction of a line, without the picture's name."""
    return VisualFacts(*(getattr(line, name) for name in VisualFacts.__struct_fields__))


class RecordedFile(Mapping[str, R]):
    """The lines of a file by image, read when they are wanted; of two about one image the last
    counts."""

    def __init__(self, path: Path, form: type[R]) -> None:
        """Check every line. Raises DataError for one that is no extraction, and StorageError."""
        self.path = path
        self._decoder = msgspec.json.Decoder(form)
        self._places: dict[str, int] = {}
        self._by_name: dict[str, list[str]] = {}
        self._end, content = 0, hashlib.sha256()
        try:
            with path.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    content.update(line)
                    if line.strip():
                        self._places[self._decode(line, f", line {number}").image] = self._end
                    self._end += len(line)
        except FileNotFoundError:
            raise DataError(f"{path}: there is no such file of extractions") from None
        except OSError as error:
            raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
        for image in self._places:
            self._by_name.setdefault(image.rpartition("/")[2], []).append(image)
        self.digest = content.hexdigest()
        """SHA-256 of the file, in hex."""

    def id_of(self, image: str, medium: MediaRef) -> str | None:
        """The id that an image has in the file: its own, or the one that ends as its path does;
        None if there is none, or several."""
        if image in self._places:
            return image
        path = str(getattr(medium.source, "path", ""))
        named = self._by_name.get(path.rpartition("/")[2], []) if path else []
        ends = [one for one in named if f"/{path}".endswith(f"/{one}")]
        return ends[0] if len(ends) == 1 else None

    def count_missing(self, images: ImageSource) -> int:
        """The number of images that the file says nothing about. Raises UsageError if these are
        all of them."""
        missing = [one.id for one in images if self.id_of(one.id, one.medium) is None]
        total = len(images)
        if total and len(missing) == total:
            here, there = (", ".join(map(repr, names[:3])) for names in (missing, list(self)))
            raise UsageError(
                f"0 of {total} pictures are in {self.path}: ids and file names there look like "
                f"{there}, ids here like {here}"
            )
        return len(missing)

    def __getitem__(self, image: str) -> R:
        place = self._places[image]
        try:
            with self.path.open("rb") as file:
                file.seek(place)
                return self._decode(file.readline())
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror or error}") from error

    def __contains__(self, image: object) -> bool:
        return image in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _decode(self, line: bytes, where: str = "") -> R:
        try:
            return self._decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DataError(f"{self.path}{where} is no extraction: {error}") from error


def open_recorded(argument: str, aspects: frozenset[Aspect]) -> RecordedExtractor:
    """Raises DataError for a line that is no extraction, and StorageError."""
    return RecordedExtractor(
        name=f"file:{argument}",
        aspects=aspects or frozenset(ASPECTS),
        recorded=RecordedFile(Path(argument).expanduser(), RecordedFacts),
    )


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
