"""Intersection over union of two boxes in a picture (Everingham et al. 2010, PASCAL VOC, Sec.
4.2)."""

from __future__ import annotations

from collections.abc import Sequence


def iou(one: Sequence[float], other: Sequence[float]) -> float:
    """Intersection over union of two boxes (left, top, right, bottom), 0..1; 0 if they do not
    overlap, as boxes without an area never do."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return shared / (areas - shared)
