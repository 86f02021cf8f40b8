"""Conclusions that a reply marks as such: in a tag of its own, in a box, or under a key of JSON.

Models that think first close with <answer>B</answer>, <CONCLUSION> B </CONCLUSION>, \\boxed{B},
<|begin_of_box|>B<|end_of_box|> or {"answer": "B"}. What stands there is the answer, whatever
letters and numbers the reasoning before it names.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Mark(NamedTuple):
    """The content of a mark between start and end; `stop` is the end of the mark itself."""

    kind: str
    start: int
    end: int
    stop: int


BOX = "boxed"
TAG = "answer"
KEY = "key"

_CONCLUSIONS = (
    r"answers?|ans|(?:final|correct|my|short)[ _\-]?(?:answer|response|choice|option|result|output)"
    r"|final|conclusion|(?:final )?verdict|answer[ _\-]?final"
    r"|最终答案|答案|结论|回答|答え|정답|답"
    r"|r[ée]ponse|antwort|respuesta|resposta|risposta|ответ|cevap|jawaban|الإجابة"
)
"""Names of tags that hold a conclusion wherever they stand."""
_WRAPPERS = r"response|result|output|solution|choice|option|prediction|selection"
"""Names that may stand for other things too: they count as the last thing of a reply alone."""
_TAG = re.compile(
    rf"<\s?(?P<close>/?)\s?(?P<name>{_CONCLUSIONS}|{_WRAPPERS})\s?>"
    rf"|\[(?P<shut>/?)(?P<bracket>{_CONCLUSIONS})\]"
    r"|<\|(?P<token>begin|end|start)_?of_?(?P<what>box|answer|solution)\|>",
    re.IGNORECASE,
)
_WRAPPER = re.compile(_WRAPPERS, re.IGNORECASE)
_REST = re.compile(r"(?:\s|</?\w{1,20}>|<\|[^|<>\n]{1,30}\|>|[`*$.)\]}])*\Z")
_BOX = re.compile(r"(?:\\?\bf?b|\x08)oxed\s{0,3}\{|\\fbox\s{0,3}\{")
_KEY = re.compile(
    r"(?P<quote>[\"'])(?:(?:final|correct|my|short|selected|chosen|best)[ _\-]?)?"
    r"(?:answers?|option|choice|conclusion|prediction|verdict|答案|结论)"
    r"(?:[ _\-]?(?:letter|label|choice|option))?(?P=quote)\s{0,9}:\s{0,9}"
    r"(?:\"(?P<double>(?:[^\"\\\n]|\\.){0,4000})\"|'(?P<single>(?:[^'\\\n]|\\.|'(?=\w)){0,4000})'"
    r"|\[(?P<list>[^\[\]{}]{0,400})\]|(?P<bare>[^\s\"',{}\[\]][^\"',{}\[\]\n]{0,100}))",
    re.IGNORECASE,
)
_JSON_VALUES = ("double", "single", "list", "bare")
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_SIGNS = ("<", "oxed", "fbox", "[", '"', "'")


def last_mark(text: str, start: int = 0, end: int | None = None) -> Mark | None:
    """The last conclusion that is marked in text[start:end] and is not empty, if there is one.

    A tag that is never closed reaches to the end. Marks inside a mark are its content.
    """
    stop = len(text) if end is None else end
    if not any(sign in text for sign in _SIGNS):
        return None
    found = [mark for mark in _marks(text, start, stop) if text[mark.start : mark.end].strip()]
    if not found:
        return None
    return max(found, key=lambda mark: (mark.stop, -mark.start))


def innermost_mark(text: str, start: int = 0) -> Mark | None:
    """The last mark, or the last one inside it, and so on."""
    found = last_mark(text, start)
    inner = found
    while inner is not None:
        found = inner
        inner = last_mark(text, found.start, found.end)
    return found


def joined_boxes(text: str, mark: Mark, start: int = 0) -> bool:
    """Is the mark the last of several that are named together: "\\boxed{A} or \\boxed{C}"?"""
    boxes = [box for box in _boxes(text, start, mark.stop) if box.stop < mark.stop]
    if mark.kind != BOX or not boxes:
        return False
    between = text[boxes[-1].stop : text.rfind("\\", 0, mark.start)]
    other = text[boxes[-1].start : boxes[-1].end].strip()
    same = other == text[mark.start : mark.end].strip()
    return (
        not same and re.fullmatch(r"[\s$,]*(?:and|or|und|oder|和|或)?[\s$]*", between) is not None
    )


def _marks(text: str, start: int, end: int) -> list[Mark]:
    return [*_tags(text, start, end), *_boxes(text, start, end), *_keys(text, start, end)]


def _tags(text: str, start: int, end: int) -> list[Mark]:
    """Tags with their contents: from the last opening one before a closing one."""
    if "<" not in text and "[" not in text:
        return []
    found: list[Mark] = []
    opened: dict[str, re.Match[str]] = {}
    repeated = set()
    for tag in _TAG.finditer(text, start, end):
        name = (tag["name"] or tag["bracket"] or tag["what"]).lower()
        closing = tag["close"] or tag["shut"] or (tag["token"] or "").lower() == "end"
        if not closing:
            opened[name] = tag
        elif name in opened:
            opener = opened.pop(name)
            wraps = _WRAPPER.fullmatch(name) is not None
            if not wraps or (name not in repeated and _REST.match(text, tag.end(), end)):
                found.append(Mark(TAG, opener.end(), tag.start(), tag.end()))
            repeated.add(name)
    open_ones = [
        tag for name, tag in opened.items() if not _WRAPPER.fullmatch(name) and not tag["bracket"]
    ]
    if open_ones:
        last = max(open_ones, key=lambda tag: tag.start())
        if not found or last.start() > found[-1].stop:
            found.append(Mark(TAG, last.end(), end, end))
    return found


def _boxes(text: str, start: int, end: int) -> list[Mark]:
    found = []
    reached = start
    for box in _BOX.finditer(text, start, end):
        if box.start() < reached:
            continue
        closing = _closing_brace(text, box.end(), end)
        if closing is None:
            break
        found.append(Mark(BOX, box.end(), closing, closing + 1))
        reached = closing
    return found


def _closing_brace(text: str, start: int, end: int) -> int | None:
    depth = 1
    for brace in _BRACES.finditer(text, start, end):
        if brace[0] == "{":
            depth += 1
        elif brace[0] == "}":
            depth -= 1
            if depth == 0:
                return brace.start()
    return None


def _keys(text: str, start: int, end: int) -> list[Mark]:
    if ":" not in text:
        return []
    found = []
    for key in _KEY.finditer(text, start, end):
        group = next(name for name in _JSON_VALUES if key[name] is not None)
        found.append(Mark(KEY, *key.span(group), key.end()))
    return found
