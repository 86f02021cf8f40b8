"""Parse the JSON value that a reply gives as its answer.

In this order: the whole reply; the contents of the last fence that holds JSON; the longest object or
list in the text. Values in Python's syntax count as well. Of a reply that reached its token limit a
value counts only if it is complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from snellen.core import lazy_re as re
from snellen.core.limits import DEFAULT_LIMITS, is_too_deep
from snellen.core.literals import parse_json_or_literal
from snellen.core.output import Answer, ParsedAnswer, Refused, Truncated, Unparsed
from snellen.extract.open_text import parse_whole, refuses

_FENCE = re.compile(r"```[ \t]*(?:json[c5]?|python)?[ \t]*\n?")
_BRACKET_OR_TEXT = re.compile(r"[\[\]{}]|\"(?:[^\"\\]|\\.)*\"?", re.DOTALL)
_BEGINS_VALUE = re.compile(r"[\[{]\s*[\[\]{}\"'\d\-tfnTFN]")


def parse_json_reply(reply: str, stop_reason: str = "stop") -> Answer:
    """The value of a reply as compact JSON: an object or a list."""
    whole = parse_whole(reply, stop_reason=stop_reason)
    if not isinstance(whole, ParsedAnswer) or whole.span is None:
        return whole
    start, end = whole.span
    for rule, first, last in ((("whole reply", start, end)), *_find_fences(reply, start, end)):
        value = _load(reply[first:last])
        if value is not None:
            return ParsedAnswer(dump_json(value), rule, (first, last))
    if found := _find_embedded(reply, start, end):
        return found
    if refuses(reply[start:end]):
        return Refused("refusal phrase")
    return Truncated() if stop_reason == "length" else Unparsed()


def dump_json(value: Any) -> str:
    """A JSON value as compact text, names in their order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _find_fences(reply: str, start: int, end: int) -> list[tuple[str, int, int]]:
    """The contents of fences, the last one first."""
    marks = [match.span() for match in _FENCE.finditer(reply, start, end)]
    inner = [("JSON in a fence", one[1], other[0]) for one, other in zip(marks[::2], marks[1::2], strict=False)]
    return inner[::-1]


def _find_embedded(reply: str, start: int, end: int) -> ParsedAnswer | None:
    """The longest value in the text; of equally long ones the last. No part of a value that is
    broken or cut counts."""
    best: tuple[int, int, Any] | None = None
    for first, last in _pair_brackets(reply, start, end):
        value = _load(reply[first:last])
        if value is not None and (best is None or last - first >= best[1] - best[0]):
            best = (first, last, value)
    return ParsedAnswer(dump_json(best[2]), "JSON in the text", best[:2]) if best else None


def _pair_brackets(reply: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The outermost pairs of brackets, up to one that is not closed."""
    position = start
    while (opening := _BEGINS_VALUE.search(reply, position, end)) is not None:
        depth, position = 0, end
        for match in _BRACKET_OR_TEXT.finditer(reply, opening.start(), end):
            depth += (match[0] in "[{") - (match[0] in "]}")
            if not depth:
                position = match.end()
                yield opening.start(), position
                break


def _load(text: str) -> Any:
    """The object or list that a text is; None for any other text."""
    text = text.strip()
    if not text or text[0] not in "[{":
        return None
    try:
        value = parse_json_or_literal(text)
    except ValueError:
        return None
    return value if _is_answer(value) else None


def _is_answer(value: Any) -> bool:
    if not isinstance(value, dict | list) or is_too_deep(value, DEFAULT_LIMITS.depth):
        return False
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError):
        # Sets, bytes and numbers that JSON does not have, from a Python literal.
        return False
    return True
