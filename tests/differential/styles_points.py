"""Ways in which models say where to click, on screenshots of several sizes."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.differential.sets import Case
from tests.differential.styles_open import FIRST, WRAPPERS
from tests.differential.wrapping import wrapped_styles

Write = Callable[[float, float, int, int], str]
"""A point in fractions and the size of the picture in pixels: the reply."""


@dataclass(frozen=True, slots=True)
class Screen:
    """A screenshot and its element: x, y, width and height in pixels."""

    name: str
    width: int
    height: int
    box: tuple[int, int, int, int]
    element: str
    source: str


SCREENS = (
    Screen("a.png", 200, 400, (20, 40, 60, 30), "text", "ios"),
    Screen("b.png", 200, 400, (0, 0, 40, 20), "icon", "android"),
    Screen("c.png", 640, 360, (500, 300, 100, 40), "text", "windows"),
    Screen("d.png", 640, 360, (-1, 100, 31, 30), "icon", "macos"),
    Screen("e.png", 1280, 720, (1180, 20, 80, 40), "text", "shop"),
    Screen("f.png", 1280, 720, (600, 330, 81, 61), "icon", "forum"),
)


def _picture(screen: Screen) -> str:
    """A PNG of one bit a pixel."""
    lines = (b"\0" + b"\xf0" * ((screen.width + 7) // 8)) * screen.height

    def chunk(kind: bytes, data: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    head = struct.pack(">IIBBBBB", screen.width, screen.height, 1, 0, 0, 0, 0)
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + data).decode()


def _pixels(form: str, places: int = 0) -> Write:
    return lambda x, y, w, h: form.format(x=f"{x * w:.{places}f}", y=f"{y * h:.{places}f}")


def _fractions(form: str, places: int = 4) -> Write:
    return lambda x, y, w, h: form.format(x=f"{x:.{places}f}", y=f"{y:.{places}f}")


def _thousandths(form: str) -> Write:
    return lambda x, y, w, h: form.format(x=f"{1000 * x:.0f}", y=f"{1000 * y:.0f}")


def _box(form: str, scale: float = 1, places: int = 3, by: float = 0.01) -> Write:
    return lambda x, y, w, h: form.format(*(f"{scale * side:.{places}f}" for side in (x - by, y - by, x + by, y + by)))


_CLICK = "pyautogui.click(x={x}, y={y})"
POINTS: dict[str, Write] = {
    "click": _fractions(_CLICK),
    "click, two places": _fractions(_CLICK, 2),
    "click, one place": _fractions(_CLICK, 1),
    "click, eight places": _fractions(_CLICK, 8),
    "click, pixels": _pixels(_CLICK),
    "click, pixels with places": _pixels(_CLICK, 1),
    "click, thousandths": _thousandths(_CLICK),
    "move": _fractions("pyautogui.moveTo(x={x}, y={y})"),
    "click without names": _fractions("pyautogui.click({x}, {y})"),
    "click without names, pixels": _pixels("pyautogui.click({x}, {y})"),
    "click, no blank": _fractions("pyautogui.click(x={x},y={y})"),
    "click, blanks around": _fractions("pyautogui.click(x = {x}, y = {y})"),
    "click, colons": _fractions("click(x: {x}, y: {y})"),
    "click, y first": _fractions("pyautogui.click(y={y}, x={x})"),
    "click, capitals": _fractions("CLICK(X={x}, Y={y})"),
    "click, button": _fractions("pyautogui.click(x={x}, y={y}, button='left', clicks=1)"),
    "two clicks": _fractions("pyautogui.click(x={x}, y={y})\npyautogui.click(x=0.9, y=0.9)"),
    "other click first": _fractions("pyautogui.click(x=0.9, y=0.9)\npyautogui.click(x={x}, y={y})"),
    "click in words": _fractions("Click at x={x}, y={y}."),
    "code": _fractions("```python\nimport pyautogui\npyautogui.click(x={x}, y={y})\n```"),
    "number with two dots": _fractions("pyautogui.click(x={x}.5, y={y})"),
    "final dot": _pixels("x={x}, y={y}."),
    "negative": _fractions("pyautogui.click(x=-{x}, y={y})"),
    "percent": lambda x, y, w, h: f"pyautogui.click(x={100 * x:.1f}%, y={100 * y:.1f}%)",
    "no leading zero": lambda x, y, w, h: f"x={x:.3f}, y={y:.3f}".replace("=0.", "=."),
    "question marks": _fractions("pyautogui.click(x=?, y=?)"),
    "one pixel": _fractions("pyautogui.click(x=1, y=1)"),
    "one, beyond": _fractions("pyautogui.click(x=1.0, y=1.001)"),
    "mixed scales": lambda x, y, w, h: f"pyautogui.click(x={x:.3f}, y={y * h:.0f})",
    "point in parentheses": _fractions("({x}, {y})"),
    "point in parentheses, no blank": _fractions("({x},{y})"),
    "point in brackets": _fractions("[{x}, {y}]"),
    "point in double brackets": _fractions("[[{x},{y}]]"),
    "point in double brackets, blank": _fractions("[[{x}, {y}]]"),
    "point in double brackets, pixels": _pixels("[[{x},{y}]]"),
    "point in double brackets, thousandths": _thousandths("[[{x},{y}]]"),
    "point in pixels": _pixels("({x}, {y})"),
    "point in thousandths": _thousandths("({x},{y})"),
    "point without brackets": _fractions("{x}, {y}"),
    "point by a blank": _fractions("{x} {y}"),
    "point in braces": _fractions("{{{x}, {y}}}"),
    "point in words": _fractions("The element is at ({x}, {y}) of the screen."),
    "point in words with numbers": _fractions("Step 1: the 2nd button, at ({x}, {y})."),
    "two points": _fractions("({x}, {y}) or ({y}, {x})"),
    "three points": _fractions("({x}, {y}), (0.1, 0.2), (0.3, 0.4)"),
    "JSON": _fractions('{{"x": {x}, "y": {y}}}'),
    "JSON, pixels": _pixels('{{"x": {x}, "y": {y}}}'),
    "JSON, point": _fractions('{{"point": [{x}, {y}]}}'),
    "JSON, texts": _fractions('{{"x": "{x}", "y": "{y}"}}'),
    "JSON list of 2D points": _thousandths('[{{"point_2d": [{x}, {y}], "label": "it"}}]'),
    "tool call": _pixels(
        '<tool_call>\n{{"name": "computer_use", "arguments": '
        '{{"action": "left_click", "coordinate": [{x}, {y}]}}}}\n</tool_call>'
    ),
    "point tag": _fractions("<point>{x} {y}</point>"),
    "point tag with attributes": lambda x, y, w, h: f'<point x="{100 * x:.1f}" y="{100 * y:.1f}" alt="it">it</point>',
    "start box tags": _thousandths("<|box_start|>({x},{y})<|box_end|>"),
    "box": _box("[{}, {}, {}, {}]"),
    "box, no blanks": _box("[{},{},{},{}]"),
    "box in double brackets": _box("[[{},{},{},{}]]"),
    "box in double brackets, blanks": _box("[[{}, {}, {}, {}]]"),
    "box in double brackets, thousandths": _box("[[{},{},{},{}]]", 1000, 0),
    "two boxes in double brackets": _box("[[{},{},{},{}]] [[0.1,0.1,0.2,0.2]]"),
    "box in parentheses": _box("({}, {}, {}, {})"),
    "box without brackets": _box("{} {} {} {}"),
    "box of corners": _box("({}, {}), ({}, {})"),
    "box of corners, word": _box("The bounding box is ({}, {}) to ({}, {})."),
    "box tag": _box("<box>({},{}),({},{})</box>", 1000, 0),
    "box tag with reference": _box("<ref>it</ref><box>({},{}),({},{})</box>", 1000, 0),
    "box tag, blanks": _box("<box>({}, {}), ({}, {})</box>", 1000, 0),
    "box tag, fractions": _box("<box>({},{}),({},{})</box>"),
    "box tag, list": _box("<box>[[{}, {}, {}, {}]]</box>", 1000, 0),
    "two box tags": _box("<box>({},{}),({},{})</box><box>(10,10),(20,20)</box>", 1000, 0),
    "box tag not closed": _box("<box>({},{}),({},{})", 1000, 0),
    "box with names": _box("x1={}, y1={}, x2={}, y2={}"),
    "JSON box": _box('{{"bbox_2d": [{}, {}, {}, {}]}}'),
    "point in double brackets, two places": _fractions("[[{x},{y}]]", 2),
    "point in double brackets, in words": _fractions("The element is at [[{x},{y}]]."),
    "point in double brackets, code": _fractions("```json\n[[{x},{y}]]\n```"),
    "two points in double brackets": _fractions("[[{x},{y}]], [[0.9,0.9]]"),
    "box in double brackets, two places": _box("[[{},{},{},{}]]", places=2),
    "box in double brackets, in words": _box("It is in the box [[{},{},{},{}]]."),
    "box and point in double brackets": _fractions("[[0.1,0.1,0.2,0.2]] [[{x},{y}]]", 3),
    "large box": _box("[[{},{},{},{}]]", by=0.3),
    "six numbers": _fractions("[{x}, {y}, 0.1, 0.2, 0.3, 0.4]"),
    "one number": _fractions("{x}"),
    "no number": _fractions("The button is in the upper left corner."),
    "box in words": _fractions("I see a box in the middle."),
    "refusal": _fractions("I'm sorry, but I can't help with that."),
    "dots": _fractions("..."),
    "not existent": _fractions("Target not existent"),
    "Chinese": _fractions("点击坐标为（{x}，{y}）。"),
    "labels": _fractions("Point: {x}, {y}"),
    "final answer": _fractions("Final answer: ({x}, {y})"),
    "boxed": _fractions("\\boxed{{({x}, {y})}}"),
    "bold": _fractions("**({x}, {y})**"),
    "answer tag": _fractions("<answer>[{x}, {y}]</answer>"),
    "with the size": lambda x, y, w, h: f"({x * w:.0f}, {y * h:.0f}) in {w} x {h} pixels",
    "exponent": _fractions("x={x}e0, y={y}e0"),
    "lines": _fractions("x={x},\ny={y}"),
    "explanation": _fractions("It is on the left. x={x}, y={y} is its centre."),
    "range": _fractions("x={x}-0.9, y={y}-0.9"),
}
_TURNS = 3


def _place(screen: Screen, number: int) -> tuple[float, float]:
    """The middle of the element, its right or lower edge, or a place beside it, in turn."""
    x, y, width, height = screen.box
    places = (
        (x + width / 2, y + height / 2),
        (x + width * 0.7, y + height * 0.4),
        (x + width - 0.5, y + height / 2),
        (x + width / 2, y + height),
        (x + width / 2, y + height * 2.2),
        (max(x, 0) + width * 0.3, y + height * 0.6),
    )
    across, down = places[number % len(places)]
    return abs(across) / screen.width, abs(down) / screen.height


def point_cases(pro: bool = False) -> Callable[[], Iterator[Case]]:
    """Every style of reply on several screens; `pro`: in the layout of ScreenSpot-Pro."""

    def cases() -> Iterator[Case]:
        number = FIRST
        for turn in range(_TURNS):
            for position, (style, write) in enumerate(wrapped_styles(POINTS, WRAPPERS, 3)):
                screen = SCREENS[(position + turn) % len(SCREENS)]
                reply = write(*_place(screen, position + 2 * turn), screen.width, screen.height)
                yield Case(str(number), _cells(screen, pro), style, reply)
                number += 1

    return cases


def _cells(screen: Screen, pro: bool) -> Mapping[str, Any]:
    x, y, width, height = screen.box
    common = {"image": _picture(screen), "image_path": screen.name, "question": "open it"}
    if not pro:
        return {**common, "bbox": json.dumps(screen.box), "data_type": screen.element, "data_source": screen.source}
    corners = [max(x, 0), y, x + width, y + height]
    return {
        **common,
        "bbox": json.dumps(corners),
        "img_size": json.dumps([screen.width, screen.height]),
        "ui_type": screen.element,
        "category": "CAD" if screen.source in ("ios", "windows") else "Office",
        "application": screen.source,
        "platform": "windows",
    }
