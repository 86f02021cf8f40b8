"""Metadata records: what is known about one image, video, or group of images, in one format
whatever data set it came from.

MMT-Bench keeps for each sample its image path, data source, subtask, meta-task, question template,
answer, type of visual prompt and capabilities, and whatever else the sample has, such as its
category space or a referring expression (Appendix I.1, Table A12).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from snellen.data_sets.decisions import Exclusion

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
            return Exclusion("box", f"{_describe(number, box)} has no area; expected {expected}")
        # Annotators' tools round outwards: half a pixel is no mistake.
        if left < -0.5 or top < -0.5 or x2 > right + 0.5 or y2 > bottom + 0.5:
            return Exclusion("box", f"{_describe(number, box)} is outside {size}")
    for points in record.keypoints:
        for name, (x, y) in points.points.items():
            if not (-0.5 <= x <= right + 0.5 and -0.5 <= y <= bottom + 0.5):
                return Exclusion("keypoint", f"the point {name!r} ({x:g}, {y:g}) is outside {size}")
    return None


def _describe(number: int, box: ObjectBox) -> str:
    return f"box {number} ({box.label or box.expression}) {format_numbers(box.corners)}"


def format_numbers(numbers: tuple[float, ...]) -> str:
    """`[1, 2.5]`."""
    return f"[{', '.join(f'{number:g}' for number in numbers)}]"
