"""MathVista: an extracted answer, converted to the form of the question, against the gold (Lu et
al. 2023, arXiv:2310.02255, Sec. 3.3).

Two rules. `same_value` is ours: numbers are compared as numbers, floats after rounding to the
decimals of the gold, lists item by item. `normalise_extraction` is the authors', as of the
published scores of 2023: every extraction is forced into the question's form (for choices, the
nearest one by edit distance) and compared as text; an integer must be written as an integer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args

from snellen.scoring.mathematics import parse_number, strip_markup

AnswerType = Literal["text", "integer", "float", "list"]
ANSWER_TYPES: tuple[AnswerType, ...] = get_args(AnswerType)
_TOLERANCE = 1e-9
_IN_PARENTHESES = re.compile(r"\(([a-zA-Z])\)")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def answer_type_of(text: str) -> AnswerType:
    """The declared answer type; `text` for an unknown one."""
    return text if text in ANSWER_TYPES else "text"


def same_value(answer: str, gold: str, kind: AnswerType) -> bool:
    """Whether a free-form answer has the value of the gold."""
    if kind == "list":
        answer_numbers, gold_numbers = parse_number_list(answer), parse_number_list(gold)
        return answer_numbers is not None and gold_numbers is not None and _all_close(answer_numbers, gold_numbers)
    value, right = parse_number(strip_markup(answer)), parse_number(strip_markup(gold))
    if value is None or right is None:
        return strip_markup(answer) != "" and strip_markup(answer) == strip_markup(gold)
    if kind == "float":
        value = round(value, decimal_places(gold))
    return abs(value - right) < _TOLERANCE


def normalise_extraction(extraction: str, kind: AnswerType, gold: str, choices: Sequence[str]) -> str | None:
    """Convert the extraction to the question's form; None if that is impossible. `choices` are
    those of a multiple-choice question."""
    text = extraction.strip()
    if choices:
        return _choice_of_extraction(text, choices)
    if kind == "list":
        return text
    try:
        if kind == "integer":
            return str(int(text))
        if kind == "float":
            return str(round(float(text), decimal_places(gold)))
    except (ValueError, OverflowError):
        return None
    return text


def decimal_places(gold: str) -> int:
    """Decimals of a gold, which are MathVista's `precision`."""
    return len(gold.strip().partition(".")[2])


def nearest_choice(text: str, choices: Sequence[str]) -> int:
    """Index of the choice with the smallest Levenshtein distance; the first of equals."""
    from rapidfuzz.distance import Levenshtein

    return min(range(len(choices)), key=lambda index: Levenshtein.distance(text, choices[index]))


def parse_number_list(text: str) -> list[float] | None:
    """The numbers of a list such as [1, 2.5]; None for any other text."""
    core = text.strip()
    if not (core.startswith("[") and core.endswith("]")):
        return None
    numbers = [parse_number(strip_markup(item)) for item in core[1:-1].split(",")]
    return None if None in numbers else [value for value in numbers if value is not None]


def _choice_of_extraction(text: str, choices: Sequence[str]) -> str:
    """The choice an extraction stands for. The first letter in parentheses replaces the text, even
    if it is not a label: in "the graph of f(x)" the f is compared with the choices."""
    letter = _IN_PARENTHESES.search(text)
    choice_text = letter[1].upper() if letter else text
    if len(choice_text) == 1 and choice_text in _LETTERS[: len(choices)]:
        return choices[_LETTERS.index(choice_text)]
    return choices[nearest_choice(choice_text, choices)]


def _all_close(answer: Sequence[float], gold: Sequence[float]) -> bool:
    return len(answer) == len(gold) and all(
        abs(number - other) < _TOLERANCE for number, other in zip(answer, gold, strict=True)
    )
