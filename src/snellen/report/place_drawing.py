"""Gold and answered places as a drawing: over a picture in the coordinates of the original, or over
the duration of a video.

A drawing is a tree of SVG elements (`report.elements`). Gold has solid lines and filled points, the answer
dashed lines and crosses: nothing is said by colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, groupby, pairwise

from msgspec import Struct

from snellen.core.answer_text import each_place, number_text, places_text
from snellen.core.arrays import np
from snellen.core.errors import DataError
from snellen.core.place import Box, Mask, Places, Point, Span, load_places
from snellen.core.terminal_text import shorten
from snellen.report.elements import Element
from snellen.scoring.places.masks import pixels_of_mask
from snellen.scoring.places.overlap import region_iou

_COLOURS = {"gold": "#12508f", "answer": "#b4340a"}
_TIME_COLOURS = {"gold": "#3a83d0", "answer": "#d9632a"}
"""On the ground of a page, which may be light or dark."""
_DASHES = {"gold": {}, "answer": {"stroke-dasharray": "7 4"}}
_LETTERS, _MANY_LETTERS, _FEW = 24, 34, 3
"""Heights of a letter in the longer side of a picture, with few places and with more."""
_MOST_LETTERS = 24
"""Of a label in the drawing; its title has all."""


class PlaceDrawing(Struct, frozen=True):
    """Both places of a sample as a page draws them."""

    svg: Element
    text: str
    """What is drawn, in words."""
    focus: tuple[float, ...] = ()
    """The box around all places, in pixels; empty for spans and without places."""
    extent: tuple[float, ...] = ()
    """`Places.extent`."""
    spans: dict[str, tuple[Span, ...]] = {}
    """The spans of time of `gold` and `answer`, in seconds."""
    overlap: float | None = None
    """Intersection over union, 0..1, of the regions of the answer and of the nearest gold answer; None
    where one of them is of points, or empty."""


def draw_places(gold: Sequence[str], answer: str | None) -> PlaceDrawing | None:
    """The drawing of a sample's gold answers and of its own, each the text of a `Places`; None if
    nothing says how large the picture is, or how long the video."""
    try:
        sides = [("gold", load_places(text)) for text in gold]
        sides += [("answer", load_places(answer))] if answer is not None else []
        return _draw(sides)
    except DataError:
        return None


def _draw(sides: Sequence[tuple[str, Places]]) -> PlaceDrawing | None:
    """The drawing of some places. Raises DataError for a mask that does not fill its picture."""
    extent = next((places.extent for _, places in sides if places.extent), ())
    text = "; ".join(f"{side}: {places_text(places)}" for side, places in sides)
    if len(extent) == 1 and extent[0] > 0:
        spans = {side: places.spans for side, places in reversed(sides)}
        return PlaceDrawing(_draw_spans(sides, extent[0], text), text, (), extent, spans, _overlap(sides))
    if len(extent) != 2 or min(extent) <= 0:
        return None
    # White below all lines, so that none hides another one, and letters above them.
    groups = chain.from_iterable(zip(*(_draw_side(side, places, extent) for side, places in sides), strict=True))
    frame = {"viewBox": f"0 0 {extent[0]:g} {extent[1]:g}", "class": "places", "role": "img", "aria-label": text}
    bounds = _bounds(places for _, places in sides)
    return PlaceDrawing(["svg", frame, *groups], text, bounds, extent, {}, _overlap(sides))


def _overlap(sides: Sequence[tuple[str, Places]]) -> float | None:
    *golds, (side, answer) = sides
    if side != "answer" or not _has_area(answer):
        return None
    return max((region_iou(gold, answer) for _, gold in golds if _has_area(gold)), default=None)


def _has_area(places: Places) -> bool:
    return bool(len(places)) and not places.points


def _draw_side(side: str, places: Places, extent: Sequence[float]) -> tuple[Element, Element, Element]:
    """The places of one side: wide white lines that part them from any picture, lines in the side's
    colour with titles that say the place in words, and labels."""
    size = max(extent) / (_LETTERS if len(places) <= _FEW else _MANY_LETTERS)
    shapes = [
        *map(_box_shape, places.boxes),
        *(_point_shape(point, side, size) for point in places.points),
        *(["polygon", {"points": " ".join(f"{x:g},{y:g}" for x, y in polygon)}] for polygon in places.polygons),
        *(["path", {"d": outline_mask(mask)}] for mask in places.masks),
    ]
    anchors = [_anchor(box, side, size, extent) for box in _boxes(places, size / 2)]
    labels = places.labels if len(places.labels) == len(shapes) else ("",) * len(shapes)
    still = {"fill": "none", "vector-effect": "non-scaling-stroke"}
    halo = {**still, "class": "halo", "stroke": "#fff", "stroke-width": 5}
    line = {**still, "class": "line", "stroke": _COLOURS[side], "stroke-width": 2.5, **_DASHES[side]}
    empty: list[Element] = [["g", {"class": f"place {side}"}] for _ in range(3)]
    halos, lines, letters = empty
    for number, (shape, (noun, text), anchor, label) in enumerate(
        zip(shapes, each_place(places), anchors, labels, strict=True), 1
    ):
        name, attributes = shape
        title: Element = ["title", {}, f"{side}: {noun} {text}{f' ({label})' if label else ''}"]
        halos.append([name, halo | attributes | {"stroke-dasharray": "none"}])
        lines.append([name, line | attributes, title])
        shown = shorten(label, _MOST_LETTERS) or (side if len(shapes) == 1 else str(number))
        letters.append(_letters(shown, anchor, side, size))
    return halos, lines, letters


def _letters(text: str, anchor: tuple[float, float], side: str, size: float) -> Element:
    x, y = anchor
    look = {"fill": _COLOURS[side], "stroke": "#fff", "stroke-width": f"{size / 4:.3g}", "paint-order": "stroke"}
    place = {"x": f"{x:.4g}", "y": f"{y:.4g}", "font-size": f"{size:.4g}", "font-family": "sans-serif"}
    return ["text", {**place, **look, "text-anchor": "start" if side == "gold" else "end", "font-weight": 600}, text]


def _anchor(box: Box, side: str, size: float, extent: Sequence[float]) -> tuple[float, float]:
    """Where the letters of a place begin (gold, above its left corner) or end (answer, below its
    right corner), within the picture."""
    width, height = extent
    if side == "gold":
        return min(max(box.left, 0.0), width - 3 * size), max(box.top - size / 3, size)
    return max(min(box.right, width), 4 * size), min(box.bottom + size, height - size / 4)


def _box_shape(box: Box) -> Element:
    width, height = box.right - box.left, box.bottom - box.top
    return ["rect", {"x": f"{box.left:g}", "y": f"{box.top:g}", "width": f"{width:g}", "height": f"{height:g}"}]


def _point_shape(point: Point, side: str, size: float) -> Element:
    """A ring with its centre for gold, a cross for the answer, as large as half a letter."""
    x, y, r = point.x, point.y, size / 2
    if side == "gold":
        ring = f"M{x - r:.5g} {y:.5g}a{r:.4g} {r:.4g} 0 1 0 {2 * r:.4g} 0a{r:.4g} {r:.4g} 0 1 0 {-2 * r:.4g} 0"
        return ["path", {"d": f"{ring}M{x:.5g} {y:.5g}h.01"}]
    legs = f"M{x - r:.5g} {y - r:.5g}l{2 * r:.4g} {2 * r:.4g}M{x - r:.5g} {y + r:.5g}l{2 * r:.4g} {-2 * r:.4g}"
    return ["path", {"d": legs, "stroke-dasharray": "none"}]


def _boxes(places: Places, radius: float = 0.0) -> list[Box]:
    """A box around each place, `radius` pixels away from a point."""
    dots = (Box(x - radius, y - radius, x + radius, y + radius) for x, y in places.points)
    around = [*places.boxes, *dots]
    for polygon in places.polygons:
        across, down = zip(*(polygon or (Point(0, 0),)), strict=True)
        around.append(Box(min(across), min(down), max(across), max(down)))
    return [*around, *(mask.bounds() for mask in places.masks)]


def _bounds(sides: Iterable[Places]) -> tuple[float, ...]:
    boxes = [box for places in sides for box in _boxes(places)]
    if not boxes:
        return ()
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)


def _draw_spans(sides: Sequence[tuple[str, Places]], duration: float, text: str) -> Element:
    """A row of bars for each side over the duration, with times."""
    rows: Element = ["svg", {"class": "places spans", "width": "100%", "height": 30 * len(sides) + 18}]
    rows[1] |= {"role": "img", "aria-label": text}
    for number, (side, places) in enumerate(sides):
        rows.append(_span_row(side, places.spans, duration, 30.0 * number))
    end = {"y": 30 * len(sides) + 13, "font-size": 11, "font-family": "sans-serif", "fill": "currentColor"}
    rows.append(["text", {**end, "x": "0%"}, "0 s"])
    rows.append(["text", {**end, "x": "100%", "text-anchor": "end"}, f"{number_text(duration)} s"])
    return rows


def _span_row(side: str, spans: Sequence[Span], duration: float, top: float) -> Element:
    line = {"stroke": "currentColor", "stroke-opacity": 0.35, "x1": "0%", "x2": "100%"}
    row: Element = ["g", {"class": f"place {side}"}, ["line", {**line, "y1": top + 22, "y2": top + 22}]]
    for span in spans:
        first, last = (100 * min(1.0, max(0.0, time / duration)) for time in span)
        colour = _TIME_COLOURS[side]
        fill = {"fill": colour} if side == "gold" else {"fill": "none", "stroke": colour, **_DASHES[side]}
        shape = {"x": f"{first:.2f}%", "width": f"{max(0.4, last - first):.2f}%", "y": top + 17, "height": 10}
        row.append(["rect", {**shape, **fill, "stroke-width": 2, "class": "time"}])
        at_end = first > 60
        letters = {"x": f"{last if at_end else first:.2f}%", "y": top + 12, "text-anchor": "end" if at_end else "start"}
        words = f"{side} {number_text(span.start)} – {number_text(span.end)} s"
        row.append(["text", {**letters, "font-size": 12, "font-family": "sans-serif", "fill": "currentColor"}, words])
    return row


_MAX_SIDE = 512
"""Pixels of the longer side at which an outline is followed."""
_SIDES = ((-1, 0, (0, 0), (1, 0)), (0, 1, (1, 0), (0, 1)), (1, 0, (1, 1), (-1, 0)), (0, -1, (0, 1), (0, -1)))
"""The four sides of a pixel: where its neighbour is (down, across), and the corner (x, y) at which
the edge begins, with the step to its end. All edges lead clockwise around the pixel."""

_Corner = tuple[int, int]


def outline_mask(mask: Mask) -> str:
    """The outline of a mask along the edges of its pixels, as the data of an SVG path; of a large
    picture along those of every second, third, ... pixel. Raises DataError."""
    step = -(-max(mask.width, mask.height) // _MAX_SIDE)
    pixels = np.pad(pixels_of_mask(mask)[::step, ::step], 1)
    ends: dict[_Corner, list[_Corner]] = {}
    for down, across, (x0, y0), (dx, dy) in _SIDES:
        is_edge = pixels & ~np.roll(pixels, (-down, -across), (0, 1))
        for y, x in np.argwhere(is_edge).tolist():
            start = (x - 1 + x0, y - 1 + y0)
            ends.setdefault(start, []).append((start[0] + dx, start[1] + dy))
    paths = []
    while ends:
        corners = [next(iter(ends))]
        while (following := ends.get(corners[-1])) is not None:
            corners.append(following.pop())
            if not following:
                del ends[corners[-2]]
        paths.append(_path_along(corners, step))
    return "".join(paths)


def _path_along(corners: Sequence[_Corner], step: int) -> str:
    """A closed path along corners that are 1 apart; edges of one direction are joined."""
    steps = ((x1 - x0, y1 - y0) for (x0, y0), (x1, y1) in pairwise(corners))
    path = f"M{corners[0][0] * step} {corners[0][1] * step}"
    for (dx, dy), edges in groupby(steps):
        length = step * len(list(edges))
        path += f"h{dx * length}" if dx else f"v{dy * length}"
    return f"{path}z"
