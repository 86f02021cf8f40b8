"""LabelMe's JSON files, one for each picture (https://github.com/wkentaro/labelme): outlines,
rectangles and circles, of which the boxes around them are taken."""

from __future__ import annotations

import math
from pathlib import Path

from msgspec import Struct

from snellen.curate.metadata.importers.box_files import Shape, box_importer
from snellen.curate.metadata.records import Corners
from snellen.data.json_document import decode_document


class _LabelMeShape(Struct):
    label: str
    points: list[tuple[float, float]]
    shape_type: str = "polygon"


class _LabelMeFile(Struct, rename="camel"):
    shapes: list[_LabelMeShape]
    image_path: str = ""


def _parse(path: Path) -> tuple[str, list[Shape]]:
    file = decode_document(path, _LabelMeFile, "a LabelMe file")
    shapes = [Shape(each.label, _corners(each), each.shape_type) for each in file.shapes]
    return file.image_path, shapes


def _corners(shape: _LabelMeShape) -> Corners | None:
    """The box around a shape; None for one that has none."""
    if shape.shape_type == "circle" and len(shape.points) == 2:
        (x, y), edge = shape.points
        radius = math.dist((x, y), edge)
        return x - radius, y - radius, x + radius, y + radius
    if shape.shape_type not in ("polygon", "rectangle", "mask") or len(shape.points) < 2:
        return None
    xs, ys = zip(*shape.points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


IMPORTER = box_importer("LabelMe's JSON files", ".json", ".", _parse)
