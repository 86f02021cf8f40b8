"""Metrics of boxes and points in a picture, by fractions of its width and height.

MEGA-Bench (arXiv:2410.10563), megabench/metrics/scoring. Boxes are (left, top, right, bottom).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from snellen.benchmarks.open_answers.mega_bench.grading.literals import to_boxes, to_coordinates
from snellen.core import lazy_re as re
from snellen.core.literals import evaluate_literal
from snellen.core.place import box_iou

_BOX_TAG = re.compile(r"<box>(.*?)</box>")
_POINT_TAG = re.compile(r"<point>(.*?)</point>")
_DECAY = 10


def mean_best_iou(reply: Any, gold: Any) -> float:
    """`nbbox_iou_tuple`: the mean over the reply's boxes of the highest overlap with a gold box."""
    reply, gold = (value if isinstance(value, tuple | list) else to_boxes(value) for value in (reply, gold))
    return _mean_best(reply, gold)


def single_iou(reply: Any, gold: Any) -> float:
    """`nbbox_iou_single`."""
    return _mean_best([evaluate_literal(reply)], [evaluate_literal(gold)])


def mean_iou_in_order(reply: Any, gold: Any) -> float:
    """`nbbox_iou_sequence`: the mean overlap of each box with the gold in its place; 0 for another
    number of boxes."""
    reply = reply if isinstance(reply, tuple | list) else to_boxes(str(reply))
    gold = gold if isinstance(gold, tuple | list) else to_boxes(gold)
    if len(reply) != len(gold):
        return 0.0
    return fmean(map(box_iou, reply, gold))


def tagged_iou(reply: Any, gold: Any) -> float:
    """`xml_nbbox_iou_single`: as `mean_best_iou`, of boxes in `<box>` tags."""
    reply, gold = (value if isinstance(value, tuple | list) else _tagged_boxes(value) for value in (reply, gold))
    if len(reply) == 4 and isinstance(reply[0], int | float):
        reply = [reply]
    return _mean_best(reply, gold)


def point_closeness(reply: Any, gold: Any) -> float:
    """`xml_norm_point_distance`: 1 - distance of two points in `<point>` tags, at least 0; 0 for a
    point outside the picture."""
    points = []
    for value in (reply, gold):
        point = value if isinstance(value, tuple | list) else _tagged_point(value)
        if point is None or len(point) != 2 or not all(0 <= number <= 1 for number in point):
            return 0.0
        points.append(point)
    return max(0.0, 1 - math.dist(*points))


def point_in_box(reply: Any, context: Mapping[str, Any]) -> float:
    """`xml_norm_point_in_bbox`: whether a point lies in one of the context's boxes."""
    boxes = [to_boxes(text)[0] for text in context["bounding_boxes"]]
    point = reply if isinstance(reply, tuple | list) else _tagged_point(reply)
    if not point or len(point) != 2:
        return 0.0
    x, y = point
    return float(any(left <= x <= right and top <= y <= low for left, top, right, low in boxes))


def keypoint_similarity(reply: Any, gold: Any) -> float:
    """`sequence_coords_similarity`: the mean of exp(-10 d / sqrt 2) over points in their order, d
    being the distance from the gold; 0 for another number of points."""
    reply, gold = (value if isinstance(value, tuple | list) else to_coordinates(value) for value in (reply, gold))
    if len(reply) != len(gold):
        return 0.0
    distances = map(math.dist, reply, gold)
    return fmean(math.exp(-_DECAY * distance / math.sqrt(2)) for distance in distances)


def _mean_best(boxes: Iterable[Sequence[float]], golds: Sequence[Sequence[float]]) -> float:
    best = [max((box_iou(box, gold) for gold in golds), default=0.0) for box in boxes]
    return fmean(best) if best else 0.0


def _tagged_boxes(text: Any) -> list[tuple[float, ...]]:
    if not isinstance(text, str):
        return []
    found = (_numbers(content) for content in _BOX_TAG.findall(text, 0, re.end_of_last(text, "</box>")))
    return [numbers for numbers in found if len(numbers) == 4]


def _tagged_point(text: Any) -> tuple[float, ...] | None:
    """The only point of a text; None if there is none, or more than one."""
    contents = _POINT_TAG.findall(text, 0, re.end_of_last(text, "</point>")) if isinstance(text, str) else []
    numbers = _numbers(contents[0]) if len(contents) == 1 else ()
    return numbers if len(numbers) == 2 else None


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part.strip()) for part in text.split(","))
    except ValueError:
        return ()
