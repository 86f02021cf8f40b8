r"""Conclusions that a reply marks: in a tag, in a box, under a JSON key, or under a heading.

Reasoning models end with <answer>B</answer>, <CONCLUSION> B </CONCLUSION>, \boxed{B},
<|begin_of_box|>B<|end_of_box|> or {"answer": "B"}. The marked text is the answer, whatever letters
and numbers the reasoning before it names.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from snellen.core import lazy_re as re
from snellen.core.output import Answer, Misplaced, ParsedAnswer
from snellen.extract.clean import contains_any


class AnswerMark(NamedTuple):
    """The content of a mark between start and end; `outer_end` is the end of the mark itself."""

    kind: str
    start: int
    end: int
    outer_end: int


BOX = "boxed"
TAG = "answer"
KEY = "key"

_CONCLUSION_NAMES = (
    r"answers?|ans|(?:final|correct|my|short)[ _\-]?(?:answer|response|choice|option|result|output)"
    r"|final|conclusion|(?:final )?verdict|answer[ _\-]?final"
    r"|最终答案|答案|结论|回答|答え|정답|답"
    r"|r[ée]ponse|antwort|respuesta|resposta|risposta|ответ|cevap|jawaban|الإجابة"
)
"""Names of tags that hold a conclusion anywhere."""
_WRAPPER_NAMES = r"response|result|output|solution|choice|option|prediction|selection"
"""Names with other uses: they count only at the end of a reply."""
_TAG = re.compile(
    rf"<\s?(?P<close>/?)\s?(?P<name>{_CONCLUSION_NAMES}|{_WRAPPER_NAMES})\s?>"
    rf"|\[(?P<shut>/?)(?P<bracket>{_CONCLUSION_NAMES})\]"
    r"|<\|(?P<token>begin|end|start)_?of_?(?P<what>box|answer|solution)\|>",
    re.IGNORECASE,
)
_WRAPPER = re.compile(_WRAPPER_NAMES, re.IGNORECASE)
_ONLY_MARKUP = re.compile(r"(?:\s|</?\w{1,20}>|<\|[^|<>\n]{1,30}\|>|[`*$.)\]}])*\Z")
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
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_MARK_HINTS = ("<", "oxed", "fbox", "[", '"', "'")


def last_mark(text: str, start: int = 0, end: int | None = None) -> AnswerMark | None:
    """The last marked conclusion in text[start:end] that is not empty, or None.

    A tag that is never closed reaches to the end. Marks inside a mark are its content.
    """
    stop = len(text) if end is None else end
    if not contains_any(text, _MARK_HINTS):
        return None
    marks = [mark for mark in _find_marks(text, start, stop) if text[mark.start : mark.end].strip()]
    if not marks:
        return None
    return max(marks, key=lambda mark: (mark.outer_end, -mark.start))


def innermost_mark(text: str, start: int = 0) -> AnswerMark | None:
    """The last mark, or the last one inside it, recursively."""
    outer = last_mark(text, start)
    inner = outer
    while inner is not None:
        outer = inner
        inner = last_mark(text, outer.start, outer.end)
    return outer


def has_joined_boxes(text: str, mark: AnswerMark, start: int = 0) -> bool:
    r"""Whether the mark is the last of several boxes: "\boxed{A} or \boxed{C}"."""
    boxes = [box for box in _find_boxes(text, start, mark.outer_end) if box.outer_end < mark.outer_end]
    if mark.kind != BOX or not boxes:
        return False
    between = text[boxes[-1].outer_end : text.rfind("\\", 0, mark.start)]
    other = text[boxes[-1].start : boxes[-1].end].strip()
    same = other == text[mark.start : mark.end].strip()
    return not same and re.fullmatch(r"[\s$,]*(?:and|or|und|oder|和|或)?[\s$]*", between) is not None


def _find_marks(text: str, start: int, end: int) -> list[AnswerMark]:
    return [*_find_tags(text, start, end), *_find_boxes(text, start, end), *_find_keys(text, start, end)]


def _find_tags(text: str, start: int, end: int) -> list[AnswerMark]:
    """Tags with their contents: from the last opening tag before a closing one.

    A wrapper tag counts once, and only if nothing but markup follows. An opening tag that is never
    closed counts if it is the last tag.
    """
    if "<" not in text and "[" not in text:
        return []
    marks: list[AnswerMark] = []
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
            if not wraps or (name not in repeated and _ONLY_MARKUP.match(text, tag.end(), end)):
                marks.append(AnswerMark(TAG, opener.end(), tag.start(), tag.end()))
            repeated.add(name)
    open_ones = [tag for name, tag in opened.items() if not _WRAPPER.fullmatch(name) and not tag["bracket"]]
    if open_ones:
        last = max(open_ones, key=lambda tag: tag.start())
        if not marks or last.start() > marks[-1].outer_end:
            marks.append(AnswerMark(TAG, last.end(), end, end))
    return marks


def _find_boxes(text: str, start: int, end: int) -> list[AnswerMark]:
    marks = []
    previous_end = start
    for box in _BOX.finditer(text, start, end):
        if box.start() < previous_end:
            continue
        closing = _closing_brace(text, box.end(), end)
        if closing is None:
            break
        marks.append(AnswerMark(BOX, box.end(), closing, closing + 1))
        previous_end = closing
    return marks


def _closing_brace(text: str, start: int, end: int) -> int | None:
    depth = 1
    for brace in _BRACE.finditer(text, start, end):
        if brace[0] == "{":
            depth += 1
        elif brace[0] == "}":
            depth -= 1
            if depth == 0:
                return brace.start()
    return None


def _find_keys(text: str, start: int, end: int) -> list[AnswerMark]:
    if ":" not in text:
        return []
    marks = []
    for key in _KEY.finditer(text, start, end):
        group = next(name for name in _JSON_VALUES if key[name] is not None)
        marks.append(AnswerMark(KEY, *key.span(group), key.end()))
    return marks


_ANSWER = re.compile(r"(?:final\s+)?answer\s*(?:\*\*|__)?\s*[::]\s*(?:\*\*|__)?\s*", re.IGNORECASE)
_HEADING = re.compile(
    r"(?:^|\n)[ #>\-\d.]{0,12}(?:(?:the |my )?final (?:answer|choice|decision|conclusion|selection"
    r"|verdict|result)|conclusion|verdict|最终答案|最终结论|结论|最后答案)\s{0,9}(?:[:\n]|-\s)"
)

_HEADING_STEMS = ("final ", "conclusion", "verdict", "最", "结论")
"""Every heading has one of these: a cheaper test."""


def heading_end(low: str) -> int | None:
    """Offset of the text under the last heading such as "Final answer", or None.

    `low` is a reply in lower case, without markup. None if there is no such heading or nothing
    follows.
    """
    if not contains_any(low, _HEADING_STEMS):
        return None
    last = None
    for last in _HEADING.finditer(low):  # noqa: B007
        pass
    return last.end() if last and low[last.end() :].strip() else None


class Conclusion(NamedTuple):
    """The concluding part of a reply."""

    text: str
    start: int
    """Offset in the reply, in characters."""


def find_conclusion(reply: str) -> Conclusion | None:
    """The text after the last "Answer:" of a reply; None if there is none or nothing follows."""
    last = None
    for match in _ANSWER.finditer(reply):
        last = match
    if last is None or not reply[last.end() :].strip(" \n\t*_`"):
        return None
    return Conclusion(reply[last.end() :], last.end())


def shift_span(answer: Answer, offset: int) -> Answer:
    """Move the span of an answer that was parsed from a part of a reply, `offset` characters in."""
    if not isinstance(answer, ParsedAnswer | Misplaced):
        return answer
    span = answer.span and (answer.span[0] + offset, answer.span[1] + offset)
    return msgspec.structs.replace(answer, rule=f"conclusion: {answer.rule}", span=span)
