"""Ways in which models say where something is: boxes, points and spans of time, in the forms of the
large families of models, in right and in wrong spaces, in Markdown, cut off and malformed."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from tests.differential.sets import Case
from tests.differential.styles_open import FIRST, WRAPPERS
from tests.differential.wrapping import wrapped_styles

Numbers = Sequence[float]
Boxes = Sequence[Numbers]
"""Boxes by their corners, or points, in fractions of the picture."""
Write = Callable[[Boxes, int, int, str], str]
"""Boxes or points in fractions, width and height of the picture and a label: the reply."""

SCALES: Mapping[str, tuple[float, int]] = {
    "fractions": (1, 3),
    "percent": (100, 1),
    "thousandths": (1000, 0),
    "of 999": (999, 0),
    "bins": (1024, 0),
}
"""The largest number of a space, and the places behind its decimal point."""


def scaled(numbers: Numbers, space: str, width: int, height: int) -> list[str]:
    """Numbers of x and y in turn, as a model writes them in a space; `pixels` by the picture."""
    if space == "pixels":
        return [f"{number * (height if place % 2 else width):.0f}" for place, number in enumerate(numbers)]
    scale, places = SCALES[space]
    return [f"{number * scale:.{places}f}" for number in numbers]


def one(form: str, space: str = "fractions") -> Write:
    """The first place alone; `{label}` and the numbers in turn stand in the form."""
    return lambda boxes, w, h, label: form.format(*scaled(boxes[0], space, w, h), label=label)


def each(form: str, space: str = "fractions", between: str = ", ", around: str = "{}") -> Write:
    """Every place, with its number from 1 as `{n}`."""

    def write(boxes: Boxes, w: int, h: int, label: str) -> str:
        written = (form.format(*scaled(box, space, w, h), label=label, n=n) for n, box in enumerate(boxes, 1))
        return around.replace("{}", between.join(written)).replace("{label}", label)

    return write


def swapped(write: Write) -> Write:
    """With x and y exchanged."""
    return lambda boxes, w, h, label: write(
        [[number for place in range(0, len(box), 2) for number in (box[place + 1], box[place])] for box in boxes],
        h,
        w,
        label,
    )


def sized(write: Write, centre: bool = False) -> Write:
    """Boxes by corner, or centre, and size."""

    def change(box: Numbers) -> Numbers:
        left, top, right, bottom = box
        start = ((left + right) / 2, (top + bottom) / 2) if centre else (left, top)
        return (*start, right - left, bottom - top)

    return lambda boxes, w, h, label: write([change(box) for box in boxes], w, h, label)


def said(text: str) -> Write:
    return lambda boxes, w, h, label: text


def cut(write: Write, share: float) -> Write:
    """The first part of a reply."""

    def shortened(boxes: Boxes, w: int, h: int, label: str) -> str:
        text = write(boxes, w, h, label)
        return text[: int(len(text) * share)]

    return shortened


_LIST = "[{}, {}, {}, {}]"
_JSON = '{{"bbox_2d": [{}, {}, {}, {}], "label": "{label}"}}'
_FENCE = "```json\n[\n\t{}\n]\n```"
_LINES = ",\n\t"
BOXES: dict[str, Write] = {
    **{f"list, {space}": one(_LIST, space) for space in ("pixels", *SCALES)},
    **{f"list without blanks, {space}": one("[{},{},{},{}]", space) for space in ("pixels", *SCALES)},
    **{f"double list, {space}": one("[[{}, {}, {}, {}]]", space) for space in ("pixels", *SCALES)},
    **{f"JSON in a fence, {space}": each(_JSON, space, _LINES, _FENCE) for space in ("pixels", *SCALES)},
    **{f"JSON object, {space}": one(_JSON, space) for space in ("pixels", *SCALES)},
    **{f"numbers alone, {space}": one("{} {} {} {}", space) for space in ("pixels", *SCALES)},
    **{f"parentheses, {space}": one("({}, {}), ({}, {})", space) for space in ("pixels", *SCALES)},
    "JSON list": each(_JSON, "thousandths", ", ", "[{}]"),
    "JSON without label": one('{{"bbox_2d": [{}, {}, {}, {}]}}', "thousandths"),
    "JSON without label, fractions": one('{{"bbox_2d": [{}, {}, {}, {}]}}'),
    "JSON without label, pixels": one('{{"bbox_2d": [{}, {}, {}, {}]}}', "pixels"),
    "JSON, label first": one('{{"label": "{label}", "bbox_2d": [{}, {}, {}, {}]}}', "thousandths"),
    "JSON, other key": one('{{"bbox": [{}, {}, {}, {}], "category": "{label}"}}', "thousandths"),
    "JSON, key box": one('{{"box": [{}, {}, {}, {}], "name": "{label}"}}', "pixels"),
    "JSON, corners by name": one('{{"x1": {}, "y1": {}, "x2": {}, "y2": {}}}', "pixels"),
    "JSON, texts": one('{{"bbox_2d": ["{}", "{}", "{}", "{}"]}}', "thousandths"),
    "JSON, points": one('{{"bbox_2d": [[{}, {}], [{}, {}]]}}', "thousandths"),
    "JSON, five numbers": one('{{"bbox_2d": [{}, {}, {}, {}, 0.9]}}', "thousandths"),
    "JSON, three numbers": one('{{"bbox_2d": [{}, {}, {}]}}', "thousandths"),
    "JSON, score": one('{{"bbox_2d": [{}, {}, {}, {}], "score": 0.87, "label": "{label}"}}', "thousandths"),
    "JSON, single quotes": one("{{'bbox_2d': [{}, {}, {}, {}], 'label': '{label}'}}", "thousandths"),
    "JSON, comma too many": one('{{"bbox_2d": [{}, {}, {}, {}],}}', "thousandths"),
    "JSON, comment": one('{{"bbox_2d": [{}, {}, {}, {}] // the one on the left\n}}', "thousandths"),
    "JSON, nested": one('{{"objects": [{{"bbox_2d": [{}, {}, {}, {}], "label": "{label}"}}]}}', "thousandths"),
    "JSON, null": said('{"bbox_2d": null}'),
    "JSON, null in a fence": said('```json\n{"bbox_2d": null}\n```'),
    "JSON, empty list": said('{"bbox_2d": []}'),
    "JSON, nothing": said("[]"),
    "JSON, empty object": said("{}"),
    "JSON, zeros": said('{"bbox_2d": [0, 0, 0, 0]}'),
    "JSON, NaN": said('{"bbox_2d": [NaN, 10, 20, 30]}'),
    "JSON, infinite": said('{"bbox_2d": [0, 0, Infinity, 1e999]}'),
    "JSON in a fence without a name": each(_JSON, "thousandths", _LINES, "```\n[{}]\n```"),
    "JSON in a fence, text before": each(_JSON, "thousandths", _LINES, "Here is the box of {label}:\n" + _FENCE),
    "JSON in a fence, text behind": each(_JSON, "thousandths", _LINES, _FENCE + "\nIt is on the left side."),
    "JSON in a fence, object": one("```json\n" + _JSON + "\n```", "thousandths"),
    "JSON in a fence, object, fractions": one("```json\n" + _JSON + "\n```"),
    "two JSON objects": lambda boxes, w, h, label: "\n".join(
        one(_JSON, "thousandths")([box], w, h, label) for box in (boxes[0], (0.8, 0.8, 0.9, 0.95))
    ),
    "other JSON object first": lambda boxes, w, h, label: "\n".join(
        one(_JSON, "thousandths")([box], w, h, label) for box in ((0.8, 0.8, 0.9, 0.95), boxes[0])
    ),
    "two boxes": one("[{}, {}, {}, {}], [0.8, 0.8, 0.9, 0.95]"),
    "other box first": one("[0.8, 0.8, 0.9, 0.95] or [{}, {}, {}, {}]"),
    "two boxes, thousandths": one("[{}, {}, {}, {}] and [800, 800, 900, 950]", "thousandths"),
    "other box first, thousandths": one("[800, 800, 900, 950], [{}, {}, {}, {}]", "thousandths"),
    "axes exchanged": swapped(one(_LIST)),
    "axes exchanged, thousandths": swapped(one(_LIST, "thousandths")),
    "box_2d of y and x": swapped(one('[{{"box_2d": [{}, {}, {}, {}], "label": "{label}"}}]', "thousandths")),
    "box_2d of y and x in a fence": swapped(
        each('{{"box_2d": [{}, {}, {}, {}], "label": "{label}"}}', "thousandths", _LINES, _FENCE)
    ),
    "corner and size": sized(one(_LIST)),
    "corner and size, pixels": sized(one(_LIST, "pixels")),
    "centre and size": sized(one(_LIST), centre=True),
    "class, centre and size": sized(one("0 {} {} {} {}"), centre=True),
    "corners exchanged": lambda boxes, w, h, label: one(_LIST)([(*boxes[0][2:], *boxes[0][:2])], w, h, label),
    "left and right exchanged": lambda boxes, w, h, label: one(_LIST, "thousandths")(
        [[boxes[0][place] for place in (2, 1, 0, 3)]], w, h, label
    ),
    "ref and box tags": one("<ref>{label}</ref><box>({},{}),({},{})</box>", "thousandths"),
    "ref and box tags, list": one("<ref>{label}</ref><box>[[{}, {}, {}, {}]]</box>", "thousandths"),
    "box tags": one("<box>({},{}),({},{})</box>", "thousandths"),
    "box tags, list": one("<box>[{}, {}, {}, {}]</box>", "thousandths"),
    "object and box marks": one(
        "<|object_ref_start|>{label}<|object_ref_end|><|box_start|>({},{}),({},{})<|box_end|>", "thousandths"
    ),
    "ref and det marks": one("<|ref|>{label}<|/ref|><|det|>[[{}, {}, {}, {}]]<|/det|>", "of 999"),
    "begin of box": one("<|begin_of_box|>[[{},{},{},{}]]<|end_of_box|>", "thousandths"),
    "bbox tags": one("<bbox>{} {} {} {}</bbox>", "thousandths"),
    "location tokens": swapped(one("<loc{:0>4}><loc{:0>4}><loc{:0>4}><loc{:0>4}> {label}", "bins")),
    "loc tokens": one("{label}<loc_{}><loc_{}><loc_{}><loc_{}>", "of 999"),
    "points of corners": lambda boxes, w, h, label: (
        f'<points x1="{boxes[0][0] * 100:.1f}" y1="{boxes[0][1] * 100:.1f}" x2="{boxes[0][2] * 100:.1f}" '
        f'y2="{boxes[0][3] * 100:.1f}" alt="{label}">{label}</points>'
    ),
    "XML": one('<box left="{}" top="{}" right="{}" bottom="{}"/>', "pixels"),
    "in words": one("The bounding box is [{}, {}, {}, {}]."),
    "in words, thousandths": one("The bounding box of {label} is [{}, {}, {}, {}].", "thousandths"),
    "in words, pixels": one("It is at ({}, {}, {}, {}) in pixels.", "pixels"),
    "in words, numbers before": one("Of the 3 people, the 2nd from the left is at [{}, {}, {}, {}]."),
    "in words, four numbers before": one("Of 4 rows, 3 have 2 or 1 items. [{}, {}, {}, {}]"),
    "size before": lambda boxes, w, h, label: f"The picture has {w} x {h} pixels. {one(_LIST)(boxes, w, h, label)}",
    "corners in words": one("top-left ({}, {}), bottom-right ({}, {})"),
    "from to": one("from ({}, {}) to ({}, {})", "thousandths"),
    "named": one("x1={}, y1={}, x2={}, y2={}"),
    "named, colons": one("xmin: {}, ymin: {}, xmax: {}, ymax: {}", "pixels"),
    "lines": one("x1: {}\ny1: {}\nx2: {}\ny2: {}"),
    "lines of a list": one("[\n  {},\n  {},\n  {},\n  {}\n]"),
    "lines of a list, thousandths": one("[\n  {},\n  {},\n  {},\n  {}\n]", "thousandths"),
    "table": one("| x1 | y1 | x2 | y2 |\n| --- | --- | --- | --- |\n| {} | {} | {} | {} |"),
    "bold": one("**[{}, {}, {}, {}]**"),
    "code": one("`[{}, {}, {}, {}]`", "thousandths"),
    "bullets": one("- left: {}\n- top: {}\n- right: {}\n- bottom: {}"),
    "LaTeX": one("$[{}, {}, {}, {}]$"),
    "boxed": one("\\boxed{{[{}, {}, {}, {}]}}"),
    "answer tag": one("<answer>[{}, {}, {}, {}]</answer>"),
    "answer tag, thousandths": one("<answer>[{}, {}, {}, {}]</answer>", "thousandths"),
    "final answer": one("Final answer: [{}, {}, {}, {}]", "thousandths"),
    "blank list": one("[{} {} {} {}]"),
    "blanks inside": one("[ {} , {} , {} , {} ]"),
    "semicolons": one("[{}; {}; {}; {}]"),
    "braces": one("{{{}, {}, {}, {}}}"),
    "commas alone": one("{},{},{},{}"),
    "commas alone, thousandths": one("{}, {}, {}, {}", "thousandths"),
    "percent signs": one("[{}%, {}%, {}%, {}%]", "percent"),
    "units": one("[{}px, {}px, {}px, {}px]", "pixels"),
    "negative": one("[-{}, -{}, {}, {}]"),
    "negative, thousandths": one("[-5, -5, {2}, {3}]", "thousandths"),
    "beyond": one("[{0}, {1}, 1.2, 1.3]"),
    "beyond, thousandths": one("[{0}, {1}, 1200, 1300]", "thousandths"),
    "large": one("[{0}, {1}, 4000, 3000]", "pixels"),
    "plus signs": one("[+{}, +{}, +{}, +{}]"),
    "exponents": one("[{}e0, {}e0, {}e0, {}e0]"),
    "no leading zeros": lambda boxes, w, h, label: one(_LIST)(boxes, w, h, label).replace("0.", "."),
    "decimal commas": lambda boxes, w, h, label: one("[{}; {}; {}; {}]")(boxes, w, h, label).replace(".", ","),
    "two places": lambda boxes, w, h, label: "[" + ", ".join(f"{number:.2f}" for number in boxes[0]) + "]",
    "eight places": lambda boxes, w, h, label: "[" + ", ".join(f"{number:.8f}" for number in boxes[0]) + "]",
    "pixels with places": lambda boxes, w, h, label: str(
        [round(v * (h, w)[n % 2 == 0], 2) for n, v in enumerate(boxes[0])]
    ),
    "thousandths with places": lambda boxes, w, h, label: str([round(v * 1000, 1) for v in boxes[0]]),
    "three numbers": one("[{}, {}, {}]"),
    "five numbers": one("[{}, {}, {}, {}, 0.95]"),
    "six numbers": one("[{}, {}, {}, {}, 1, 0.95]", "thousandths"),
    "eight numbers": one("[{0}, {1}, {2}, {1}, {2}, {3}, {0}, {3}]"),
    "point": lambda boxes, w, h, label: (
        f"({(boxes[0][0] + boxes[0][2]) / 2:.3f}, {(boxes[0][1] + boxes[0][3]) / 2:.3f})"
    ),
    "cut JSON": cut(each(_JSON, "thousandths", _LINES, _FENCE), 0.8),
    "cut JSON behind the box": cut(one(_JSON, "thousandths"), 0.75),
    "cut list": cut(one(_LIST), 0.7),
    "cut list, thousandths": cut(one(_LIST, "thousandths"), 0.6),
    "not closed": one("[{}, {}, {}, {}"),
    "box tag not closed": one("<box>({},{}),({},{})", "thousandths"),
    "no number": said("It is in the upper left corner."),
    "not there": said("There is no such object in the image."),
    "none": said("None"),
    "zeros": said("[0, 0, 0, 0]"),
    "ones": said("[1, 1, 1, 1]"),
    "whole picture": said("[0, 0, 1, 1]"),
    "whole picture, thousandths": said("[0, 0, 1000, 1000]"),
    "refusal": said("I'm sorry, but I can't help with that."),
    "dots": said("..."),
    "Chinese": one("边界框为[{}，{}，{}，{}]。"),
    "Chinese, thousandths": one("目标的边界框坐标是 [{}, {}, {}, {}]。", "thousandths"),
    "Python": one("```python\nbox = ({}, {}, {}, {})\n```"),
    "dictionary of lists": one('{{"{label}": [{}, {}, {}, {}]}}', "thousandths"),
    "tool call": one(
        '<tool_call>{{"name": "ground", "arguments": {{"bbox_2d": [{}, {}, {}, {}]}}}}</tool_call>', "pixels"
    ),
}

_TUPLES = "[{}]"
POINTS: dict[str, Write] = {
    **{f"tuples, {space}": each("({}, {})", space, around=_TUPLES) for space in ("pixels", *SCALES)},
    **{f"tuples without blanks, {space}": each("({},{})", space, ",", _TUPLES) for space in ("pixels", *SCALES)},
    **{f"lists, {space}": each("[{}, {}]", space, around=_TUPLES) for space in ("pixels", *SCALES)},
    **{f"one tuple, {space}": one("({}, {})", space) for space in ("pixels", *SCALES)},
    **{f"one list, {space}": one("[{}, {}]", space) for space in ("pixels", *SCALES)},
    **{
        f"point_2d in a fence, {space}": each('{{"point_2d": [{}, {}], "label": "{label}"}}', space, _LINES, _FENCE)
        for space in ("pixels", *SCALES)
    },
    **{f"point_2d, {space}": each('{{"point_2d": [{}, {}]}}', space, around=_TUPLES) for space in ("pixels", *SCALES)},
    "point_2d, one object": one('{{"point_2d": [{}, {}], "label": "{label}"}}', "thousandths"),
    "point_2d, one object in a fence": one('```json\n{{"point_2d": [{}, {}]}}\n```', "thousandths"),
    "point_2d in a fence without a name": each('{{"point_2d": [{}, {}]}}', "thousandths", _LINES, "```\n[{}]\n```"),
    "point_2d in a fence, text before": each(
        '{{"point_2d": [{}, {}], "label": "{label}"}}', "thousandths", _LINES, "The free space is:\n" + _FENCE
    ),
    "point_2d, text before": each('{{"point_2d": [{}, {}]}}', "thousandths", ", ", "Here: [{}]"),
    "point_2d, texts": each('{{"point_2d": ["{}", "{}"]}}', "thousandths", ", ", _TUPLES),
    "point_2d, three numbers": each('{{"point_2d": [{}, {}, 5]}}', "thousandths", ", ", _TUPLES),
    "point_2d, single quotes": each("{{'point_2d': [{}, {}], 'label': '{label}'}}", "thousandths", ", ", _TUPLES),
    "point_2d, comma too many": each('{{"point_2d": [{}, {}]}}', "thousandths", ", ", "[{},]"),
    "point_2d, half with places": each('{{"point_2d": [{}.5, {}.5]}}', "thousandths", ", ", _TUPLES),
    "point of y and x": swapped(each('{{"point": [{}, {}], "label": "{label}"}}', "thousandths", ", ", _TUPLES)),
    "point of y and x in a fence": swapped(
        each('{{"point": [{}, {}], "label": "{label}"}}', "thousandths", _LINES, _FENCE)
    ),
    "point, fractions": each('{{"point": [{}, {}]}}', "fractions", ", ", _TUPLES),
    "objects of x and y": each('{{"x": {}, "y": {}}}', "fractions", ", ", _TUPLES),
    "objects of x and y, thousandths": each('{{"x": {}, "y": {}}}', "thousandths", ", ", _TUPLES),
    "axes exchanged": swapped(each("({}, {})", around=_TUPLES)),
    "point tag": one('<point x="{}" y="{}" alt="{label}">{label}</point>', "percent"),
    "point tag, blanks": one('<point x=" {}" y=" {}" alt="{label}">{label}</point>', "percent"),
    "point tags": each('<point x="{}" y="{}" alt="{label}">{label}</point>', "percent", "\n"),
    "points tag": each('x{n}="{}" y{n}="{}"', "percent", " ", '<points {} alt="{label}">{label}</points>'),
    "points tag, text before": each(
        'x{n}="{}" y{n}="{}"', "percent", " ", 'Here they are: <points {} alt="{label}">{label}</points>'
    ),
    "points tag, closed at once": each('x{n}="{}" y{n}="{}"', "percent", " ", '<points {} alt="{label}"/>'),
    "points tag, no alt": each('x{n}="{}" y{n}="{}"', "percent", " ", "<points {}>{label}</points>"),
    "points tag, thousandths": each('x{n}="{}" y{n}="{}"', "thousandths", " ", '<points {} alt="{label}"></points>'),
    "point tag of p": one('<point p={:0>3}, {:0>3} alt="{label}">{label}</point>', "thousandths"),
    "points tag of p": each("{n}={:0>3}, {:0>3}", "thousandths", " ", '<points {} alt="{label}">{label}</points>'),
    "points tag of coordinates": each(
        "{n} {:0>3} {:0>3}", "thousandths", ";", '<points coords="1 {}">{label}</points>'
    ),
    "point tag of two numbers": one("<point>{} {}</point>", "thousandths"),
    "point tag, list": one("<point>[[{}, {}]]</point>", "thousandths"),
    "Click": one("Click({}, {})", "percent"),
    "Clicks": each("Click({}, {})", "percent", "\n"),
    "pyautogui": one("pyautogui.click(x={}, y={})"),
    "pyautogui, thousandths": one("pyautogui.click(x={}, y={})", "thousandths"),
    "lines of tuples": each("({}, {})", between="\n"),
    "lines of tuples, percent": each("({}, {})", "percent", between="\n"),
    "lines with numbers": each("{n}. ({}, {})", between="\n"),
    "bullets": each("- ({}, {})", between="\n"),
    "table": each("| {} | {} |", between="\n", around="| x | y |\n| --- | --- |\n{}"),
    "in words": one("The point is at ({}, {})."),
    "in words, thousandths": one("The point is at ({}, {}).", "thousandths"),
    "in words, numbers before": one("The 2nd of 3 shelves, at ({}, {})."),
    "other tuple before": one("In a grid (3, 3) it is at ({}, {})."),
    "named": one("x={}, y={}"),
    "named, colons": one("x: {}, y: {}", "thousandths"),
    "code": each("({}, {})", around="```python\n[{}]\n```"),
    "lists in a fence": each("[{}, {}]", "thousandths", around="```json\n[{}]\n```"),
    "bold": one("**({}, {})**"),
    "LaTeX": one("$({}, {})$"),
    "boxed": one("\\boxed{{({}, {})}}"),
    "answer tag": each("({}, {})", around="<answer>[{}]</answer>"),
    "answer tag, point_2d": each(
        '{{"point_2d": [{}, {}]}}', "thousandths", _LINES, "<answer>\n" + _FENCE + "\n</answer>"
    ),
    "final answer": each("({}, {})", around="Final answer: [{}]"),
    "numbers alone": one("{}, {}"),
    "blank": one("{} {}", "thousandths"),
    "blanks inside": each("( {} , {} )", around=_TUPLES),
    "square and round": each("[({}), ({})]"),
    "percent signs": each("({}%, {}%)", "percent", around=_TUPLES),
    "units": each("({}px, {}px)", "pixels", around=_TUPLES),
    "negative": each("(-{}, {})", around=_TUPLES),
    "plus signs": each("(+{}, +{})", around=_TUPLES),
    "exponents": each("({}e0, {}e0)", around=_TUPLES),
    "no leading zeros": lambda boxes, w, h, label: each("({}, {})")(boxes, w, h, label).replace("0.", "."),
    "beyond": each("({}, 1.2)", around=_TUPLES),
    "beyond, thousandths": each("({}, 1200)", "thousandths", around=_TUPLES),
    "edge": said("[(1.0, 1.0)]"),
    "corner": said("[(0.0, 0.0)]"),
    "zeros": said("[(0, 0)]"),
    "integer and fraction": each("({}, 0)", around=_TUPLES),
    "eight places": lambda boxes, w, h, label: str([(round(x, 8) + 1e-8, round(y, 8) + 1e-8) for x, y in boxes]),
    "two places": lambda boxes, w, h, label: str([(round(x, 2), round(y, 2)) for x, y in boxes]),
    "three numbers": each("({}, {}, 0.5)", around=_TUPLES),
    "one number": one("({})"),
    "box": lambda boxes, w, h, label: "({:.3f}, {:.3f}, {:.3f}, {:.3f})".format(*(_around(boxes[0]))),
    "box and tuple": lambda boxes, w, h, label: "({:.3f}, {:.3f}, {:.3f}, {:.3f}), (0.900, 0.900)".format(
        *_around(boxes[0])
    ),
    "box in brackets": lambda boxes, w, h, label: str([round(number, 3) for number in _around(boxes[0])]),
    "bbox_2d": lambda boxes, w, h, label: json.dumps([{"bbox_2d": [round(1000 * n) for n in _around(boxes[0])]}]),
    "bbox tag": lambda boxes, w, h, label: "<bbox>{:.0f} {:.0f} {:.0f} {:.0f}</bbox>".format(
        *(1000 * n for n in _around(boxes[0]))
    ),
    "bbox tag, percent": lambda boxes, w, h, label: "<bbox>{:.0f}%, {:.0f}%, {:.0f}%, {:.0f}%</bbox>".format(
        *(100 * n for n in _around(boxes[0]))
    ),
    "box in words": lambda boxes, w, h, label: "The box is {:.3f} {:.3f} {:.3f} {:.3f}.".format(*_around(boxes[0])),
    "cut point_2d": cut(each('{{"point_2d": [{}, {}], "label": "{label}"}}', "thousandths", _LINES, _FENCE), 0.8),
    "cut tuples": cut(each("({}, {})", around=_TUPLES), 0.7),
    "not closed": each("({}, {})", around="[{}, (0.5, "),
    "tuple and far tuple": each("({}, {})", around="[{}, (0.95, 0.95)]"),
    "far tuple first": each("({}, {})", around="[(0.95, 0.95), {}]"),
    "twice": lambda boxes, w, h, label: each("({}, {})", around=_TUPLES)([*boxes, *boxes], w, h, label),
    "nothing": said("[]"),
    "none": said("There are none."),
    "not there": said("[-1, -1]"),
    "not there, tuple": said("[(-1, -1)]"),
    "no number": said("It is in the upper left corner."),
    "refusal": said("I'm sorry, but I can't help with that."),
    "dots": said("..."),
    "yes": said("Yes"),
    "Chinese": each("（{}，{}）", around="坐标为{}。"),
    "Chinese, tuples": each("({}, {})", around="坐标为[{}]。"),
    "lines of one": one("({},\n{})"),
    "object of lists": one('{{"{label}": [{}, {}]}}', "thousandths"),
    "tool call": one('<tool_call>{{"arguments": {{"coordinate": [{}, {}]}}}}</tool_call>', "pixels"),
}


def _around(point: Numbers, by: float = 0.05) -> Numbers:
    x, y = point[:2]
    return (max(x - by, 0), max(y - by, 0), x + by, y + by)


def _clock(seconds: float, hours: bool = False, places: int = 0) -> str:
    minutes, rest = divmod(seconds, 60)
    shown = f"{rest:0{3 + places if places else 2}.{places}f}"
    return f"{minutes // 60:02.0f}:{minutes % 60:02.0f}:{shown}" if hours else f"{minutes:02.0f}:{shown}"


Say = Callable[[float, float], str]
"""Start and end of a span in seconds: the reply."""


def span(form: str) -> Say:
    """`{a}` and `{b}` are start and end in seconds, `{c}` and `{d}` by the clock."""
    return lambda a, b: form.format(a=f"{a:.1f}", b=f"{b:.1f}", c=_clock(a), d=_clock(b), i=int(a), j=int(b))


SPANS: dict[str, Say] = {
    "happens in": span("The event happens in {a} - {b} seconds."),
    "happens in the": span("The event happens in the {a} - {b} seconds."),
    "happens in, whole": span("The event happens in {i} - {j} seconds."),
    "happens from to": span("The event happens from {a} to {b} seconds."),
    "happens between": span("The event happens between {a} and {b} seconds."),
    "happens at": span("The event happens at {a}s to {b}s."),
    "given query": span("The given query happens in {a} - {b} seconds."),
    "event quoted": span("The event 'person opens a door' happens in the {a} - {b} seconds."),
    "event quoted, a number": span("The event 'person opens 2 doors' happens in the {a} - {b} seconds."),
    "range": span("{a} - {b}"),
    "range, whole": span("{i} - {j}"),
    "range, no blanks": span("{a}-{b}"),
    "range, en dash": span("{a} – {b}"),
    "range, em dash": span("{a} — {b}"),
    "range, tilde": span("{a} ~ {b}"),
    "range with s": span("{a}s - {b}s"),
    "range with s, no blanks": span("{a}s-{b}s"),
    "range with blank and s": span("{a} s - {b} s"),
    "range with seconds": span("{a} seconds - {b} seconds"),
    "range, seconds behind": span("{a} - {b} seconds"),
    "to": span("{a} to {b}"),
    "to, seconds": span("{a} to {b} seconds"),
    "to with s": span("{a}s to {b}s"),
    "to with seconds": span("{a} seconds to {b} seconds."),
    "from to": span("From {a} to {b}."),
    "from to with s": span("from {a}s to {b}s"),
    "from second to second": span("From second {i} to second {j}."),
    "and": span("{a} and {b}"),
    "comma": span("{a}, {b}"),
    "blank": span("{a} {b}"),
    "list": span("[{a}, {b}]"),
    "list, whole": span("[{i}, {j}]"),
    "list of lists": span("[[{a}, {b}]]"),
    "tuple": span("({a}, {b})"),
    "list of texts": span('["{a}", "{b}"]'),
    "JSON": span('{{"start": {a}, "end": {b}}}'),
    "JSON, start_time": span('{{"start_time": {a}, "end_time": {b}}}'),
    "JSON, timestamp": span('{{"timestamp": [{a}, {b}]}}'),
    "JSON in a fence": span('```json\n{{"start": {a}, "end": {b}}}\n```'),
    "JSON in a fence, clock": span('```json\n{{"start_time": "{c}", "end_time": "{d}"}}\n```'),
    "JSON, end first": span('{{"end": {b}, "start": {a}}}'),
    "JSON lines": span('{{\n  "start": {a},\n  "end": {b}\n}}'),
    "JSON list": span('[{{"start": {a}, "end": {b}, "description": "a door opens"}}]'),
    "clock": span("{c} - {d}"),
    "clock, no blanks": span("{c}-{d}"),
    "clock, to": span("{c} to {d}"),
    "clock, from": span("from {c} to {d}"),
    "clock, happens": span("The event happens in {c} - {d}."),
    "clock, starts and ends": span("It starts at {c} and ends at {d}."),
    "clock, brackets": span("[{c}, {d}]"),
    "clock, en dash": span("{c} – {d}"),
    "clock with hours": lambda a, b: f"{_clock(a, True)} - {_clock(b, True)}",
    "clock with hours, starts and ends": lambda a, b: (
        f"The event 'person opens a door' starts at {_clock(a, True)} and ends at {_clock(b, True)}."
    ),
    "clock with hours and places": lambda a, b: f"{_clock(a, True, 2)} --> {_clock(b, True, 2)}",
    "clock with places": lambda a, b: f"{_clock(a, places=1)} - {_clock(b, places=1)}",
    "clock with places, to": lambda a, b: f"from {_clock(a, places=2)} to {_clock(b, places=2)}",
    "clock, one digit": lambda a, b: f"{int(a) // 60}:{int(a) % 60:02} - {int(b) // 60}:{int(b) % 60:02}",
    "clock, one": span("At {c}."),
    "clock and seconds": span("{c} ({a} s) - {d} ({b} s)"),
    "minutes in words": lambda a, b: f"{int(a) // 60} min {a % 60:.0f} s to {int(b) // 60} min {b % 60:.0f} s",
    "starts and ends": span("It starts at {a} seconds and ends at {b} seconds."),
    "starts and ends, lines": span("Start time: {a} seconds\nEnd time: {b} seconds"),
    "starting and ending, lines": span("Starting time: {a} seconds\nEnding time: {b} seconds"),
    "start and end, one line": span("Start time: {a}, end time: {b}"),
    "start and end, named": span("start={a}, end={b}"),
    "start and end, bold": span("**Start:** {a} s\n**End:** {b} s"),
    "start and end in words": span("The start time for this event is {a} seconds, and the end time is {b} seconds."),
    "end before start": span("It ends at {b} seconds and starts at {a} seconds."),
    "bullets": span("- Start: {a}\n- End: {b}"),
    "numbered": span("1. Start: {a}\n2. End: {b}"),
    "table": span("| start | end |\n| --- | --- |\n| {a} | {b} |"),
    "reversed": span("{b} - {a}"),
    "reversed, happens": span("The event happens in {b} - {a} seconds."),
    "equal": span("{a} - {a}"),
    "equal, happens": span("The event happens in {a} - {a} seconds."),
    "two ranges": span("{a} - {b}, 0.1 - 0.4"),
    "other range first": span("0.1 - 0.4 and {a} - {b}"),
    "two ranges, happens": span("The event happens in {a} - {b} seconds and in 0.1 - 0.4 seconds."),
    "two lines": span("The event happens in {a} - {b} seconds.\nIt happens again in 0.1 - 0.4 seconds."),
    "example repeated": span("A specific example is : 20.8 - 30.0 seconds. The event happens in {a} - {b} seconds."),
    "numbers before": span("Of the 3 people, the 2nd opens it: {a} - {b} seconds"),
    "number of frames": span("In the 32 frames, it happens in {a} - {b} seconds."),
    "duration before": span("The video is 30.5 seconds long; the event happens in {a} - {b} seconds."),
    "duration behind": span("The event happens in {a} - {b} seconds of 30.5."),
    "for so long": lambda a, b: f"It starts at {a:.1f} s and lasts {b - a:.1f} s.",
    "about": span("approximately {a} to about {b} seconds"),
    "one number": span("It happens at {a} seconds."),
    "one number alone": span("{a}"),
    "three numbers": span("{a}, {b}, 30.5"),
    "frames": lambda a, b: f"frames {a * 2:.0f} - {b * 2:.0f}",
    "frames in a list": lambda a, b: f"[{a * 2:.0f}, {b * 2:.0f}]",
    "percent": lambda a, b: f"{a / 0.4:.0f}% - {b / 0.4:.0f}%",
    "fractions": lambda a, b: f"{a / 40:.3f} - {b / 40:.3f}",
    "fractions in a list": lambda a, b: f"[{a / 40:.2f}, {b / 40:.2f}]",
    "milliseconds": lambda a, b: f"{a * 1000:.0f} - {b * 1000:.0f} ms",
    "time tokens": span("<{a} seconds> <{b} seconds>"),
    "timestamp tags": span("<timestamp>{a}</timestamp><timestamp>{b}</timestamp>"),
    "time tag": span("<time>{a}-{b}</time>"),
    "answer tag": span("<answer>{a} - {b}</answer>"),
    "answer tag, to": span("<answer>{a} to {b}</answer>"),
    "answer tag, list": span("<answer>[{a}, {b}]</answer>"),
    "bold": span("**{a} - {b} seconds**"),
    "code": span("`{a} - {b}`"),
    "boxed": span("\\boxed{{[{a}, {b}]}}"),
    "final answer": span("Final answer: {a} - {b}"),
    "negative": span("-{a} - {b}"),
    "beyond": span("{a} - 4000.0"),
    "trailing dots": span("{i}. - {j}."),
    "no leading zeros": lambda a, b: f".{a:.0f} - {b:.1f}",
    "two places": lambda a, b: f"{a:.2f} - {b:.2f}",
    "commas": lambda a, b: f"{a:.1f} - {b:.1f}".replace(".", ","),
    "cut": span("The event happens in {a} - "),
    "cut in a number": span("The event happens in {a} - {i}."),
    "cut JSON": span('```json\n{{"start": {a}, "en'),
    "no number": lambda a, b: "It happens at the beginning of the video.",
    "words": lambda a, b: "from the fifth to the tenth second",
    "whole video": lambda a, b: "The event happens throughout the video, 0.0 - 40.0 seconds.",
    "not there": lambda a, b: "The event does not happen in the video.",
    "refusal": lambda a, b: "I'm sorry, but I can't help with that.",
    "dots": lambda a, b: "...",
    "Chinese": span("事件发生在{a}秒到{b}秒。"),
    "Chinese, range": span("{a}-{b}秒"),
    "Chinese, clock": span("从{c}到{d}"),
    "question": span("Does it happen in {a} - {b}? Yes, it starts then."),
    "Python": span("```python\nspan = ({a}, {b})\n```"),
    "subtitles": lambda a, b: f"{_clock(a, True)},000 --> {_clock(b, True)},500",
}


@cache
def mask_png(width: int, height: int, boxes: tuple[tuple[float, ...], ...]) -> str:
    """A PNG of eight bits a pixel in base64, 255 inside of the boxes (fractions), else 0."""
    rows = []
    for line in range(height):
        values = bytearray(width)
        for left, top, right, bottom in boxes:
            if round(top * height) <= line < round(bottom * height):
                start, end = round(left * width), round(right * width)
                values[start:end] = b"\xff" * (end - start)
        rows.append(b"\0" + bytes(values))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"".join(rows), 9)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + data).decode()


PICTURES = ((200, 400), (640, 480), (1280, 720), (333, 250))
TARGETS = (
    (0.1, 0.2, 0.4, 0.6),
    (0.5, 0.5, 0.95, 0.9),
    (0.02, 0.03, 0.2, 0.33),
    (0.3, 0.1, 0.7, 0.42),
    (0.66, 0.71, 0.99, 0.97),
)


def _moved(box: Numbers, number: int) -> Numbers:
    """The box as it is, slightly beside it, a little smaller, too large, or elsewhere, in turn."""
    left, top, right, bottom = box
    w, h = right - left, bottom - top
    changes = (
        (0.0, 0.0, 0.0, 0.0),
        (0.07 * w, 0.05 * h, 0.06 * w, 0.04 * h),
        (0.11 * w, 0.12 * h, -0.1 * w, -0.13 * h),
        (-0.03 * w, -0.02 * h, 0.9 * w, 0.7 * h),
        (0.41 * w, 0.37 * h, 0.4 * w, 0.37 * h),
        (0.0, 0.04 * h, 0.03 * w, 0.0),
    )
    moved = [side + by for side, by in zip(box, changes[number % len(changes)], strict=True)]
    return [min(max(side, 0.001), 0.999) for side in moved]


Cells = Callable[[int, int, int, tuple[Numbers, ...]], Mapping[str, Any]]
"""Number of the row, width and height of the picture, the right places in fractions: its cells."""


def box_cases(
    cells: Cells,
    styles: Mapping[str, Write] = BOXES,
    *,
    turns: int = 3,
    label: str = "dog",
    wrap: int = 4,
    targets: Callable[[int], tuple[Numbers, ...]] = lambda number: (TARGETS[number % len(TARGETS)],),
) -> Callable[[], Iterator[Case]]:
    """Every style of reply to several pictures."""

    def cases() -> Iterator[Case]:
        number = FIRST
        for turn in range(turns):
            for position, (style, write) in enumerate(wrapped_styles(styles, WRAPPERS, wrap)):
                width, height = PICTURES[(position + turn) % len(PICTURES)]
                right = targets(position + 3 * turn)
                shown = [_moved(box, position + turn + 2 * place) for place, box in enumerate(right)]
                said = write(shown or [TARGETS[0]], width, height, label)
                yield Case(str(number), cells(number, width, height, right), style, said)
                number += 1

    return cases


def _points_in(boxes: Sequence[Numbers], number: int) -> list[Numbers]:
    """For each box a point inside, near its edge, or beside it, in turn; sometimes one too many."""
    places = ((0.5, 0.5), (0.3, 0.7), (0.93, 0.9), (1.2, 0.5), (0.5, -0.3), (0.1, 0.6))
    found: list[Numbers] = []
    for place, (left, top, right, bottom) in enumerate(boxes):
        across, down = places[(number + 2 * place) % len(places)]
        x, y = left + across * (right - left), top + down * (bottom - top)
        found.append((min(max(x, 0.001), 0.999), min(max(y, 0.001), 0.999)))
    if number % 4 == 1:
        found.append((0.987, 0.013))
    return found[1:] if number % 7 == 5 and len(found) > 1 else found


def place_cases(
    cells: Cells,
    styles: Mapping[str, Write] = POINTS,
    *,
    turns: int = 3,
    label: str = "free space",
    wrap: int = 4,
    pictures: Sequence[tuple[int, int]] = PICTURES,
    targets: Callable[[int], tuple[Numbers, ...]] = lambda number: (TARGETS[number % len(TARGETS)],),
) -> Callable[[], Iterator[Case]]:
    """Every style of points in several pictures."""

    def cases() -> Iterator[Case]:
        number = FIRST
        for turn in range(turns):
            for position, (style, write) in enumerate(wrapped_styles(styles, WRAPPERS, wrap)):
                width, height = pictures[(position + turn) % len(pictures)]
                right = targets(position + 3 * turn)
                shown = _points_in(right or TARGETS[:1], position + turn)
                yield Case(str(number), cells(number, width, height, right), style, write(shown, width, height, label))
                number += 1

    return cases


_EVENTS = ((3.0, 9.5), (12.2, 21.0), (0.0, 5.4), (24.3, 38.9), (65.5, 92.0))
_SHIFTS = ((0.0, 0.0), (0.6, 0.4), (-1.7, 2.9), (4.1, 5.2), (1.1, -0.9), (30.0, 30.0))


def span_cases(cells: Callable[[int, float, float], Mapping[str, Any]], turns: int = 3) -> Callable[[], Iterator[Case]]:
    """Every style of a span of time about several events."""

    def cases() -> Iterator[Case]:
        number = FIRST
        for turn in range(turns):
            for position, (style, write) in enumerate(wrapped_styles(SPANS, WRAPPERS, 4)):
                start, end = _EVENTS[(position + 2 * turn) % len(_EVENTS)]
                before, behind = _SHIFTS[(position + turn) % len(_SHIFTS)]
                reply = write(max(start + before, 0.0), end + behind)
                yield Case(str(number), cells(number, start, end), style, reply)
                number += 1

    return cases
