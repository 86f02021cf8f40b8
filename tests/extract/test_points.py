"""The point or box that a reply gives, with what it is read as."""

from __future__ import annotations

import pytest

from snellen.core.output import Empty, ParsedAnswer, Truncated, Unparsed
from snellen.extract.points import Point, parse_point, read_point

POINTS = {
    "pyautogui.click(x=0.5, y=0.25)": (0.5, 0.25),
    "click(x = 120 , y = 40)": (120, 40),
    '{"x": 10, "y": "20"}': (10, 20),
    '<point x="10.5" y="20.5" alt="it">it</point>': (10.5, 20.5),
    "<point>0.3 0.4</point>": (0.3, 0.4),
    "The button is at (10, 20).": (10, 20),
    "[0.1, 0.2, 0.3, 0.4]": (0.2, 0.3),
    "[[100,200,300,400]]": (200, 300),
    "<|box_start|>(100,200),(300,400)<|box_end|>": (0.2, 0.3),
    "<box>[[100, 200, 300, 400]]</box>": (0.2, 0.3),
    "<box>(0.1,0.2),(0.3,0.4)</box>": (0.2, 0.3),
    "x1=0.1, y1=0.2, x2=0.3, y2=0.4": (0.2, 0.3),
    '[{"bbox_2d": [10, 20, 30, 40], "label": "2 tabs"}]': (20, 30),
    "first (1, 2), then (3, 4) and last (5, 6)": (5, 6),
    "<think>(9, 9)?</think> (0.5, 0.5)": (0.5, 0.5),
    "50%, 25%": (0.5, 0.25),
    ".5 .25": (0.5, 0.25),
    "12 34": (12, 34),
    "\\boxed{(0.1, 0.9)}": (0.1, 0.9),
    "step 1 of 2: click on (7, 8) of 640x480": (7, 8),
}


@pytest.mark.parametrize("reply", POINTS)
def test_a_point_is_read(reply: str) -> None:
    answer = parse_point(reply)
    assert isinstance(answer, ParsedAnswer)
    assert read_point(answer.value) == pytest.approx(Point(*POINTS[reply]))


@pytest.mark.parametrize("reply", ["upper left", "click on 3", "1 2 3", "x=?, y=?"])
def test_a_reply_without_a_point_is_not_parsed(reply: str) -> None:
    assert isinstance(parse_point(reply), Unparsed)
    assert isinstance(parse_point(reply, stop_reason="length"), Truncated)


def test_blank_reply_is_empty() -> None:
    assert isinstance(parse_point("  \n"), Empty)
