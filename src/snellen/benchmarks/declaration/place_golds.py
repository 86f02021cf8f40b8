"""Places in the cells of a data row, to gold answers.

| shape | cell |
| --- | --- |
| box | four numbers `[1, 2, 3, 4]`, or a list of boxes |
| point | two numbers `[1, 2]`, or a list of points |
| polygon | numbers `[x, y, x, y, ...]` or points `[[x, y], ...]`, or a list of polygons |
| mask | COCO's `{"size": [height, width], "counts": ...}`, runs or compressed, or a list of these |
| mask | a picture in base64: its pixels that are not black |
| span | two numbers `[start, end]` in seconds, or a list of spans |

Instead of a list of places a list of objects may stand, each with the place under `bbox`, `box`,
`bbox_2d`, `point`, `point_2d`, `polygon`, `segmentation`, `mask` or `span`, and its label under
`label`, `category` or `name`.
"""

from __future__ import annotations

import binascii
import math
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from snellen.core.arrays import np
from snellen.core.errors import DataError, MediaError
from snellen.core.literals import parse_json_or_literal
from snellen.core.media import decode_image
from snellen.core.place import Box, Mask, Places, PlaceShape, Point, Space, Span, read_run_lengths
from snellen.scoring.places.masks import mask_of_pixels
from snellen.settings import max_image_pixels

_PLACE_KEYS = ("bbox", "box", "bbox_2d", "point", "point_2d", "polygon", "segmentation", "mask", "span")
_LABEL_KEYS = ("label", "category", "name")
_EXPECTED: Mapping[PlaceShape, str] = {
    "box": "[x1, y1, x2, y2], or a list of these",
    "point": "[x, y], or a list of these",
    "polygon": "numbers [x, y, x, y, ...] of at least three points, or a list of these",
    "mask": 'run lengths {"size": [height, width], "counts": ...}, or a picture in base64',
    "span": "[start, end] in seconds, or a list of these",
}
_OTHER_SPACE = (
    "say what the numbers are with gold_space in the table [place] of a TOML file, such as pixels-corner-size for "
    "[x, y, width, height]"
)
_SLACK = 1.0
"""Pixels, or seconds, that a gold place may reach beyond its picture or video."""


def read_places(
    cell: str, shape: PlaceShape, space: Space, extent: Sequence[float], labels: Sequence[str] = ()
) -> Places:
    """The places of a cell, whose numbers are in `space`, in pixels or seconds. `labels` are those of
    another column. Raises DataError for a cell that holds no such places, or places that are not in
    the picture of the size `extent`."""
    read = _reader(shape, space, extent)
    try:
        items = _items(cell, shape)
        said = tuple(str(label) for item in items if isinstance(item, dict) and (label := _value(item, _LABEL_KEYS)))
        places = [read(_value(item, _PLACE_KEYS) if _is_object(item) else item) for item in items]
    except (ValueError, TypeError, KeyError, IndexError, binascii.Error, MediaError) as error:
        raise DataError(f"{cell[:60]!r} is no {shape}; expected {_EXPECTED[shape]}") from error
    names = tuple(labels) or said
    if names and len(names) != len(places):
        raise DataError(f"there are {len(places)} places and {len(names)} labels; expected a label for each place")
    held: dict[str, Any] = {_FIELDS[shape]: tuple(places)}
    found = Places(**held, labels=names, extent=tuple(extent))
    _check_inside(found, cell, space)
    return found


def count_places(cell: str, shape: PlaceShape) -> int | None:
    """How many places a cell lists; None if it cannot be read."""
    try:
        return len(_items(cell, shape))
    except (ValueError, TypeError, IndexError):
        return None


def mask_of_picture(data: bytes) -> Mask:
    """The mask of a picture: its pixels that are not black. Raises MediaError."""
    pixels = np.asarray(decode_image(data, max_image_pixels()))
    return mask_of_pixels(np.asarray(pixels.any(axis=2)))


_FIELDS: Mapping[PlaceShape, str] = {
    "box": "boxes",
    "point": "points",
    "polygon": "polygons",
    "mask": "masks",
    "span": "spans",
}


