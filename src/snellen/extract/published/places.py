"""What all readers of places by the rules of published scorers share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from snellen.core.errors import DataError
from snellen.core.output import Answer, ParsedAnswer, Unparsed
from snellen.core.place import Box, Places, Point, Span
from snellen.core.sample import Sample

RULE = "published"


def picture_size(sample: Sample) -> tuple[float, float]:
    """Width and height of the picture in pixels. Raises DataError if they are unknown."""
    if len(sample.extent) != 2:
        raise DataError("reading coordinates needs the picture's width and height, which are unknown")
    width, height = sample.extent
    return width, height


def places_answer(
    sample: Sample,
    *,
    boxes: Iterable[Box] = (),
    points: Iterable[Point] = (),
    spans: Iterable[Span] = (),
    labels: Sequence[str] = (),
) -> Answer:
    """The answer that names these places, in pixels or seconds; none if a number is not finite, as one
    of hundreds of digits is not."""
    named = tuple(labels) if any(labels) else ()
    places = Places(tuple(boxes), tuple(points), spans=tuple(spans), labels=named, extent=sample.extent)
    held = (*places.boxes, *places.points, *places.spans)
    is_finite = all(math.isfinite(number) for place in held for number in place)
    return ParsedAnswer(places.text(), RULE) if is_finite else Unparsed()
