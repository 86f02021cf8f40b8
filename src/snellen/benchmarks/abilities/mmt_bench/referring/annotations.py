"""Annotation files of the data sets behind MMT-Bench's visual referring, as pictures with boxes.

Boxes become left, top, right, bottom in pixels of the clean picture, whatever the file has.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from snellen.core.errors import DataError, UnknownName
from snellen.data.json_document import decode_document

Corners = tuple[float, float, float, float]
"""Left, top, right, bottom of a box."""


class SourceBox(NamedTuple):
    """A box of an annotation file, with the id by which a link may name it."""

    id: str
    corners: Corners


class SourcePicture(NamedTuple):
    """A clean picture and its boxes, in the order of the file."""

    name: str
    """As the annotation file has it: an id or a file's name."""
    path: Path
    boxes: tuple[SourceBox, ...]


class AnnotationLayout(NamedTuple):
    """A layout of annotation files."""

    about: str
    read: Callable[[Path, Path], Iterator[SourcePicture]]
    """Of the file and the folder of its pictures. Raises DataError for another layout."""


def read_annotations(layout: str, file: Path, pictures: Path) -> list[SourcePicture]:
    """The pictures of an annotation file that have a box. Raises DataError and UnknownName."""
    if layout not in LAYOUTS:
        raise UnknownName("layout of annotations", layout, LAYOUTS)
    if not pictures.is_dir():
        raise DataError(f"{pictures}: there is no such folder of pictures")
    found = [each for each in LAYOUTS[layout].read(file, pictures) if each.boxes]
    if not found:
        raise DataError(f"{file} has no picture with a box, as layout {layout}")
    return found


class _Image(Struct, gc=False):
    id: int
    file_name: str


class _BoxAnnotation(Struct, gc=False):
    image_id: int
    id: int | str = ""
    bbox: tuple[float, float, float, float] | None = None


class _Instances(Struct):
    images: list[_Image]
    annotations: list[_BoxAnnotation]


def _read_coco(file: Path, pictures: Path) -> Iterator[SourcePicture]:
    """`bbox` is left, top, width, height (https://cocodataset.org/#format-data)."""
    document = decode_document(file, _Instances, "a COCO annotation file")
    boxes: dict[int, list[SourceBox]] = {image.id: [] for image in document.images}
    for each in document.annotations:
        if each.image_id not in boxes:
            raise DataError(
                f"{file}: the annotation {each.id} is about image {each.image_id}, which the file does not list"
            )
        if each.bbox is not None:
            left, top, width, height = each.bbox
            corners = (left, top, left + width, top + height)
            boxes[each.image_id].append(SourceBox(str(each.id), corners))
    for image in document.images:
        yield SourcePicture(str(image.id), pictures / image.file_name, tuple(boxes[image.id]))


class _GenomeThing(Struct, gc=False):
    x: float
    y: float
    object_id: int | None = None
    region_id: int | None = None
    w: float | None = None
    h: float | None = None
    width: float | None = None
    height: float | None = None

    def box(self) -> SourceBox:
        """Objects have `w` and `h`, regions `width` and `height`."""
        number = self.object_id if self.object_id is not None else self.region_id
        width = self.w if self.w is not None else self.width or 0.0
        height = self.h if self.h is not None else self.height or 0.0
        return SourceBox(str(number), (self.x, self.y, self.x + width, self.y + height))


class _GenomeEntry(Struct, gc=False):
    image_id: int | None = None
    id: int | None = None
    objects: list[_GenomeThing] = []
    regions: list[_GenomeThing] = []


def _read_genome(file: Path, pictures: Path) -> Iterator[SourcePicture]:
    """`objects.json` or `region_descriptions.json`; pictures are `<image id>.jpg`, in the folder or
    in its folders `VG_100K` and `VG_100K_2`."""
    for entry in decode_document(file, list[_GenomeEntry], "a Visual Genome file"):
        number = entry.image_id if entry.image_id is not None else entry.id
        if number is None:
            raise DataError(f"{file}: an entry has neither image_id nor id")
        places = (pictures / part / f"{number}.jpg" for part in ("VG_100K", "VG_100K_2"))
        path = next((place for place in places if place.is_file()), pictures / f"{number}.jpg")
        boxes = tuple(each.box() for each in (*entry.objects, *entry.regions))
        yield SourcePicture(str(number), path, boxes)


class _HicoBox(Struct, gc=False):
    bbox: Corners


class _HicoPair(Struct, gc=False):
    subject_id: int
    object_id: int


