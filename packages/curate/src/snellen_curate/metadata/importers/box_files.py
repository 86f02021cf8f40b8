"""Data sets that have a file with boxes for each image: LabelMe's JSON files
(https://github.com/wkentaro/labelme), of whose outlines, rectangles and circles the boxes around
them are taken; and PASCAL VOC's XML files (Everingham et al. 2010,
http://host.robots.ox.ac.uk/pascal/VOC/), as labelImg and others write them too."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from msgspec import Struct

from snellen.core.errors import DataError, MediaError
from snellen.core.media import FileSource
from snellen.core.sample import MediaRef
from snellen.data.json_document import decode_document
from snellen_curate.image_files import IMAGE_SUFFIXES
from snellen_curate.metadata.importers.importer import (
    ImportedMetadata,
    Importer,
    ImportRequest,
    annotation_files,
    clip_box,
    only_label,
)
from snellen_curate.metadata.records import Corners, MetadataRecord, ObjectBox
from snellen_curate.statistics.item_columns import read_image_facts

_SUFFIXES = [each for suffix in sorted(IMAGE_SUFFIXES) for each in (suffix, suffix.upper())]
_MAX_LEVELS = 3
"""Folders in a folder of annotations that are looked for among the images too."""


class Shape(NamedTuple):
    """An object as a file has it."""

    label: str
    corners: Corners | None
    """None for a shape around which is no box."""
    type: str = ""
    is_difficult: bool = False
    """Neither counted nor asked for."""


def box_importer(suffix: str, sibling: str, parse: Callable[[Path], tuple[str, list[Shape]]]) -> Importer:
    """The importer of files with this suffix, of which `parse` gives the name of the image and
    the objects; the images may lie in the folder `sibling` beside that of the files."""

    def read(request: ImportRequest) -> ImportedMetadata:
        left_out: Counter[str] = Counter()
        files = [(file, *parse(file)) for file in annotation_files(request, suffix)]
        space = label_space(request, (each.label for *_, shapes in files for each in shapes))
        return ImportedMetadata(records(request, files, left_out), space, left_out=left_out)

    def records(
        request: ImportRequest, files: list[tuple[Path, str, list[Shape]]], left_out: Counter[str]
    ) -> Iterator[MetadataRecord]:
        paths = [Path(path).expanduser().absolute() for path in request.paths]
        folder = Path(os.path.commonpath([path if path.is_dir() else path.parent for path in paths]))
        for file, name, shapes in files:
            image, size = _find_image(request, file, name, sibling)
            boxes: list[ObjectBox] = []
            for label, corners, type, is_difficult in shapes:
                if corners is None:
                    left_out[f"a shape of type {type!r}"] += 1
                else:
                    boxes += clip_box(label.strip(), corners, size, left_out, crowd=is_difficult)
            yield box_record(request, file_name(file, folder), image, size, boxes)

    return read


def label_space(request: ImportRequest, labels: Iterable[str]) -> dict[str, dict[str, str]]:
    """The category space of these labels, none of which is above another."""
    return {request.name: dict.fromkeys(filter(None, map(str.strip, labels)), "")}


def box_record(
    request: ImportRequest, name: str, image: Path, size: tuple[int, int], boxes: list[ObjectBox]
) -> MetadataRecord:
    """The record of an image with these objects."""
    return MetadataRecord(
        id=f"{request.name}/{name}",
        source=request.name,
        images=(request.image_path(str(image.absolute()), image.parent),),
        width=size[0],
        height=size[1],
        space=request.name,
        boxes=tuple(boxes),
        **only_label(box.label for box in boxes),
    )


def file_name(file: Path, folder: Path) -> str:
    """The path in a folder without its suffix, so that `train/1` and `val/1` are two names; the
    name alone of a file elsewhere."""
    path = file.absolute()
    path = path.relative_to(folder) if path.is_relative_to(folder) else Path(path.name)
    return path.with_suffix("").as_posix()


def _find_image(request: ImportRequest, annotation: Path, name: str, sibling: str) -> tuple[Path, tuple[int, int]]:
    """The image that an annotation file names, and its size: in --media, beside the file, or
    in the folder `sibling` beside the file's folder; `Annotations/val` is beside `JPEGImages/val`.
    An image may have another suffix than the file says. Raises DataError."""
    # Windows writes its own separators.
    name = name.strip().replace("\\", "/") or annotation.with_suffix(".jpg").name
    parent, below = annotation.absolute().parent, Path()
    folders = [] if request.images else [parent]
    for _ in range(_MAX_LEVELS):
        beside = (parent.parent / sibling, parent.parent / "images")
        folders += [each / below for each in ((request.images,) if request.images else beside)]
        parent, below = parent.parent, parent.name / below
    plain = Path(name).name
    stem = plain.removesuffix(next((x for x in _SUFFIXES if plain.endswith(x)), ""))
    for other in (name, plain, *(stem + suffix for suffix in _SUFFIXES)):
        for path in (folder / other for folder in folders):
            if path.is_file():
                return path, image_size(path)
    where = request.images or f"its folder, nor in {sibling} or images beside that"
    raise DataError(f"{annotation}: its picture {name} is not in {where}; name the folder with --media DIR")


def image_size(path: Path) -> tuple[int, int]:
    """Width and height in pixels. Raises DataError."""
    try:
        facts = read_image_facts(MediaRef("", FileSource(str(path))))
        return facts.width, facts.height
    except MediaError as error:
        raise DataError(f"{path}: {error}") from error


class _LabelMeShape(Struct):
    label: str
    points: list[tuple[float, float]]
    shape_type: str = "polygon"
    group_id: int | None = None
    """The parts of an object that something hides have one number, and its label."""


_NO_LABELS = ("__ignore__", "_background_")
"""What LabelMe's tools take for no object."""


