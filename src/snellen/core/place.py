"""Places in a picture or a video as answers: boxes, points, polygons, masks and spans of time, and
the coordinate spaces in which models write them.

Inside Snellen places are in pixels of the original picture, from its left and upper edge, and in
seconds from the start of the video. Gold answers and parsed answers are the text of a `Places`, so
that a record needs nothing else to be scored and drawn again.

COCO writes masks as counts of runs of pixels column by column, from top to bottom, the first run outside the mask
(https://github.com/cocodataset/cocoapi, `maskApi`). Its compressed texts hold each run, from the fourth on as the
difference from the one two before, in groups of five bits with a sixth for "more follows", as the characters from 48
on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, groupby, product
from typing import Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import Struct

from snellen.core.errors import DataError, UsageError

PlaceShape = Literal["box", "point", "polygon", "mask", "span"]


class Box(NamedTuple):
    """A rectangle by its corners, in pixels from the left and upper edge."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def centre(self) -> Point:
        return Point((self.left + self.right) / 2, (self.top + self.bottom) / 2)

    @property
    def corners(self) -> tuple[Point, ...]:
        """Its corners, clockwise from the upper left one."""
        left, top, right, bottom = self
        return Point(left, top), Point(right, top), Point(right, bottom), Point(left, bottom)


class Point(NamedTuple):
    """A position, from the left and upper edge."""

    x: float
    y: float


