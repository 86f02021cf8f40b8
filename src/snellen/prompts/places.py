"""The closing line of a question for a place: the form of the answer and its coordinate space."""

from __future__ import annotations

from snellen.core.place import PlaceShape, parse_space

_NUMBERS: dict[tuple[str, str], tuple[str, ...]] = {
    ("corners", "xy"): ("x1", "y1", "x2", "y2"),
    ("corners", "yx"): ("y1", "x1", "y2", "x2"),
    ("centre-size", "xy"): ("x", "y", "width", "height"),
    ("centre-size", "yx"): ("y", "x", "height", "width"),
    ("corner-size", "xy"): ("x", "y", "width", "height"),
    ("corner-size", "yx"): ("y", "x", "height", "width"),
}
_FORMS = {
    "corners": "",
    "centre-size": ", where x and y are the centre of the box",
    "corner-size": ", where x and y are its upper left corner",
}
_PIXELS = "x and y are pixels of the picture, from its left and upper edge"
_UNITS = {
    "pixels": _PIXELS,
    "sent-pixels": _PIXELS,
    "fractions": "x and y are fractions of the picture's width and height, between 0 and 1",
    "percent": "x and y are percent of the picture's width and height, between 0 and 100",
    "thousandths": "x and y run from 0 to 1000 over the picture's width and height",
    "bins": "x and y run from 0 to 1023 over the picture's width and height",
}
_TIMES: dict[str, str] = {
    "frames": "frames of the video, counted from 0",
    "percent": "percent of the video's length, between 0 and 100",
}
_NAMES: dict[PlaceShape, str] = {
    "box": "the bounding box",
    "point": "the point",
    "polygon": "the polygon of its outline",
    "mask": "the mask of its pixels",
    "span": "the span of time",
}
_PLURALS: dict[PlaceShape, str] = {
    "box": "bounding boxes",
    "point": "points",
    "polygon": "polygons of their outlines",
    "mask": "masks of their pixels",
    "span": "spans of time",
}
_KEYS: dict[PlaceShape, str] = {"box": "bbox_2d", "point": "point_2d", "polygon": "polygon", "mask": "mask"}


def describe_space(coordinates: str) -> str:
    """What x and y are in a coordinate space, by its name. Raises UsageError for an unknown one."""
    return _UNITS[parse_space(coordinates).unit]


def place_instruction(
    shape: PlaceShape, count: int | None = 1, coordinates: str = "pixels", *, labels: bool = False
) -> str:
    """How a place is to be answered: its form, how many (None for any number) and the coordinate space,
    by its name; of spans of time it is a `TimeUnit`. With `labels` several boxes or points are to
    be named, as JSON objects. Raises UsageError for an unknown space.
    """
    if shape == "span":
        form, explained = "[start, end]", f"; times are in {_TIMES.get(coordinates, 'seconds')}"
    else:
        space = parse_space(coordinates)
        names = _NUMBERS[space.form, space.order] if shape == "box" else tuple(space.order)
        form = f"[{', '.join(names)}]"
        if shape in ("polygon", "mask"):
            form = f"[{', '.join(f'[{names[0]}{corner}, {names[1]}{corner}]' for corner in (1, 2, 3))}, ...]"
        if shape == "mask":
            form = f'COCO\'s run lengths {{"size": [height, width], "counts": ...}} or a polygon {form}'
        explained = f"{_FORMS[space.form] if shape == 'box' else ''}; {describe_space(coordinates)}"
    if count == 1:
        return f"Answer with {_NAMES[shape]} alone, as {form}{explained}."
    if labels and shape != "span":
        form = f'{{"{_KEYS[shape]}": {form}, "label": "..."}}'
    asked, none = ("all", ", or [] if there are none") if count is None else (f"the {count}", "")
    return f"Answer with {asked} {_PLURALS[shape]} alone, as a JSON list [{form}, ...]{none}{explained}."
