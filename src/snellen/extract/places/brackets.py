"""Numbers in brackets or between tags, with the JSON key, the argument or the tag before them.

`{"bbox_2d": [10, 20, 30, 40], "label": "cat"}`, `<box>[[10, 20, 30, 40]]</box>`,
`<|box_start|>(10,20),(30,40)<|box_end|>`, `<point>10 20</point>`, `click(start_box='(10,20)')`,
`[(0.1, 0.2), (0.3, 0.4)]`. No JSON is parsed, so that a reply which was cut off, has comments or the
quotes of Python is read as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from snellen.core import lazy_re as re
from snellen.core.place import Unit
from snellen.extract.places.written import WrittenPlace, parse_numbers

_GROUP = re.compile(r"[\[({>]([^\[\](){}<>]*)(?=[\])}<])")
_WORD = re.compile(r"[\w-]+\Z")
_TAG = re.compile(r"<\|?([a-z_0-9-]+)\|?\s*>\Z", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,;\[\](){}]*(?:(?:-|–|→|to|and)[\s\[({]*)?", re.IGNORECASE)
_CORNERS = re.compile(
    r"[\s,;]*(?:(?:-|–|→|to|and)\s*)?(?:the\s)?"
    r"(?P<named>[\"'*]{0,3}(?:bottom|lower)[\s_-]?right(?:[\s_-]corner)?(?:\sis)?(?:\sat)?[\s:=\"'*]{0,9})?",
    re.IGNORECASE,
)
_MAX_WORD = 60
_BOX_NAME = re.compile(r"b?box(?:es)?(?:_?2d)?|bounding_?box(?:es)?|rect(?:angle)?|det|box_start|quad")
_POINT_NAME = re.compile(
    r"points?(?:_?2d)?|coord(?:inate)?s?|positions?|locations?|cent(?:er|re)|keypoints?|(?:start|end)_(?:box|point)|click|xy"
)
_WHOLE_NAME = re.compile(r"(?:final_?)?answers?|results?|outputs?|predictions?|response|arguments|value|data")
_OTHER_NAME = re.compile(r"(?:(?:image|img)_)?(?:size|resolution|shape|dimensions)|rgb|colou?r|timestamp|page")
_RELATIVE: tuple[Unit, ...] = ("fractions", "percent", "thousandths")
"""No model that writes `<box>` does so in pixels."""


def find_bracketed(text: str, pairs_are_boxes: bool) -> list[WrittenPlace]:
    """Every list of numbers in brackets or tags. Two adjacent pairs are the corners of a box where a
    box is named or `pairs_are_boxes`, unless points are named."""
    return list(_join_corners(text, list(_find_groups(text)), pairs_are_boxes))


def _find_groups(text: str) -> Iterator[WrittenPlace]:
    name, quoted, tag, last = "", False, False, 0
    for group in _GROUP.finditer(text):
        opening = group.start()
        numbers = parse_numbers(group[1])
        if numbers is None:
            continue
        start = opening + 1 if text[opening] == ">" else opening
        if not last or _BETWEEN.fullmatch(text, last, start) is None:
            name, quoted, tag = _name_before(text, last, start)
        known = _is_place(name)
        if _OTHER_NAME.fullmatch(name) or (len(numbers.values) == 1 and not known):
            continue
        last = group.end() + (text[group.end()] != "<")
        yield WrittenPlace(
            numbers.values,
            start,
            last,
            f"tag {name}" if tag else f"key {name}" if known else "key" if quoted else "brackets",
            known or quoted,
            label=name if quoted and not known and not _WHOLE_NAME.fullmatch(name.lower()) else "",
            decimals=numbers.decimals,
            mark=numbers.mark,
            units=_RELATIVE if tag and name == "box" else (),
            own_order="yx" if name == "box_2d" else None,
        )


def _name_before(text: str, after: int, start: int) -> tuple[str, bool, bool]:
    """The key or tag before the numbers, whether it is a quoted key, and whether it is a tag."""
    before = text[max(after, start - _MAX_WORD) : start].rstrip(" \t\n\r[({\"'\\")
    if before.endswith(">"):
        tag = _TAG.search(before)
        return (tag[1].lower(), False, True) if tag else ("", False, False)
    if not before.endswith((":", "=")):
        return "", False, False
    before = before[:-1].rstrip()
    quoted = before.endswith(('"', "'"))
    word = _WORD.search(before.rstrip("\"'"))
    name = word[0] if word else ""
    return name.lower() if _is_place(name.lower()) or not quoted else name, quoted, False


def _is_place(name: str) -> bool:
    return bool(_BOX_NAME.fullmatch(name) or _POINT_NAME.fullmatch(name))


def _join_corners(text: str, groups: list[WrittenPlace], pairs_are_boxes: bool) -> Iterator[WrittenPlace]:
    index = 0
    while index < len(groups):
        one = groups[index]
        other = groups[index + 1] if index + 1 < len(groups) else None
        name = one.spelling.rpartition(" ")[2]
        boxes = _BOX_NAME.fullmatch(name) or (pairs_are_boxes and not _POINT_NAME.fullmatch(name))
        gap = None
        if (
            other is not None
            and boxes
            and len(one.numbers) == len(other.numbers) == 2
            and one.spelling == other.spelling
        ):
            gap = _CORNERS.fullmatch(text, one.end, other.start)
        if other is not None and gap is not None:
            yield one._replace(
                numbers=one.numbers + other.numbers,
                end=other.end,
                decimals=one.decimals or other.decimals,
                label="" if gap["named"] else one.label,
            )
            index += 2
            continue
        yield one
        index += 1