def box_iou(one: Sequence[float], other: Sequence[float]) -> float:
    """IoU of two boxes (left, top, right, bottom), 0..1; 0 if they do not overlap, as boxes without
    an area never do."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return shared / (areas - shared)


def share_inside(box: Sequence[float], region: Sequence[float]) -> float:
    """The share of a box that lies in a region, 0..1: COCO's overlap with a crowd
    (https://github.com/cocodataset/cocoapi, `maskApi`, `bbIou`)."""
    width = min(box[2], region[2]) - max(box[0], region[0])
    height = min(box[3], region[3]) - max(box[1], region[1])
    area = (box[2] - box[0]) * (box[3] - box[1])
    return width * height / area if width > 0 and height > 0 and area > 0 else 0.0


class Span(NamedTuple):
    """A span of time in seconds."""

    start: float
    end: float


class Mask(NamedTuple):
    """A set of pixels: width and height of its picture, and run lengths as COCO counts them (columns
    from top to bottom, the first run outside)."""

    width: int
    height: int
    runs: tuple[int, ...]

    def bounds(self) -> Box:
        """The smallest box around its pixels, of whole pixels; without an area if it has none."""
        ends = list(accumulate(self.runs))
        inside = [(start, end - 1) for start, end in zip(ends[0::2], ends[1::2], strict=False) if start < end]
        if not inside:
            return Box(0, 0, 0, 0)
        high = self.height
        # A run that goes on in the next column touches the lower and the upper edge.
        tops = [0 if start // high != last // high else start % high for start, last in inside]
        lows = [high - 1 if start // high != last // high else last % high for start, last in inside]
        return Box(inside[0][0] // high, min(tops), inside[-1][1] // high + 1, max(lows) + 1)


class Places(Struct, frozen=True, gc=False, omit_defaults=True):
    """The places of one answer; of most answers only one of the fields is filled."""

    boxes: tuple[Box, ...] = ()
    points: tuple[Point, ...] = ()
    polygons: tuple[tuple[Point, ...], ...] = ()
    masks: tuple[Mask, ...] = ()
    spans: tuple[Span, ...] = ()
    labels: tuple[str, ...] = ()
    """A label for each place, in their order; empty if there are none."""
    scores: tuple[float, ...] = ()
    """A confidence for each place, in their order; empty unless the reply states all of them."""
    extent: tuple[float, ...] = ()
    """What the places are in: width and height of the picture in pixels, or the duration of the video
    in seconds; empty if unknown."""
    crowds: tuple[Box, ...] = ()
    """Of a gold answer: regions of many objects that are not marked one by one (COCO's `iscrowd`). A box
    of a reply within one is neither right nor wrong."""
    crowd_labels: tuple[str, ...] = ()
    """A label for each of them, in their order; empty if there are none."""

    def text(self) -> str:
        """The places as JSON, the form of gold and parsed answers."""
        return msgspec.json.encode(self).decode()

    def __len__(self) -> int:
        return sum(map(len, _shapes(self)))


def load_places(text: str) -> Places:
    """The places of a gold or parsed answer. Raises DataError for another text."""
    try:
        return msgspec.json.decode(text, type=Places)
    except msgspec.MsgspecError as error:
        raise DataError(f"{text[:60]!r} names no places: {error}") from error


Unit = Literal["pixels", "sent-pixels", "fractions", "percent", "thousandths", "bins"]
"""`pixels`: of the original picture; `sent-pixels`: of the picture as the model saw it, after
resizing; fractions, percent and thousandths run over its width and height; `bins` are the 1,024
location tokens of PaliGemma (Florence-2 has 1,000, which are thousandths)."""
Order = Literal["xy", "yx"]
BoxForm = Literal["corners", "centre-size", "corner-size"]
_RANGES: dict[str, float] = {"fractions": 1.0, "percent": 100.0, "thousandths": 1000.0, "bins": 1024.0}
_DIGITS: dict[str, int] = {"fractions": 3, "percent": 1}
"""Digits behind the point in which models write places; of other units none."""


class Space(Struct, frozen=True):
    """How numbers stand for places in a picture: unit, order of the axes, and what the four numbers
    of a box are."""

    unit: Unit = "pixels"
    order: Order = "xy"
    form: BoxForm = "corners"

    @property
    def name(self) -> str:
        """Its name, as `parse_space` takes it."""
        suffixes = [self.order] * (self.order != "xy") + [self.form] * (self.form != "corners")
        return "-".join([self.unit, *suffixes])

    @property
    def limit(self) -> float | None:
        """The largest number that a coordinate may be; None where the picture's size says."""
        return _RANGES.get(self.unit)

    def read_point(self, numbers: Sequence[float], extent: Sequence[float], sent: Sequence[float] = ()) -> Point:
        """The point of two numbers in pixels of the original picture of the size `extent`; `sent` is
        the size at which the model saw it. Raises DataError if the space needs a size that is unknown.
        """
        across, down = self._pixels_per_unit(extent, sent)
        first, second = numbers
        x, y = (second, first) if self.order == "yx" else (first, second)
        return Point(x * across, y * down)

    def read_box(self, numbers: Sequence[float], extent: Sequence[float], sent: Sequence[float] = ()) -> Box:
        """The box of four numbers, as `read_point`."""
        one = self.read_point(numbers[:2], extent, sent)
        other = self.read_point(numbers[2:], extent, sent)
        if self.form == "corner-size":
            return Box(*one, one.x + other.x, one.y + other.y)
        if self.form == "centre-size":
            half = Point(other.x / 2, other.y / 2)
            return Box(one.x - half.x, one.y - half.y, one.x + half.x, one.y + half.y)
        return Box(*one, *other)

    def write_point(self, point: Point, extent: Sequence[float], sent: Sequence[float] = ()) -> tuple[float, float]:
        """The numbers of a point: the way back of `read_point`."""
        across, down = self._pixels_per_unit(extent, sent)
        x, y = point.x / across, point.y / down
        return (y, x) if self.order == "yx" else (x, y)

    def write_box(self, box: Box, extent: Sequence[float], sent: Sequence[float] = ()) -> tuple[float, ...]:
        """The numbers of a box: the way back of `read_box`."""
        width, height = box.right - box.left, box.bottom - box.top
        one, other = Point(box.left, box.top), Point(box.right, box.bottom)
        if self.form != "corners":
            other = Point(width, height)
        if self.form == "centre-size":
            one = Point(box.left + width / 2, box.top + height / 2)
        return (*self.write_point(one, extent, sent), *self.write_point(other, extent, sent))

    def _pixels_per_unit(self, extent: Sequence[float], sent: Sequence[float]) -> tuple[float, float]:
        if self.unit == "pixels":
            return 1.0, 1.0
        if len(extent) != 2:
            raise DataError(
                f"coordinates in {self.unit} need the picture's width and height, which are unknown; expected a "
                "picture that can be read, or the columns width and height"
            )
        if self.unit == "sent-pixels":
            if len(sent) != 2:
                raise DataError("coordinates in sent-pixels need the size at which the model saw the picture")
            return extent[0] / sent[0], extent[1] / sent[1]
        whole = _RANGES[self.unit]
        return extent[0] / whole, extent[1] / whole


TimeUnit = Literal["seconds", "frames", "percent"]
"""What the numbers of a span are: seconds, frames of the video counted from 0, or percent of its duration."""


def units_per_second(unit: str, extent: Sequence[float], fps: float) -> float:
    """How many of a `TimeUnit` a second has, in a video of the duration `extent` with `fps` frames each second.
    Raises DataError where this is unknown."""
    if unit == "frames":
        if fps <= 0:
            raise DataError(
                "spans in frames need the frames of each second; expected a column fps, or the video's file"
            )
        return fps
    if unit == "percent":
        if len(extent) != 1:
            raise DataError("spans in percent need the length of the video; expected a column duration in seconds")
        return 100 / extent[0]
    return 1.0


def all_spaces() -> Iterator[Space]:
    """Every coordinate space, the plain ones of each unit first."""
    for order, form, unit in product(get_args(Order), get_args(BoxForm), get_args(Unit)):
        yield Space(unit, order, form)


def parse_space(name: str) -> Space:
    """The space of a name: a unit, then `-yx` where the vertical coordinate comes first, then
    `-centre-size` or `-corner-size` where boxes are not two corners. Raises UsageError."""
    for space in all_spaces():
        if space.name == name:
            return space
    raise UsageError(
        f"{name!r} is no coordinate space; expected one of {', '.join(get_args(Unit))}, "
        "then -yx where y comes first, then -centre-size or -corner-size where boxes are not two corners"
    )


def write_places(places: Places, space: Space, *, exact: bool = True) -> str:
    """The places as a reply in a coordinate space: JSON of one place, of a list of places, or of
    objects with labels; a mask by its run lengths. Numbers are `exact`, or have as many digits as
    models write in the space. Raises DataError if the space needs a size that is unknown."""
    extent = places.extent
    written: list[object] = [space.write_box(box, extent, extent) for box in places.boxes]
    written += [space.write_point(point, extent, extent) for point in places.points]
    written += [[space.write_point(point, extent, extent) for point in polygon] for polygon in places.polygons]
    written += [{"size": (mask.height, mask.width), "counts": mask.runs} for mask in places.masks]
    written += places.spans
    if not exact:
        digits = 1 if places.spans else _DIGITS.get(space.unit, 0)
        written = [_round_numbers(place, digits) for place in written]
    if places.labels:
        key = next(key for key, held in zip(_KEYS, _shapes(places), strict=True) if held)
        written = [{key: place, "label": label} for place, label in zip(written, places.labels, strict=True)]
    alone = len(written) == 1 and not places.labels
    return msgspec.json.encode(written[0] if alone else written).decode()


_KEYS = ("bbox_2d", "point_2d", "polygon", "mask", "span")


def _shapes(places: Places) -> tuple[Sequence[object], ...]:
    return places.boxes, places.points, places.polygons, places.masks, places.spans


def _point_in_mask(mask: Mask) -> Point:
    """The middle of the longest run of a mask, in which a pixel is: what a reply can name of it."""
    longest = max(range(1, len(mask.runs), 2), key=lambda number: mask.runs[number])
    x, y = divmod(sum(mask.runs[:longest]) + mask.runs[longest] // 2, mask.height)
    return Point(x + 0.5, y + 0.5)


def _round_numbers(place: object, digits: int) -> object:
    if isinstance(place, Sequence):
        return [_round_numbers(one, digits) for one in place]
    return (round(place, digits) if digits else round(place)) if isinstance(place, float) else place


def points_in(places: Places) -> Places:
    """A point in each of the boxes, polygons and masks that have a pixel; other places as they are."""
    points = [box.centre for box in places.boxes]
    points += map(_point_in_polygon, places.polygons)
    points += [_point_in_mask(mask) for mask in places.masks if any(mask.runs[1::2])]
    return msgspec.structs.replace(places, boxes=(), polygons=(), masks=(), points=(*places.points, *points))


def _point_in_polygon(polygon: Sequence[Point]) -> Point:
    """The middle of the widest part of a polygon between the two middle heights of its corners."""
    heights = sorted({corner.y for corner in polygon})
    if len(heights) < 2:
        return polygon[0]
    middle = (heights[(len(heights) - 1) // 2] + heights[(len(heights) + 1) // 2]) / 2
    edges = zip(polygon, (*polygon[1:], *polygon[:1]), strict=True)
    crossings = sorted(
        one.x + (middle - one.y) / (other.y - one.y) * (other.x - one.x)
        for one, other in edges
        if (one.y > middle) != (other.y > middle)
    )
    left, right = max(zip(crossings[0::2], crossings[1::2], strict=True), key=lambda ends: ends[1] - ends[0])
    return Point((left + right) / 2, middle)


_FIRST = 48
_MORE, _SIGN, _BITS = 0x20, 0x10, 5


def read_run_lengths(value: Mapping[str, Any]) -> Mask:
    """The mask of COCO's `{"size": [height, width], "counts": ...}`, compressed or a list. Raises
    DataError for runs that do not fill its picture, and KeyError, TypeError or ValueError for another
    object."""
    height, width = map(int, value["size"])
    counts = value["counts"]
    mask = Mask(width, height, runs_of_text(counts) if isinstance(counts, str) else tuple(map(int, counts)))
    check_runs(mask)
    return mask


def check_runs(mask: Mask) -> None:
    """Raise DataError for runs that do not fill the picture of a mask."""
    total = mask.width * mask.height
    if min(mask.runs, default=0) < 0 or sum(mask.runs) != total:
        raise DataError(
            f"the run lengths of a mask count {sum(mask.runs)} pixels; its picture of {mask.width}x{mask.height} "
            f"has {total}"
        )


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


def mask_of_cells(cells: Sequence[Sequence[bool]], width: int, height: int) -> Mask:
    """The mask of a grid of equal cells over a picture, given row by row; a pixel belongs to the cell in
    which its centre lies."""
    rows, columns = len(cells), len(cells[0])
    row_of = [(2 * y + 1) * rows // (2 * height) for y in range(height)]
    column_of = [(2 * x + 1) * columns // (2 * width) for x in range(width)]
    pixels = (cells[row][column] for column in column_of for row in row_of)
    runs = [(inside, sum(1 for _ in run)) for inside, run in groupby(pixels)]
    lengths = [length for _, length in runs]
    return Mask(width, height, tuple([0, *lengths] if runs and runs[0][0] else lengths))
