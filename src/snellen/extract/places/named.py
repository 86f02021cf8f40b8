"""Places whose numbers have names: `click(x=10, y=20)`, `{"x_min": 0.1, "y_min": 0.2, ...}`, "x: 10, y:
20", `{"x": 10, "y": 20, "width": 30, "height": 40}`. The names say which axis and which corner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from snellen.core import lazy_re as re
from snellen.core.place import BoxForm
from snellen.extract.places.written import NUMBER, WrittenPlace, parse_numbers

_ASSIGNED = re.compile(
    r"(?<![a-z0-9_])(?P<name>(?:x|y)[_-]?(?:min|max|cent(?:er|re)|start|end|top_left|bottom_right|[0-3])?|c[xy]|cent(?:er|re)_[xy]"
    r"|(?:min|max|start|end)_?[xy]|left|top|right|bottom|width|height|w|h)[\"']?\s*[:=]\s*"
    rf"(?P<value>[\"']?{NUMBER}\s?(?:%|px)?)(?![a-z0-9_?])",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[\s,;\"'(){}\[\]*`|/]{0,60}(?:and\s{0,9})?", re.IGNORECASE)
_ALIASES: Mapping[str, str] = {
    **dict.fromkeys(("xmin", "xstart", "minx", "startx", "xtopleft", "x0"), "left"),
    **dict.fromkeys(("ymin", "ystart", "miny", "starty", "ytopleft", "y0"), "top"),
    **dict.fromkeys(("xmax", "xend", "maxx", "endx", "xbottomright"), "right"),
    **dict.fromkeys(("ymax", "yend", "maxy", "endy", "ybottomright"), "bottom"),
    **dict.fromkeys(("xcenter", "xcentre", "centerx", "centrex"), "cx"),
    **dict.fromkeys(("ycenter", "ycentre", "centery", "centrey"), "cy"),
    "w": "width",
    "h": "height",
}
_LAYOUTS: tuple[tuple[tuple[str, ...], BoxForm], ...] = (
    (("x1", "y1", "x2", "y2"), "corners"),
    (("left", "top", "x1", "y1"), "corners"),
    (("left", "top", "right", "bottom"), "corners"),
    (("cx", "cy", "width", "height"), "centre-size"),
    (("left", "top", "width", "height"), "corner-size"),
    (("x", "y", "width", "height"), "corner-size"),
    (("cx", "cy"), "corners"),
    (("x", "y"), "corners"),
    (("x1", "y1"), "corners"),
)


def find_named(text: str) -> Iterator[WrittenPlace]:
    """Every place whose numbers have names, in the order of the text."""
    found: dict[str, str] = {}
    start = end = 0
    for match in _ASSIGNED.finditer(text):
        name = re.sub(r"[_-]", "", match["name"].lower())
        name = _ALIASES.get(name, name)
        if name in found or (found and _BETWEEN.fullmatch(text, end, match.start()) is None):
            yield from _place(found, start, end)
            found = {}
        if not found:
            start = match.start()
        found[name], end = match["value"], match.end()
    yield from _place(found, start, end)


def _place(found: Mapping[str, str], start: int, end: int) -> Iterator[WrittenPlace]:
    for names, form in _LAYOUTS:
        if all(name in found for name in names):
            numbers = parse_numbers(" ".join(found[name].strip("\"'").replace(" ", "") for name in names))
            if numbers is not None:
                spelling = f"named {names[0]}"
                yield WrittenPlace(
                    numbers.values,
                    start,
                    end,
                    spelling,
                    decimals=numbers.decimals,
                    mark=numbers.mark,
                    order="xy",
                    form=form,
                )
            return
