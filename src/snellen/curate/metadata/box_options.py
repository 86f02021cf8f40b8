"""Wrong boxes that are as large, as far from the middle and as often at a border as right ones.

They are right boxes of other pictures of the same data set, drawn near a hidden one that is near
the right one and is not offered. With chances in proportion to p(o) s(o, h) / Z(o), where p is how
often a box is asked for, s how near two boxes are and Z its sum over all boxes, a set of options
and a hidden box h are equally likely whichever of the options is the right one.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from random import Random
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct
from numpy import float64
from numpy.typing import NDArray

from snellen.curate.metadata.draw import draw_order
from snellen.curate.metadata.records import Corners
from snellen.scoring.box_overlap import iou

PictureSize = tuple[int, int]
"""Width and height in pixels; (0, 0) if nobody knows."""
_MAX_KNOWN = 1_000
"""Right boxes of a source that are drawn from."""
_MIN_KNOWN = 20
"""Fewer are too few to draw from: the right box is moved instead."""
_AREA_SCALE, _PLACE_SCALE = 1.0, 0.2
"""How near boxes are: a factor of e in area, a fifth of the picture in place."""
_OTHER_LABEL = 0.2
"""How near a box of another label is, beside one of the same: kinds of objects have their forms."""
_TRIES = 200
_SMALL_STEP = 0.15


class BoxSettings(Struct, frozen=True, forbid_unknown_fields=True):
    max_iou: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    """Bound of the overlap (intersection over union) of two options. Detections count as right
    from 0.5 (PASCAL VOC)."""


class KnownBoxes:
    """The right boxes of a source, as shares of their pictures."""

    def __init__(self) -> None:
        self._labels: list[str] = []
        self._corners = array("d")
        self._shares = array("d")

    def add(self, label: str, box: Corners, size: PictureSize, share: float) -> None:
        """Add a box of a picture of known size; `share` is the chance that it is asked for."""
        if size[0] and size[1] and len(self._labels) < _MAX_KNOWN:
            self._labels.append(label)
            self._shares.append(share)
            self._corners.extend(number / size[axis % 2] for axis, number in enumerate(box))

    @property
    def is_enough(self) -> bool:
        """Whether they are enough to draw from."""
        return len(self._labels) >= _MIN_KNOWN

    def draw(
        self, label: str, gold: Corners, size: PictureSize, count: int, rng: Random
    ) -> list[Corners]:
        """Up to `count` boxes that could be in the place of a right one, in pixels."""
        scale = np.array([*size, *size])
        near = self._nearness(np.array(gold) / scale, label)
        if not near.sum() > 0:
            return []
        hidden = rng.choices(range(len(near)), near.tolist())[0]
        weights = self._nearness(self._table[hidden], self._labels[hidden])
        weights *= np.array(self._shares) / np.maximum(self._sums, 1e-12)
        others = np.flatnonzero((weights > 1e-12) & (near > 0))
        rows = others[draw_order(weights[others].tolist(), rng)[:count]]
        return [
            (left, top, right, bottom)
            for left, top, right, bottom in (self._table[rows] * scale).tolist()
        ]

    @cached_property
    def _table(self) -> NDArray[float64]:
        """The corners, of shape (boxes, 4)."""
        return np.array(self._corners, dtype=np.float64).reshape(-1, 4)

    @cached_property
    def _sums(self) -> NDArray[float64]:
        """Of each box, the sum of `_nearness` over all."""
        pairs = zip(self._table, self._labels, strict=True)
        return np.array([self._nearness(*pair).sum() for pair in pairs])

    def _nearness(self, box: NDArray[float64], label: str) -> NDArray[float64]:
        """How near each known box is to one; 0 if it is the same."""
        width, height = self._table[:, 2:].T - self._table[:, :2].T
        area = np.log(width * height / np.prod(box[2:] - box[:2])) / _AREA_SCALE
        middle = (self._table[:, :2] + self._table[:, 2:] - box[:2] - box[2:]) / 2 / _PLACE_SCALE
        same = np.array([each == label for each in self._labels])
        nearness: NDArray[float64] = np.exp(-0.5 * (area**2 + (middle**2).sum(axis=1)))
        nearness *= np.where(same, 1.0, _OTHER_LABEL)
        nearness[np.abs(self._table - box).max(axis=1) <= 1e-9] = 0.0
        return nearness


def wrong_boxes(
    label: str,
    gold: Corners,
    size: PictureSize,
    also_right: Sequence[Corners],
    known: KnownBoxes,
    settings: BoxSettings,
    count: int,
    rng: Random,
) -> Iterator[Corners]:
    """Boxes of whole pixels in the picture, of which no two, and none with a right one, overlap by
    more than `max_iou`; they may be fewer than `count`."""
    # A large box overlaps most others. If one went on until it had enough, it would be right more
    # often than it is wrong; so as many are drawn for each.
    if known.is_enough and size[0] and size[1]:
        drawn = known.draw(label, gold, size, 2 * count, rng)
        # Not the same numbers: what is right elsewhere would be known to be wrong here.
        proposals = (_move_box(box, size, _SMALL_STEP, rng) for box in drawn)
    else:
        hidden = _move_box(gold, size, 1.0, rng)
        proposals = (_move_box(hidden, size, 1.0, rng) for _ in range(_TRIES))
    accepted: list[Corners] = []
    for box in proposals:
        has_area = box[0] < box[2] and box[1] < box[3]
        others = (gold, *also_right, *accepted)
        if has_area and all(iou(box, other) <= settings.max_iou for other in others):
            accepted.append(box)
            yield box


def _move_box(box: Corners, size: PictureSize, step: float, rng: Random) -> Corners:
    """A box of another size and place, in whole pixels; edges at the border of the picture stay.
    A `step` of 1 is up to its own length."""
    scale = math.exp(rng.uniform(-0.5, 0.5) * step)
    left, right = _move_edges(box[0], box[2], size[0], scale, rng.uniform(-step, step))
    top, bottom = _move_edges(box[1], box[3], size[1], scale, rng.uniform(-step, step))
    return float(round(left)), float(round(top)), float(round(right)), float(round(bottom))


def _move_edges(
    low: float, high: float, bound: int, scale: float, step: float
) -> tuple[float, float]:
    """The edges along one axis of a picture that ends at `bound`; 0 is an unknown end."""
    at_start, at_end = low < 0.5, bound > 0 and high > bound - 0.5
    if at_start and at_end:
        return low, high
    length = (high - low) * scale
    if at_start or at_end:
        length = min(length, bound - 1.0) if bound else length
        return (low, low + length) if at_start else (high - length, high)
    length = min(length, bound - 2.0) if bound else length
    start = max(1.0, (low + high - length) / 2 + step * length)
    start = min(start, bound - 1 - length) if bound else start
    return start, start + length
