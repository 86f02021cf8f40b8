"""Pixels of masks, polygons and boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from snellen.core.arrays import Bools, np
from snellen.core.place import Box, Mask, Point, check_runs


def pixels_of_mask(mask: Mask) -> Bools:
    """The pixels of a mask: shape (height, width). Raises DataError for runs that do not fill its
    picture."""
    check_runs(mask)
    values = np.arange(len(mask.runs)) % 2 == 1
    covered: Bools = np.repeat(values, mask.runs).reshape(mask.width, mask.height).T
    return covered


def mask_of_pixels(pixels: Bools) -> Mask:
    """The mask of pixels of shape (height, width)."""
    height, width = pixels.shape
    flat = np.concatenate([[False], pixels.T.ravel()])
    ends = np.flatnonzero(np.append(flat[1:] != flat[:-1], True))
    return Mask(width, height, tuple(np.diff(ends, prepend=0).tolist()))


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
