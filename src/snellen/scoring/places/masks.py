"""Pixels of masks, polygons and boxes, and the run lengths in which COCO writes masks.

COCO counts runs of pixels column by column, from top to bottom, the first run outside the mask
(https://github.com/cocodataset/cocoapi, `maskApi`). Its compressed texts hold each run, from the
fourth on as the difference from the one two before, in groups of five bits with a sixth for "more
follows", as the characters from 48 on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from snellen.core.arrays import Bools, np
from snellen.core.errors import DataError
from snellen.core.place import Box, Mask, Point

_FIRST = 48
_MORE, _SIGN, _BITS = 0x20, 0x10, 5


def pixels_of_mask(mask: Mask) -> Bools:
    """The pixels of a mask: shape (height, width). Raises DataError for runs that do not fill its
    picture."""
    total = mask.width * mask.height
    if min(mask.runs, default=0) < 0 or sum(mask.runs) != total:
        raise DataError(
            f"the run lengths of a mask count {sum(mask.runs)} pixels; its picture of {mask.width}x{mask.height} "
            f"has {total}"
        )
    values = np.arange(len(mask.runs)) % 2 == 1
    covered: Bools = np.repeat(values, mask.runs).reshape(mask.width, mask.height).T
    return covered


def mask_of_pixels(pixels: Bools) -> Mask:
    """The mask of pixels of shape (height, width)."""
    height, width = pixels.shape
    flat = np.concatenate([[False], pixels.T.ravel()])
    ends = np.flatnonzero(np.append(flat[1:] != flat[:-1], True))
    return Mask(width, height, tuple(np.diff(ends, prepend=0).tolist()))


def runs_of_text(text: str) -> tuple[int, ...]:
    """The run lengths of COCO's compressed text. Raises DataError."""
    runs: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - _FIRST
        if not 0 <= bits < 2 * _MORE:
            raise DataError(f"{text[:60]!r} is no compressed run-length text: it holds {character!r}")
        value |= (bits & (_MORE - 1)) << shift
        shift += _BITS
        if not bits & _MORE:
            value -= (1 << shift) if bits & _SIGN else 0
            runs.append(value + (runs[-2] if len(runs) > 2 else 0))
            value = shift = 0
    if shift:
        raise DataError(f"{text[:60]!r} is no compressed run-length text: it was cut")
    return tuple(runs)


def pixels_of_boxes(boxes: Sequence[Box], width: int, height: int) -> Bools:
    """The pixels whose centres lie in one of the boxes."""
    covered = np.zeros((height, width), dtype=bool)
    for box in boxes:
        rows = slice(*_centres(box.top, box.bottom, height))
        covered[rows, slice(*_centres(box.left, box.right, width))] = True
    return covered


def pixels_of_polygons(polygons: Sequence[Sequence[Point]], width: int, height: int) -> Bools:
    """The pixels whose centres lie in one of the polygons, by the even-odd rule."""
    covered = np.zeros((height, width), dtype=bool)
    for polygon in polygons:
        edges = [(*one, *other) for one, other in zip(polygon, (*polygon[1:], *polygon[:1]), strict=True)]
        x1, y1, x2, y2 = np.array(edges, dtype=np.float64).T
        for row in range(*_centres(float(y1.min()), float(y1.max()), height)):
            middle = row + 0.5
            crossed = (y1 <= middle) != (y2 <= middle)
            along = (middle - y1[crossed]) / (y2[crossed] - y1[crossed])
            crossings = np.sort(x1[crossed] + along * (x2[crossed] - x1[crossed])).tolist()
            for left, right in zip(crossings[0::2], crossings[1::2], strict=True):
                covered[row, slice(*_centres(left, right, width))] = True
    return covered


def _centres(low: float, high: float, size: int) -> tuple[int, int]:
    """The first pixel whose centre is at least `low`, and the one behind the last that is less than
    `high`."""
    first, end = math.ceil(low - 0.5), math.ceil(high - 0.5)
    return min(max(first, 0), size), min(max(end, 0), size)