class _HicoImage(Struct, gc=False):
    file_name: str
    annotations: list[_HicoBox] = []
    hoi_annotation: list[_HicoPair] = []


def _read_hico(file: Path, pictures: Path) -> Iterator[SourcePicture]:
    """`test_hico.json`: of a picture with one interaction, the person, then the object."""
    for image in decode_document(file, list[_HicoImage], "HICO-DET's test_hico.json"):
        boxes = tuple(SourceBox(str(number), each.bbox) for number, each in enumerate(image.annotations))
        if len(image.hoi_annotation) == 1:
            pair = image.hoi_annotation[0]
            numbers = (pair.subject_id, pair.object_id)
            if not all(0 <= number < len(boxes) for number in numbers):
                raise DataError(
                    f"{file}: {image.file_name} has an interaction of the boxes {numbers[0]} and "
                    f"{numbers[1]}, and {len(boxes)} boxes"
                )
            boxes = tuple(boxes[number] for number in numbers)
        yield SourcePicture(image.file_name, pictures / image.file_name, boxes)


class _CountedImage(Struct, gc=False):
    box_examples_coordinates: list[list[tuple[float, float]]]


def _read_counted(file: Path, pictures: Path) -> Iterator[SourcePicture]:
    """`annotation_FSC147_384.json`: the four corners of each example box."""
    images = decode_document(file, dict[str, _CountedImage], "FSC-147's annotation file")
    for name, image in images.items():
        boxes = []
        for number, corners in enumerate(image.box_examples_coordinates):
            xs, ys = [x for x, _ in corners], [y for _, y in corners]
            if not corners:
                raise DataError(f"{file}: a box of {name} has no corners")
            boxes.append(SourceBox(str(number), (min(xs), min(ys), max(xs), max(ys))))
        yield SourcePicture(name, pictures / name, tuple(boxes))


def _read_faces(file: Path, pictures: Path) -> Iterator[SourcePicture]:
    """Lines of the interpersonal relation data set: a picture, two faces as left, top, width and
    height, and eight labels."""
    for number, line in enumerate(_lines(file), start=1):
        name, *cells = line.split()
        try:
            values = [float(cell) for cell in cells[:8]]
        except ValueError:
            values = []
        if len(values) < 8:
            raise DataError(f"{file}, line {number}: expected a picture and two faces as left, top, width and height")
        faces = (values[:4], values[4:])
        boxes = tuple(SourceBox(str(index), (x, y, x + w, y + h)) for index, (x, y, w, h) in enumerate(faces))
        yield SourcePicture(name, pictures / name, boxes)


def _read_csv(file: Path, pictures: Path) -> Iterator[SourcePicture]:
    """A row for each box: the columns image, x1, y1, x2, y2, and maybe id."""
    reader = csv.DictReader(_lines(file))
    missing = [name for name in ("image", "x1", "y1", "x2", "y2") if name not in (reader.fieldnames or ())]
    if missing:
        raise DataError(f"{file} has no column {missing[0]}; expected image, x1, y1, x2, y2, id")
    boxes: dict[str, list[SourceBox]] = {}
    for number, row in enumerate(reader, start=2):
        found = boxes.setdefault(row["image"], [])
        try:
            left, top, right, bottom = (float(row[name]) for name in ("x1", "y1", "x2", "y2"))
        except (TypeError, ValueError):
            raise DataError(f"{file}, line {number}: expected numbers as x1, y1, x2, y2") from None
        found.append(SourceBox(row.get("id") or str(len(found)), (left, top, right, bottom)))
    for name, listed in boxes.items():
        yield SourcePicture(name, pictures / name, tuple(listed))


def _lines(file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{file}: there is no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}") from error
    return [line for line in text.splitlines() if line.strip()]


LAYOUTS: Mapping[str, AnnotationLayout] = {
    "coco": AnnotationLayout("COCO's instances or keypoints JSON, and any in its form", _read_coco),
    "visual-genome": AnnotationLayout("Visual Genome's objects.json or region_descriptions.json", _read_genome),
    "hico": AnnotationLayout("HICO-DET's test_hico.json", _read_hico),
    "fsc147": AnnotationLayout("FSC-147's annotation_FSC147_384.json", _read_counted),
    "faces": AnnotationLayout("testing.txt of the interpersonal relation data set", _read_faces),
    "csv": AnnotationLayout("a CSV with the columns image, x1, y1, x2, y2 and id", _read_csv),
}
"""Layouts by the name that a command takes."""
