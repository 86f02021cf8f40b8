"""Values that replies and gold answers write down: Python literals, lists, sets, objects, boxes.

The forms are those of MEGA-Bench's authors (github.com/TIGER-AI-Lab/MEGA-Bench,
megabench/metrics/scoring/common/conversions.py), peculiarities included: a text that is no literal
is a list of what stands between its commas, and the literal None is the empty text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from numbers import Number
from typing import Any

from snellen.benchmarks.open_answers.mega_bench.grading.objects import last_object
from snellen.core.literals import BROKEN_LITERAL, evaluate_literal

_BRACKETS = {"(": ")", "{": "}", "[": "]"}


def unquote(value: Any) -> Any:
    """The text that a quoted text holds ('"a"' is a); anything else as it is."""
    if not isinstance(value, str):
        return value
    try:
        inner = evaluate_literal(value)
    except MemoryError:
        return ""
    except BROKEN_LITERAL:
        return value
    return inner if isinstance(inner, str) else value


def collect(kind: Callable[..., Any], text: Any) -> Any:
    """The items of a text that writes a list, as a `kind` (list or set): those of a literal, else
    what stands between commas. A text with an opening bracket that is not closed has no items."""
    if not isinstance(text, str) or not (text := text.strip(" ")):
        return kind()
    closing = _BRACKETS.get(text[0])
    if closing is not None and not text.endswith(closing):
        return kind()
    try:
        value = evaluate_literal(text)
        if value is None:
            return ""
        return kind([value] if isinstance(value, int | float) else value)
    except (SyntaxError, ValueError):
        inner = text[1:-1] if closing is not None else text
        return kind([item.strip() for item in inner.split(",")])
    except TypeError:
        return kind()


def to_list(text: Any) -> Any:
    return collect(list, text)


def to_set(value: Any) -> Any:
    """The set of a value's items; a text as `collect` reads it."""
    value = freeze(value)
    if isinstance(value, frozenset | set | tuple):
        return set(value)
    return collect(set, value)


def freeze(value: Any) -> Hashable:
    """A value that can be an item of a set: lists as tuples, objects as sets of pairs."""
    if isinstance(value, dict):
        return frozenset((key, freeze(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    if isinstance(value, set):
        return frozenset(value)
    frozen: Hashable = value
    return frozen


def to_object(value: Any) -> Any:
    """Objects in texts, at any depth, as objects; a text without one as it is."""
    if isinstance(value, dict):
        return {key: to_object(item) for key, item in value.items()}
    if isinstance(value, str):
        return last_object(value) or value
    return value


def to_boxes(text: Any) -> list[Any]:
    """Boxes (left, top, right, bottom) that a text lists; a single one may stand alone. Items that
    are no boxes are left out."""
    if not isinstance(text, str):
        return []
    boxes = _literal_or_json(text, (SyntaxError, ValueError))
    if boxes is None:
        return []
    if len(boxes) == 4 and isinstance(boxes[0], Number):
        boxes = [boxes]
    return _points_of(boxes, 4) if isinstance(boxes, tuple | list) else []


def to_coordinates(text: Any) -> list[Any]:
    """Points (x, y) that a text lists; items that are none are left out."""
    if not isinstance(text, str):
        return []
    points = _literal_or_json(text, (SyntaxError,))
    return [] if points is None else _points_of(points, 2)


def _literal_or_json(text: str, broken: tuple[type[Exception], ...]) -> Any:
    try:
        return evaluate_literal(text)
    except broken:
        try:
            return json.loads(text)
        except ValueError:
            return None


def _points_of(items: Any, size: int) -> list[Any]:
    return [
        item
        for item in items
        if isinstance(item, tuple | list)
        and len(item) == size
        and all(isinstance(number, float | int) for number in item)
    ]