class _LabelMeFile(Struct, rename="camel"):
    shapes: list[_LabelMeShape]
    image_path: str = ""


def _parse_labelme(path: Path) -> tuple[str, list[Shape]]:
    file = decode_document(path, _LabelMeFile, "a LabelMe file")
    objects: dict[object, Shape] = {}
    for number, each in enumerate(file.shapes):
        shape = Shape(each.label, _labelme_corners(each), each.shape_type)
        if each.label in _NO_LABELS:
            shape = Shape("", None, each.label)
        key = number if each.group_id is None else (each.label, each.group_id)
        before = objects.get(key)
        if before is not None and before.corners and shape.corners:
            shape = shape._replace(corners=_around(before.corners, shape.corners))
        objects[key] = shape
    return file.image_path, list(objects.values())


def _around(one: Corners, other: Corners) -> Corners:
    """The box around two boxes."""
    left, top, right, bottom = zip(one, other, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _labelme_corners(shape: _LabelMeShape) -> Corners | None:
    """The box around a shape; None for one that has none."""
    if shape.shape_type == "circle" and len(shape.points) == 2:
        (x, y), edge = shape.points
        radius = math.dist((x, y), edge)
        return x - radius, y - radius, x + radius, y + radius
    if shape.shape_type not in ("polygon", "rectangle", "mask") or len(shape.points) < 2:
        return None
    xs, ys = zip(*shape.points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


read_labelme = box_importer(".json", ".", _parse_labelme)


def _parse_voc(file: Path) -> tuple[str, list[Shape]]:
    """Raises DataError for a file of another form."""
    try:
        text = file.read_bytes()
        if b"<!ENTITY" in text:
            raise DataError(f"{file} declares entities, which an annotation does not need")
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise DataError(f"{file} is no XML: {error}") from error
    if root.tag != "annotation":
        raise DataError(f"{file} begins with <{root.tag}>; expected PASCAL VOC's <annotation>")
    return root.findtext("filename", ""), [_voc_shape(file, each) for each in root.iter("object")]


def _voc_shape(file: Path, element: ElementTree.Element) -> Shape:
    texts = [element.findtext(f"bndbox/{name}", "") for name in ("xmin", "ymin", "xmax", "ymax")]
    try:
        left, top, right, bottom = map(float, texts)
    except ValueError:
        raise DataError(f"{file}: an object has the box {texts}; expected numbers") from None
    is_difficult = element.findtext("difficult", "0").strip() == "1"
    # VOC counts pixels from 1, and the last one belongs to the box.
    corners = (left - 1, top - 1, right, bottom)
    return Shape(element.findtext("name", ""), corners, is_difficult=is_difficult)


read_voc = box_importer(".xml", "JPEGImages", _parse_voc)