def _reader(shape: PlaceShape, space: Space, extent: Sequence[float]) -> Callable[[Any], object]:
    """A function that reads one place of a shape."""
    if shape == "box":
        return lambda numbers: _proper_box(_numbers(numbers, 4), space, extent)
    if shape == "point":
        return lambda numbers: space.read_point(_numbers(numbers, 2), extent)
    if shape == "polygon":
        return lambda numbers: _polygon(numbers, space, extent)
    return _span if shape == "span" else _mask


def _items(cell: str, shape: PlaceShape) -> list[Any]:
    """The single places of a cell, as they stand."""
    text = cell.strip()
    if shape == "mask" and not text.startswith(("{", "[")):
        return [text]
    value = parse_json_or_literal(text)
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list):
        raise ValueError(text)
    is_single = bool(value) and isinstance(value[0], int | float)
    if shape == "polygon" and value and isinstance(value[0], list | tuple):
        # A list of pairs is one polygon; a list of longer lists, or of lists of pairs, are several.
        is_single = len(value[0]) == 2 and isinstance(value[0][0], int | float)
    return [value] if is_single else value


def _is_object(item: object) -> bool:
    return isinstance(item, dict) and "counts" not in item


def _value(item: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((item[key] for key in keys if key in item), None)


def _numbers(value: Any, count: int) -> list[float]:
    numbers = [float(number) for number in value]
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise ValueError(value)
    return numbers


def _proper_box(numbers: list[float], space: Space, extent: Sequence[float]) -> Box:
    box = space.read_box(numbers, extent)
    if box.left > box.right or box.top > box.bottom:
        raise DataError(f"{numbers} read as {space.name} ends before it begins; {_OTHER_SPACE}")
    return box


def _polygon(value: Any, space: Space, extent: Sequence[float]) -> tuple[Point, ...]:
    flat = [number for pair in value for number in pair] if isinstance(value[0], list | tuple) else value
    numbers = _numbers(flat, len(flat))
    if len(numbers) < 6 or len(numbers) % 2:
        raise ValueError(value)
    return tuple(space.read_point(pair, extent) for pair in zip(numbers[0::2], numbers[1::2], strict=True))


def _span(value: Any) -> Span:
    start, end = _numbers(value, 2)
    if start > end:
        raise ValueError(value)
    return Span(start, end)


def _mask(value: Any) -> Mask:
    if isinstance(value, str):
        return mask_of_picture(b64decode(value.partition("base64,")[2] or value, validate=True))
    return read_run_lengths(value)


def check_masks(places: Places) -> None:
    """Raise DataError for a mask of another size than the picture, whose pixels are not the picture's."""
    for mask in places.masks:
        if len(places.extent) == 2 and (mask.width, mask.height) != places.extent:
            width, height = places.extent
            raise DataError(
                f"a mask of {mask.width}x{mask.height} pixels is of no picture of {width:g}x{height:g} pixels; "
                "expected one of the picture's size"
            )


def _check_inside(places: Places, cell: str, space: Space) -> None:
    """Raise DataError for places beyond the picture or the video: a sign of another space."""
    check_masks(places)
    corners = [*places.points, *(point for polygon in places.polygons for point in polygon)]
    corners += [Point(*corner) for box in places.boxes for corner in (box[:2], box[2:])]
    numbers = [number for corner in corners for number in corner]
    if space.unit == "pixels" and numbers and max(numbers) <= 1 and not all(map(float.is_integer, numbers)):
        raise DataError(f"{cell[:60]!r} read as pixels lies within the first one; {_OTHER_SPACE}, or fractions")
    if len(places.extent) == 2:
        width, height = places.extent
        if any(not (-_SLACK <= x <= width + _SLACK and -_SLACK <= y <= height + _SLACK) for x, y in corners):
            raise DataError(
                f"{cell[:60]!r} read as {space.name} is not in the picture of {width:g}x{height:g} pixels; "
                f"{_OTHER_SPACE}"
            )
    if len(places.extent) == 1 and any(span.end > places.extent[0] + _SLACK for span in places.spans):
        raise DataError(f"{cell[:60]!r} ends after the video, which lasts {places.extent[0]:g} s")
