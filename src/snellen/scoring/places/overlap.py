"""Intersection over union of boxes, spans, polygons and masks, and whether a point lies in one.

IoU of boxes: Everingham et al. 2010 (PASCAL VOC), Sec. 4.2, with continuous coordinates: a box is
as wide as right - left, without the pixel that VOC adds. Edges belong to a box, a span or a polygon;
a point belongs to the pixel of a mask in which it lies. Polygons are compared as the pixels whose
centres they hold, by the even-odd rule.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

from snellen.core.arrays import Bools, np
from snellen.core.errors import DataError
from snellen.core.place import Box, Mask, Places, Point, Span, box_iou
from snellen.scoring.places.masks import pixels_of_boxes, pixels_of_mask, pixels_of_polygons

Polygon = tuple[Point, ...]
SinglePlace = Box | Point | Polygon | Mask | Span
DIGITS = 9
"""Digits that count: the way from pixels to another space and back costs some of the others."""


def reaches(value: float, threshold: float) -> bool:
    """Whether a value is at least a threshold, to `DIGITS`."""
    return round(value, DIGITS) >= threshold


def region_iou(one: Places, other: Places) -> float:
    """IoU of the regions that two answers cover, each the union of its places, 0..1: of one place
    each, their IoU. 0 where either covers nothing, as points do."""
    if len(one.boxes) == len(other.boxes) == 1:
        return box_iou(one.boxes[0], other.boxes[0])
    if one.spans or other.spans:
        return _ratio(_union_of_spans(one.spans), _union_of_spans(other.spans), (*one.spans, *other.spans))
    if one.boxes and other.boxes:
        return _iou_of_box_unions(one.boxes, other.boxes)
    size = _size(one, other)
    return _pixel_iou(_pixels(one, size), _pixels(other, size))


def overlap(one: SinglePlace, other: SinglePlace, extent: Sequence[float]) -> float:
    """How well two single places agree, 0..1: their IoU; of a point and a region whether it lies in
    it; of two points 1 - their distance / the diagonal of the picture of the size `extent`, at least
    0. Raises DataError for two points in a picture of unknown size."""
    if isinstance(one, Point) and isinstance(other, Point):
        if len(extent) != 2:
            raise DataError("the distance of two points needs the picture's width and height, which are unknown")
        return max(0.0, 1 - math.dist(one, other) / math.hypot(*extent))
    if isinstance(one, Point):
        return float(holds_point(other, one))
    if isinstance(other, Point):
        return float(holds_point(one, other))
    if isinstance(one, Box) and isinstance(other, Box):
        return box_iou(one, other)
    return region_iou(_single(one, extent), _single(other, extent))


def holds_point(place: SinglePlace, point: Point) -> bool:
    """Whether a point lies in a box, a polygon or a mask, edges included, to `DIGITS`."""
    point = Point(round(point.x, DIGITS), round(point.y, DIGITS))
    if isinstance(place, Box):
        place = Box(*(round(edge, DIGITS) for edge in place))
        return place.left <= point.x <= place.right and place.top <= point.y <= place.bottom
    if isinstance(place, Mask):
        inside = 0 <= point.x <= place.width and 0 <= point.y <= place.height
        # The right and lower edge of the picture belong to its last pixels.
        column, row = min(int(point.x), place.width - 1), min(int(point.y), place.height - 1)
        return inside and bisect_right(list(accumulate(place.runs)), column * place.height + row) % 2 == 1
    return not isinstance(place, Point | Span) and _is_in_polygon(place, point)


def places_in_order(places: Places) -> tuple[SinglePlace, ...]:
    """The single places of an answer, of whatever shape."""
    return (*places.boxes, *places.points, *places.polygons, *places.masks, *places.spans)


def area_of(places: Places) -> float:
    """The area that an answer covers, in pixels; of spans the seconds."""
    if places.spans:
        return _length(_union_of_spans(places.spans))
    if places.boxes:
        return _area_of_union(places.boxes)
    return float(_pixels(places, _size(places, places)).sum())


def shared_area(one: Places, other: Places) -> tuple[float, float]:
    """The pixels, or seconds, that both answers cover, and those that either does. Raises DataError for
    polygons or masks in a picture of unknown size."""
    if one.spans or other.spans:
        spans = one.spans, other.spans, (*one.spans, *other.spans)
        first, second, union = (_length(_union_of_spans(each)) for each in spans)
        return first + second - union, union
    if any((*one.polygons, *one.masks, *other.polygons, *other.masks)):
        size = _size(one, other)
        pixels, others = _pixels(one, size), _pixels(other, size)
        return float((pixels & others).sum()), float((pixels | others).sum())
    boxes = one.boxes, other.boxes, (*one.boxes, *other.boxes)
    first, second, union = (_area_of_union(each) if each else 0.0 for each in boxes)
    return max(0.0, first + second - union), union


def _single(place: SinglePlace, extent: Sequence[float]) -> Places:
    size = tuple(extent)
    if isinstance(place, Box):
        return Places(boxes=(place,), extent=size)
    if isinstance(place, Span):
        return Places(spans=(place,), extent=size)
    if isinstance(place, Mask):
        return Places(masks=(place,), extent=size)
    return Places() if isinstance(place, Point) else Places(polygons=(place,), extent=size)


def _size(one: Places, other: Places) -> tuple[int, int]:
    """Width and height of the picture in whole pixels."""
    for places in (other, one):
        if places.masks:
            return places.masks[0].width, places.masks[0].height
        if len(places.extent) == 2:
            return math.ceil(places.extent[0]), math.ceil(places.extent[1])
    raise DataError("polygons and masks are compared by pixels: the picture's width and height are unknown")


def _pixels(places: Places, size: tuple[int, int]) -> Bools:
    """The pixels that an answer covers; a mask of another size covers none."""
    masks = [pixels_of_mask(mask) for mask in places.masks if (mask.width, mask.height) == size]
    parts = [*masks, pixels_of_boxes(places.boxes, *size), pixels_of_polygons(places.polygons, *size)]
    covered: Bools = np.logical_or.reduce(parts)
    return covered


def _pixel_iou(one: Bools, other: Bools) -> float:
    union = int((one | other).sum())
    return int((one & other).sum()) / union if union else 0.0


def _iou_of_box_unions(one: Sequence[Box], other: Sequence[Box]) -> float:
    union = _area_of_union((*one, *other))
    shared = _area_of_union(one) + _area_of_union(other) - union
    return max(0.0, shared / union) if union > 0 else 0.0


def _area_of_union(boxes: Sequence[Box]) -> float:
    """The area that boxes cover together, strip by strip between the heights of their edges."""
    corners = np.array(sorted(boxes), dtype=np.float64)
    left, top, right, bottom = corners.T
    heights = np.unique(corners[:, [1, 3]])
    area = 0.0
    for low, high in pairwise(heights):
        crossing = (top <= low) & (bottom >= high)
        if crossing.any():
            # How far right the boxes before each one reach; what it adds begins there.
            ends = np.maximum.accumulate(right[crossing])
            starts = np.maximum(left[crossing], np.concatenate([[-np.inf], ends[:-1]]))
            area += float((high - low) * np.maximum(ends - starts, 0.0).sum())
    return area


def _union_of_spans(spans: Sequence[Span]) -> list[Span]:
    """The spans in order, those that touch joined."""
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and span.start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined


def _length(spans: Sequence[Span]) -> float:
    return sum(span.end - span.start for span in spans)


def _ratio(one: Sequence[Span], other: Sequence[Span], together: Sequence[Span]) -> float:
    union = _length(_union_of_spans(together))
    return max(0.0, (_length(one) + _length(other) - union) / union) if union > 0 else 0.0


def _is_in_polygon(polygon: Polygon, point: Point) -> bool:
    """Whether a point lies in a polygon by the even-odd rule, or on its edge."""
    inside = False
    for one, other in zip(polygon, (*polygon[1:], *polygon[:1]), strict=True):
        turn = (other.x - one.x) * (point.y - one.y) - (other.y - one.y) * (point.x - one.x)
        between = min(one.x, other.x) <= point.x <= max(one.x, other.x)
        if turn == 0 and between and min(one.y, other.y) <= point.y <= max(one.y, other.y):
            return True
        if (one.y > point.y) != (other.y > point.y):
            inside ^= (turn > 0) == (other.y > one.y)
    return inside
