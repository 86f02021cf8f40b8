"""Places that need no look at the picture: what they score stands beside the number of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from statistics import fmean

from snellen.core.place import Box, Places, Point, Span, load_places
from snellen.core.record import Record
from snellen.core.summary import Metric
from snellen.scoring.accuracy import CENTRE_PLACE, CHANCE, MIDDLE_SPAN, WHOLE_PICTURE, WHOLE_VIDEO
from snellen.scoring.places.metrics import PlaceMetric, grade_places
from snellen.scoring.places.overlap import area_of


def centre_place(shape: str, extent: Sequence[float]) -> Places:
    """The middle of a picture or a video: a box or a span of half its sides, or its centre."""
    size = tuple(extent)
    if shape == "span":
        return Places(spans=(Span(size[0] / 4, size[0] * 3 / 4),), extent=size)
    width, height = size
    if shape == "point":
        return Places(points=(Point(width / 2, height / 2),), extent=size)
    return Places(boxes=(Box(width / 4, height / 4, width * 3 / 4, height * 3 / 4),), extent=size)


def whole_picture(shape: str, extent: Sequence[float]) -> Places:
    """All of a picture or a video, as a box or a span."""
    size = tuple(extent)
    return (
        Places(spans=(Span(0.0, size[0]),), extent=size) if shape == "span" else Places(boxes=(Box(0.0, 0.0, *size),))
    )


def random_places(shape: str, count: int, extent: Sequence[float], number: int, seed: str) -> list[Places]:
    """A number of answers of `count` places each: points anywhere in the picture, boxes and spans
    between two such points."""
    draw = Random(f"places:{seed}")
    size = tuple(extent)
    answers = []
    for _ in range(number):
        points = [[draw.uniform(0, side) for side in size] for _ in range(2 * count)]
        pairs = list(zip(points[0::2], points[1::2], strict=True))
        if shape == "point":
            answers.append(Places(points=tuple(Point(*one) for one, _ in pairs), extent=size))
        elif shape == "span":
            answers.append(Places(spans=tuple(Span(*sorted(one + other)) for one, other in pairs), extent=size))
        else:  # A region is a rectangle.
            corners = [[sorted(axis) for axis in zip(one, other, strict=True)] for one, other in pairs]
            boxes = tuple(Box(left, top, right, bottom) for (left, right), (top, bottom) in corners)
            polygons = tuple(box.corners for box in boxes) if shape in ("polygon", "mask") else ()
            answers.append(Places(boxes=() if polygons else boxes, polygons=polygons, extent=size))
    return answers


def baseline_metrics(metric: PlaceMetric, shape: str, records: Sequence[Record]) -> dict[str, Metric]:
    """What the middle and the whole of each picture score by a metric, in percent, and where points
    are asked for a point anywhere in it: the share of the picture that the gold places cover. Empty
    if a record asks for something else, or in a picture of unknown size."""
    golds = [record.gold for record in records if record.gold]
    extents = [load_places(gold[0]).extent for gold in golds]
    if not golds or not all(extents) or any(record.kind != "place" for record in records):
        return {}
    is_time = shape == "span"
    answers: dict[str, Callable[[str, Sequence[float]], Places]] = {
        MIDDLE_SPAN if is_time else CENTRE_PLACE: centre_place
    }
    if shape != "point":
        answers[WHOLE_VIDEO if is_time else WHOLE_PICTURE] = whole_picture
    scores = {
        name: fmean(
            grade_places(metric, answer(shape, extent).text(), gold)
            for gold, extent in zip(golds, extents, strict=True)
        )
        for name, answer in answers.items()
    }
    if shape == "point" and all(not load_places(gold[0]).points for gold in golds):
        scores[CHANCE] = fmean(
            min(1.0, area_of(load_places(gold[0])) / math.prod(extent))
            for gold, extent in zip(golds, extents, strict=True)
        )
    return {name: Metric(name, 100 * score, len(golds)) for name, score in scores.items()}
