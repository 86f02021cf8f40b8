"""Parse the point or box that a reply gives for a place in a picture.

Known forms: `click(x=0.5, y=0.3)`, `{"x": 10, "y": 20}`, `<point x="10" y="20">`, `(10, 20)`,
`[10, 20]`, boxes of four numbers in brackets or by name, and `(10, 20), (30, 40)`. The last one in
the reply counts, behind any thinking. A reply without any of these that holds exactly two or four
numbers means these. A box stands for its centre. Numbers in `<box>` and `<|box_start|>` tags are
thousandths of the picture, as Qwen-VL and InternVL write them, unless none is above 1.
"""

from __future__ import annotations

from typing import NamedTuple

from snellen.core import lazy_re as re
from snellen.core.output import Answer, ParsedAnswer, Truncated, Unparsed
from snellen.extract.open_text import parse_whole

_NUMBER = r"-?(?:\d+(?:\.\d+)?|\.\d+)%?"
_COMMA = r"(?:\s*,\s*|\s+)"
_GROUP = rf"({_NUMBER}){_COMMA}({_NUMBER})"


def _argument(name: str) -> str:
    return rf"\b{name}[\"']?\s*[:=]\s*[\"']?({_NUMBER})[\"']?"


_FORMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"[,\s]*".join(map(_argument, ("x1", "y1", "x2", "y2"))),
        rf"[(\[]\s*{_GROUP}\s*[)\]]\s*,?\s*[(\[]\s*{_GROUP}\s*[)\]]",
        rf"[(\[]\s*{_GROUP}{_COMMA}{_GROUP}\s*[)\]]",
        r"[,;\s]*".join(map(_argument, ("x", "y"))),
        rf"[(\[]\s*{_GROUP}\s*[)\]]",
        rf">\s*{_GROUP}\s*<",
    )
)
_BOX_TAG = re.compile(r"<(?:box|\|box_start\|)>\s*[(\[]?\s*\Z")
_THOUSAND = 1000
_NUMBERS = re.compile(rf"(?<![\w.])({_NUMBER})(?![\w%])")


class Point(NamedTuple):
    """A place in a picture, from its left and upper edge, on any scale."""

    x: float
    y: float


def parse_point(reply: str, stop_reason: str = "stop") -> Answer:
    """The point of a reply as "x, y" on the reply's own scale; percent and thousandths in tags as
    fractions."""
    whole = parse_whole(reply, stop_reason=stop_reason)
    if not isinstance(whole, ParsedAnswer) or whole.span is None:
        return whole
    start, end = whole.span
    matches = [match for form in _FORMS for match in form.finditer(reply, start, end)]
    if matches:
        # Of forms that end together the longest: a point may be the corner of a box.
        last = max(matches, key=lambda match: (match.end(), -match.start()))
        # The tag is short.
        before = reply[max(0, last.start() - 20) : last.start()]
        scale = _THOUSAND if _BOX_TAG.search(before) else 1
        return _answer(last.groups(), "point or box", last.span(), scale)
    numbers = [match[1] for match in _NUMBERS.finditer(reply, start, end)]
    if len(numbers) in (2, 4):
        return _answer(tuple(numbers), "only numbers", whole.span)
    return Truncated() if stop_reason == "length" else Unparsed()


def read_point(answer: str) -> Point:
    """The point of an answer of `parse_point`."""
    x, y = map(float, answer.split(", "))
    return Point(x, y)


def centre(numbers: tuple[float, ...]) -> Point | None:
    """A point of two numbers, or the centre of a box of four; None for any other count."""
    if len(numbers) == 2:
        return Point(*numbers)
    if len(numbers) == 4:
        left, top, right, bottom = numbers
        return Point((left + right) / 2, (top + bottom) / 2)
    return None


def _answer(numbers: tuple[str, ...], rule: str, span: tuple[int, int], scale: int = 1) -> Answer:
    values = tuple(map(_value, numbers))
    if max(values) > 1:
        values = tuple(value / scale for value in values)
    point = centre(values)
    assert point is not None
    return ParsedAnswer(f"{point.x:.8g}, {point.y:.8g}", rule, span)


def _value(number: str) -> float:
    return float(number[:-1]) / 100 if number.endswith("%") else float(number)
