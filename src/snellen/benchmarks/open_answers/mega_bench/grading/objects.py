"""The JSON object or list that a reply ends with.

As MEGA-Bench's authors find it (megabench/metrics/parsing/common/parsers.py): of all parts of the
reply with balanced brackets the last that is JSON or a Python literal. Texts inside it that are
JSON themselves are opened. Their pattern is recursive and has 0.1 seconds; here one pass finds the
same parts, so that no verdict depends on a clock.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

_ANSWER_LINE = re.compile(r"^(?:\*\*Answer:|Answer:)\s*(.+)", re.MULTILINE)
_JSON_BLOCK = re.compile(r"```json(.*?)```", re.DOTALL)
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_QUOTE_AT_WORD_EDGE = re.compile(r"(?<!\w)'|'(?!\w)")
_DOUBLE, _SINGLE = "\ue000", "\ue001"
"""Stand for escaped quotes while texts are looked for: characters of nobody's alphabet."""


def last_object(text: str) -> Any:
    """The last object or list of a text, behind "Answer:" at the beginning of a line if there is
    one; an empty one of its kind if there is none."""
    line = _ANSWER_LINE.search(text)
    text = (line[1] if line else text).strip()
    block = _JSON_BLOCK.search(text)
    text = block[1].strip() if block else text
    for part in reversed(list(balanced_parts(text))):
        found = list(_values(part))
        if found:
            return found[-1]
    return [] if text.startswith("[") else {}


def balanced_parts(text: str) -> Iterator[str]:
    """The parts from a brace to the one that closes it, and from a square bracket to the last one
    before the braces around it end; parts do not overlap."""
    closing = _closing_braces(text)
    last = _last_brackets(text, closing)
    position = 0
    while position < len(text):
        end = None
        if text[position] == "{":
            end = closing.get(position)
        elif text[position] == "[":
            end = last[position + 1]
        if end is None:
            position += 1
        else:
            yield text[position : end + 1]
            position = end + 1


def _closing_braces(text: str) -> dict[int, int]:
    """The closing brace of each opening one that has one."""
    opened: list[int] = []
    closing: dict[int, int] = {}
    for position, sign in enumerate(text):
        if sign == "{":
            opened.append(position)
        elif sign == "}" and opened:
            closing[opened.pop()] = position
    return closing


def _last_brackets(text: str, closing: Mapping[int, int]) -> list[int | None]:
    """For each position the last closing square bracket that is reached from there over whole pairs
    of braces; None where there is none."""
    last: list[int | None] = [None] * (len(text) + 1)
    for position in range(len(text) - 1, -1, -1):
        sign = text[position]
        if sign == "{" and position in closing:
            last[position] = last[closing[position] + 1]
        elif sign not in "{}":
            further = last[position + 1]
            last[position] = position if sign == "]" and further is None else further
    return last


def _values(part: str) -> Iterator[Any]:
    """What a part is as JSON, then as a Python literal."""
    part = _open_texts(part)
    for form in (part, _QUOTE_AT_WORD_EDGE.sub('"', part)):
        try:
            yield json.loads(form)
            break
        except (ValueError, RecursionError):
            continue
    escaped = part.replace('\\"', '\\\\"').replace("\\'", "\\\\'")
    for form in (part, escaped):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield ast.literal_eval(form)
            break
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            continue


def _open_texts(part: str) -> str:
    """The part with every text in it that is a JSON object or list replaced by that."""
    part = part.replace('\\"', _DOUBLE).replace("\\'", _SINGLE)
    for quoted in _STRING.findall(part):
        try:
            inner = json.loads(quoted[1:-1].replace(_DOUBLE, '"').replace(_SINGLE, "'"))
        except (ValueError, RecursionError):
            continue
        if isinstance(inner, dict | list):
            part = part.replace(quoted, json.dumps(inner))
    return part.replace(_DOUBLE, '\\"').replace(_SINGLE, "\\'")
