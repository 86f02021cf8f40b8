"""How published scorers of ScreenSpot read the point of a reply.

`parse_vlmevalkit`  VLMEvalKit, all versions: the first "x=0.5, y=0.3", else the upper left corner;
                    fractions if both are up to 1, else pixels.
`parse_seeclick`    ScreenSpot's authors: the first box in Qwen-VL's form, in thousandths, if the
                    word "box" occurs; else all numbers, of which there must be two or four.
`parse_pro`         ScreenSpot-Pro's authors, for models that answer in words: the first [[x,y]],
                    else the centre of the first [[x0,y0,x1,y1]], both without blanks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from snellen.core import lazy_re as re
from snellen.core.output import Answer, ParsedAnswer
from snellen.core.place import Box, Places, Point
from snellen.core.sample import Sample
from snellen.extract.unanswered import unparsed_answer

_CLICK = re.compile(r"x=([\d.]+), y=([\d.]+)")
_NUMBERS = re.compile(r"-?\d+\.?\d*")
_QWEN_BOX = re.compile(r"<box>\((\d+),(\d+)\),\((\d+),(\d+)\)</box>")
_POSITIVE = r"(\d+\.\d+|\d+)"
_BRACKETED = tuple(re.compile(rf"\[\[{','.join([_POSITIVE] * count)}\]\]") for count in (2, 4))
_THOUSAND = 1000


def parse_vlmevalkit(reply: str, stop_reason: str, sample: Sample, sent_sizes: Sequence[Sequence[float]]) -> Answer:
    """An empty reply is a point, too: the upper left corner."""
    point = _point_vlmevalkit(reply)
    return _answer(reply, stop_reason, point, sample, in_pixels=point is not None and max(point) > 1)


def parse_seeclick(reply: str, stop_reason: str, sample: Sample, sent_sizes: Sequence[Sequence[float]]) -> Answer:
    return _answer(reply, stop_reason, _point_seeclick(reply), sample)


def parse_pro(reply: str, stop_reason: str, sample: Sample, sent_sizes: Sequence[Sequence[float]]) -> Answer:
    return _answer(reply, stop_reason, _point_pro(reply), sample)


def _answer(reply: str, stop_reason: str, point: Point | None, sample: Sample, *, in_pixels: bool = False) -> Answer:
    if point is None or not all(map(math.isfinite, point)) or len(sample.extent) != 2:
        return unparsed_answer(reply, stop_reason)
    width, height = sample.extent
    if not in_pixels:
        point = Point(point.x * width, point.y * height)
    return ParsedAnswer(Places(points=(point,), extent=sample.extent).text(), "raw reply")


def _centre(numbers: tuple[float, ...]) -> Point | None:
    """A point of two numbers, or the centre of a box of four; None for any other count."""
    if len(numbers) == 2:
        return Point(*numbers)
    return Box(*numbers).centre if len(numbers) == 4 else None


def _point_vlmevalkit(reply: str) -> Point | None:
    """None for numbers with two dots."""
    match = _CLICK.search(reply)
    try:
        return Point(float(match[1]), float(match[2])) if match else Point(0.0, 0.0)
    except ValueError:
        return None


def _point_seeclick(reply: str) -> Point | None:
    if "box" not in reply:
        return _centre(tuple(map(float, _NUMBERS.findall(reply))))
    box = _QWEN_BOX.search(reply)
    if box is None:
        return None
    middle = _centre(tuple(map(float, box.groups())))
    return middle and Point(middle.x / _THOUSAND, middle.y / _THOUSAND)


def _point_pro(reply: str) -> Point | None:
    for form in _BRACKETED:
        match = form.search(reply)
        if match:
            return _centre(tuple(map(float, match.groups())))
    return None
