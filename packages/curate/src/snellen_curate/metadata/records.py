"""Metadata records: what is known about one image, video, or group of images, in one format
whatever data set it came from; the category spaces of their labels; and their files, JSON Lines with
an optional header line, read as a stream, of which several are read as one.

MMT-Bench keeps for each sample its image path, data source, subtask, meta-task, question template,
answer, type of visual prompt and capabilities, and whatever else the sample has, such as its
category space or a referring expression (Appendix I.1, Table A12).
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from snellen.core.atomic_write import save_json_lines
from snellen.core.errors import DataError, refuse_pipe
from snellen.core.limits import DEFAULT_LIMITS, MB, Limits
from snellen.core.literals import digits_by_word
from snellen.data.documents import read_lines
from snellen.data_sets.decisions import Exclusion
from snellen.data_sets.step import SourceInfo

VERSION = 1
"""Of the format. A file of a later version is refused."""

Corners = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels, as in MMT-Bench's `[x1, y1, x2, y2]`."""


class ObjectBox(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An object of the first image."""

    label: str
    """Empty for a region that only `expression` describes."""
    corners: Corners
    expression: str = ""
    """What refers to this object alone, e.g. "the dog on the left"."""
    crowd: bool = False
    """A box around many objects at once, as COCO's `iscrowd`: neither counted nor asked for."""


class Keypoints(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Named points of an object of the first image, in pixels. Points that are not visible are
    left out."""

    label: str
    points: dict[str, tuple[float, float]]


class ObjectRelation(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Such as dog, on, sofa."""

    subject: str
    predicate: str
    object: str


class MetadataRecord(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line of a metadata file. All fields but `id`, `source` and the images are optional: a
    template takes the records that have what it asks for."""

    id: str
    source: str
    """The data set, e.g. `coco-val2017`."""
    images: tuple[str, ...] = ()
    """Paths, relative to the folder of the file."""
    video: str = ""
    license: str = ""
    """Of this image, where it differs from its source's."""
    author: str = ""
    """Of this image, as its licence asks to name."""
    url: str = ""
    """Where this image was published."""
    subtask: str = ""
    """Empty: for the templates of any subtask."""
    task: str = ""
    """The meta-task."""
    question: str = ""
    """A question of this record, in place of the template's phrasings."""
    image_types: tuple[str, ...] = ()
    """MMT-Bench's visual prompt types, e.g. `Natural Image`."""
    capabilities: tuple[str, ...] = ()
    width: int = 0
    height: int = 0
    """Of the first image, in pixels; 0 if unknown."""
    label: str = ""
    """What the image shows, of a category space."""
    labels: tuple[str, ...] = ()
    """Everything else of the category space that is true of the image. None of it becomes a wrong
    option."""
    space: str = ""
    """The name of the category space, which the header lists."""
    categories: tuple[str, ...] = ()
    """The category space itself, if the record has one of its own."""
    boxes: tuple[ObjectBox, ...] = ()
    counts: dict[str, int] = {}
    """Objects by label; without it they are counted from `boxes`."""
    keypoints: tuple[Keypoints, ...] = ()
    relations: tuple[ObjectRelation, ...] = ()
    number: str = ""
    """A number as it is to be answered, e.g. `12`, `3.5 kg`."""
    text: str = ""
    """The text in the image."""
    captions: tuple[str, ...] = ()
    expression: str = ""
    """A referring expression; `boxes[0]` is what it refers to."""
    sequence: tuple[str, ...] = ()
    """Steps or events in their order."""
    answer: str = ""
    """The answer to `question` or to the template's question, if no other field is."""
    wrong_answers: tuple[str, ...] = ()
    """Wrong options that came with the data set."""
    annotation: dict[str, Any] = {}
    """Anything else; a template may ask for `annotation.NAME`."""


class SourceFacts(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is known about a data set."""

    license: str = ""
    url: str = ""
    note: str = ""


CategorySpace = dict[str, str]
"""Labels, each with its place in a hierarchy, e.g. {"cat": "animal/pet"}; empty if it has none."""


class MetadataHeader(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The first line of a metadata file; optional."""

    metadata: int = VERSION
    """Version of the format."""
    sources: dict[str, SourceFacts] = {}
    spaces: dict[str, CategorySpace] = {}

    def license_of(self, record: MetadataRecord) -> str:
        """The record's licence, else that of its source; empty if nobody states one."""
        return record.license or self.sources.get(record.source, SourceFacts()).license


def count_labels(record: MetadataRecord) -> Mapping[str, int]:
    """The number of objects by label. Labels with a crowd are left out: nobody counted it."""
    if record.counts:
        return record.counts
    crowds = {box.label for box in record.boxes if box.crowd}
    return Counter(box.label for box in record.boxes if box.label and box.label not in crowds)


def labels_of(record: MetadataRecord) -> Iterator[str]:
    """Every label that is true of the record's images; some may come twice."""
    if record.label:
        yield record.label
    yield from record.labels
    yield from (box.label for box in record.boxes if box.label)
    yield from (label for label, count in record.counts.items() if count)
    yield from (points.label for points in record.keypoints)


def record_problem(record: MetadataRecord, header: MetadataHeader) -> Exclusion | None:
    """What is wrong with a record: the rule that it breaks and a sentence; None if nothing is."""
    if not record.id.strip() or not record.source.strip():
        return Exclusion("identity", "it has no id or no source; every record needs both")
    if not (record.images or record.video) or not all(name.strip() for name in record.images):
        reason = 'it has no picture; expected "images": ["path", ...] or "video": "path"'
        return Exclusion("picture", reason)
    if record.space and record.space not in header.spaces:
        known = ", ".join(sorted(header.spaces)) or "none"
        return Exclusion(
            "space",
            f"its category space {record.space!r} is not in the header (there: {known}); "
            'add it under "spaces", or give "categories"',
        )
    for label, count in record.counts.items():
        if count < 0:
            return Exclusion("count", f"it counts {count} of {label!r}; expected 0 or more")
    return geometry_problem(record, record.width, record.height)


def geometry_problem(record: MetadataRecord, width: int, height: int) -> Exclusion | None:
    """The first box or point that cannot lie in an image of this size; 0 is an unknown size."""
    right, bottom = width or math.inf, height or math.inf
    size = f"a picture of {width} x {height} pixels"
    for number, box in enumerate(record.boxes, 1):
        left, top, x2, y2 = box.corners
        if not (left < x2 and top < y2) or not math.isfinite(left + top + x2 + y2):
            expected = "[left, top, right, bottom] with left < right and top < bottom"
            return Exclusion("box", f"{_describe_box(number, box)} has no area; expected {expected}")
        # Annotators' tools round outwards: half a pixel is no mistake.
        if left < -0.5 or top < -0.5 or x2 > right + 0.5 or y2 > bottom + 0.5:
            return Exclusion("box", f"{_describe_box(number, box)} is outside {size}")
    for points in record.keypoints:
        for name, (x, y) in points.points.items():
            if not (-0.5 <= x <= right + 0.5 and -0.5 <= y <= bottom + 0.5):
                return Exclusion("keypoint", f"the point {name!r} ({x:g}, {y:g}) is outside {size}")
    return None


def _describe_box(number: int, box: ObjectBox) -> str:
    numbers = ", ".join(f"{each:g}" for each in box.corners)
    return f"box {number} ({box.label or box.expression}) [{numbers}]"


_NUMBER = re.compile(r"([-+]?\d[\d,]*(?:\.\d+)?|[-+]?\.\d+)\s*(.*)", re.DOTALL)
_ARTICLE = re.compile(r"^(?:an?|the)\s+")
_PUNCTUATION = re.compile(r"[^\w\s+\-*/%=<>$€£#@&°\[\](){},.:]|(?<!\d)[.,:]|[.,:](?!\d)")
_VALUES = digits_by_word(20)


def option_key(text: str) -> str:
    """The form in which options are compared: two options with the same key say the same.

    Case, compatibility characters, white space, outer punctuation, a leading article, number words
    and the way of writing a number do not count ("The dog." = "dog", "three" = "3" = "3.0").
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    plain = " ".join(_PUNCTUATION.sub(" ", plain).split())
    plain = _ARTICLE.sub("", plain)
    plain = _VALUES.get(plain, plain)
    number = _NUMBER.fullmatch(plain)
    if number:
        value = float(number[1].replace(",", ""))
        return f"{value:.12g} {number[2]}".strip()
    # What is nothing but punctuation is compared as it stands.
    return plain or text.strip()


class CategoryTree:
    """The labels of a category space with their places in a hierarchy, e.g. cat: `animal/pet`."""

    def __init__(self, space: Mapping[str, str]) -> None:
        self.labels = tuple(space)
        self.places = space
        self._paths = {label: tuple(filter(None, path.split("/"))) for label, path in space.items()}
        self._below: dict[str, list[str]] = {}
        for label, path in self._paths.items():
            for name in path:
                self._below.setdefault(option_key(name), []).append(label)

    def also_true(self, label: str) -> tuple[str, ...]:
        """What an image of `label` may also be said to show: its ancestors (a poodle is a dog)
        and its descendants (a dog may be a poodle)."""
        return (*self._paths.get(label, ()), *self._below.get(option_key(label), ()))

    def distance(self, one: str, other: str) -> int:
        """Edges between two labels in the hierarchy: 2 for siblings."""
        first, second = (*self._paths.get(one, ()), one), (*self._paths.get(other, ()), other)
        shared = 0
        for name, name_of_other in zip(first, second, strict=False):
            if name != name_of_other:
                break
            shared += 1
        return len(first) + len(second) - 2 * shared

    def nearest_by_hierarchy(self, label: str) -> list[tuple[float, str]]:
        """All labels with their distance, nearest first."""
        return sorted((float(self.distance(label, other)), other) for other in self.labels)

    def nearest_by_text(self, label: str) -> list[tuple[float, str]]:
        """All labels with 1 - similarity of the spelling (normalised indel), nearest first."""
        from rapidfuzz.distance import Indel

        return sorted((1.0 - Indel.normalized_similarity(label, other), other) for other in self.labels)


METADATA_FILE = "metadata.jsonl"
"""The file in a folder that `snellen curate metadata` wrote."""
_BOM = b"\xef\xbb\xbf"


def find_metadata(data: Path) -> Path | None:
    """The metadata file that `data` is, or that lies in this folder; None if there is no file with
    a header."""
    file = data / METADATA_FILE if data.is_dir() else data
    if not file.is_file():
        return None
    with file.open("rb") as opened:
        return file if opened.read(12) == b'{"metadata":' else None


class RecordLine(NamedTuple):
    name: str
    """The record's id, or `line N` if it cannot be read."""
    offset: int
    record: MetadataRecord | None
    problem: Exclusion | None = None


class _Named(msgspec.Struct):
    """A record of which only the id is read."""

    id: str = ""


class RecordFiles:
    """Records of files in order, under one header. Offsets go on from file to file."""

    def __init__(self, *paths: Path, limits: Limits = DEFAULT_LIMITS) -> None:
        """Raises DataError for a file that is absent, or whose header is of another version, and
        for headers that say different things of the same source or category space."""
        if not paths:
            raise DataError("no metadata file is named")
        self._paths, self._limits = paths, limits
        self.header = _merge_headers({path: _read_header(path, limits) for path in paths})
        self._starts = [0]
        for path in paths:
            self._starts.append(self._starts[-1] + path.stat().st_size)

    def __str__(self) -> str:
        return ", ".join(map(str, self._paths))

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of the files, in which the media that they name are searched."""
        return tuple(dict.fromkeys(str(path.absolute().parent) for path in self._paths))

    def __iter__(self) -> Iterator[RecordLine]:
        """All lines with a record or a problem. Raises DataError for a file without any."""
        for start, path in zip(self._starts, self._paths, strict=False):
            # A line that cannot be read is named by its file as well, if there are several.
            place = f"{path.name} line" if len(self._paths) > 1 else "line"
            offset, is_empty = start, True
            with path.open("rb") as file:
                for number, data in enumerate(read_lines(file, self._limits, str(path)), 1):
                    if data.strip() and not (number == 1 and _is_header(data)):
                        is_empty = False
                        line = data.removeprefix(_BOM)
                        yield _read_line(f"{place} {number}", offset, line, self.header)
                    offset += len(data)
            if is_empty:
                raise DataError(f"{path} holds no records")

    def read(self, offset: int) -> MetadataRecord:
        """The record at an offset that `__iter__` gave, with absolute paths of its media."""
        index = bisect_right(self._starts, offset) - 1
        path = self._paths[index]
        with path.open("rb") as file:
            file.seek(offset - self._starts[index])
            record = _decode(file.readline().removeprefix(_BOM))
        folder = path.absolute().parent
        return replace(
            record,
            images=tuple(os.path.join(folder, name) for name in record.images),  # noqa: PTH118
            video=str(folder / record.video) if record.video else "",
        )

    def describe(self) -> list[SourceInfo]:
        """The files with their digests and numbers of lines."""
        return [_describe(path) for path in self._paths]


_decode = msgspec.json.Decoder(MetadataRecord).decode
_decode_name = msgspec.json.Decoder(_Named).decode


def _describe(path: Path) -> SourceInfo:
    content, lines = hashlib.sha256(), 0
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            content.update(block)
            lines += block.count(b"\n")
    return SourceInfo(path.stem, str(path), content.hexdigest(), lines)


def _read_line(place: str, offset: int, data: bytes, header: MetadataHeader) -> RecordLine:
    """A line of a file; `place` names it if it has no id."""
    try:
        record = _decode(data)
    except msgspec.ValidationError as error:
        with suppress(msgspec.ValidationError):
            place = _decode_name(data).id or place
        problem = Exclusion("field", f"{error}; expected the fields of a metadata record")
        return RecordLine(place, offset, None, problem)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return RecordLine(place, offset, None, Exclusion("json", f"no JSON: {error}"))
    return RecordLine(record.id or place, offset, record, record_problem(record, header))


def _is_header(line: bytes) -> bool:
    return line.removeprefix(_BOM).lstrip().startswith(b'{"metadata"')


def _read_header(path: Path, limits: Limits) -> MetadataHeader:
    """Read the first line if it is a header; without one, the header is empty. Raises DataError."""
    refuse_pipe(path)
    try:
        with path.open("rb") as file:
            first = file.readline(limits.row_mb * MB)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    if not _is_header(first):
        return MetadataHeader()
    try:
        header = msgspec.json.decode(first.removeprefix(_BOM), type=MetadataHeader)
    except msgspec.DecodeError as error:
        raise DataError(f"{path}, line 1: the header cannot be used: {error}") from error
    if not 1 <= header.metadata <= VERSION:
        raise DataError(f"{path}: metadata of version {header.metadata}; this Snellen reads version {VERSION}")
    return header


def _merge_headers(headers: dict[Path, MetadataHeader]) -> MetadataHeader:
    sources: dict[str, SourceFacts] = {}
    spaces: dict[str, CategorySpace] = {}
    for path, header in headers.items():
        again = [
            f"the source {name!r}" for name, facts in header.sources.items() if sources.setdefault(name, facts) != facts
        ] + [
            f"the category space {name!r}"
            for name, space in header.spaces.items()
            if spaces.setdefault(name, space) != space
        ]
        if again:
            raise DataError(
                f"{path} describes {again[0]} in another way than the files before it; give one of them another name"
            )
    return MetadataHeader(sources=sources, spaces=spaces)


def write_records(path: Path, header: MetadataHeader, records: Iterable[MetadataRecord]) -> int:
    """Write a metadata file; it appears when it is complete. Returns the number of records.

    Raises StorageError, and whatever `records` raise.
    """
    head = {"metadata": VERSION, **msgspec.to_builtins(header)}
    return save_json_lines(path, chain([head], records)) - 1
