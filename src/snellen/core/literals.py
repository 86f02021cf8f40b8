"""Values written as text: numbers, and cells and replies in Python's syntax or as JSON."""

from __future__ import annotations

import json
import math
import warnings
from ast import literal_eval
from typing import Any

NUMBER_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
    "twenty",
)
"""English words for numbers, each at the place that is its number."""

BROKEN_LITERAL = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError)
"""What Python raises for a text that is no literal."""


def parse_literal(text: str) -> Any:
    """The value of a Python literal. Raises ValueError for any other text, however long or
    deeply nested."""
    try:
        return evaluate_literal(text)
    except BROKEN_LITERAL as error:
        raise ValueError(f"no Python literal: {error}") from None


def evaluate_literal(text: str) -> Any:
    """The value of a Python literal. Raises one of `BROKEN_LITERAL`."""
    with warnings.catch_warnings():
        # A backslash that begins no escape ('\\sqrt') stays one; Python warns on stderr.
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        return literal_eval(text)


def load_json(text: str) -> Any:
    """The value of a text in JSON. Raises ValueError for any other text, however deeply nested."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON that is nested too deep") from None


def parse_json_or_literal(text: str) -> Any:
    """The value of a text in JSON, else of a Python literal. Raises ValueError for any other
    text."""
    try:
        return load_json(text)
    except ValueError:
        return parse_literal(text)


def parse_finite(text: str) -> float | None:
    """The number that a text is, as Python writes numbers; None for other texts, nan and inf."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def digits_by_word(last: int) -> dict[str, str]:
    """The words from zero to `last`, each with its number in digits."""
    return {word: str(number) for number, word in enumerate(NUMBER_WORDS[: last + 1])}
