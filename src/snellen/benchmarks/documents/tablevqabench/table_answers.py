"""TableVQA-Bench's rules (Kim et al. 2024, https://arxiv.org/abs/2404.19205, Sec. 4): one for
statements, one for answers from Wikipedia tables, one for financial tables.

The rule for Wikipedia tables is that of WikiTableQuestions (Pasupat and Liang 2015,
https://arxiv.org/abs/1508.00305): answers are sets of numbers, dates and texts, compared by kind.
Only plain decimal strings are numbers: "1,000" is text, as in the authors' script.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from snellen.core.literals import parse_finite

_QUOTES = str.maketrans("‘’´`“”‐‑‒–—−", "''''\"\"------")
_CITATIONS = re.compile(r"((?<!^)\[[^\]]*\]|\[\d+\]|[•♦†‡*#+])*$")
_DETAILS = re.compile(r"(?<!^)( \([^)]*\))*$")
_QUOTED = re.compile(r'^"([^"]*)"$')
_MAX_LENGTH = 1000
"""Characters of an item from which citations are removed; longer items are compared unchanged."""
_UNKNOWN = "xx"
_MAX_DATE_PARTS = (9999, 12, 31)
"""Highest month and day; years are not checked."""
_TOLERANCE = 1e-6
_UNITS = re.compile(
    r"\b(?:dollar|gallons|square feet|shares|mbtu|mbpd|mbbls|mmbtu|unit|gwh|year|mmcf|mile|mboe)"
    r"s?\b"
)
_SCALES = ((r" ?\bthousand\b", "e3"), (r" ?\bmillion\b", "e6"), (r" ?\bbillion\b", "e9"), (r" ?%", "e-2"))


def is_statement_correct(answer: str, gold: str) -> bool:
    """Whether the answer judges the statement right; `gold` is "True" or "False". An answer that
    contains both words is wrong."""
    lower_answer = answer.lower()
    true, false = "true" in lower_answer, "false" in lower_answer
    return true != false and true == (gold == "True")


def same_items(answer: str, gold: str) -> bool:
    """Whether two lists (items separated by `|` or `||`) have the same length and every gold item
    matches an item of the answer. Repeated items count once."""
    answer_items, gold_items = _parse_items(answer.replace("||", "|")), _parse_items(gold)
    return len(answer_items) == len(gold_items) and all(
        any(target.matches(item) for item in answer_items) for target in gold_items
    )


class Amount(NamedTuple):
    """A financial answer as a number, or as text if it is not a number."""

    with_units: float | str
    """With thousand, million, billion and % applied as factors."""
    bare: float | str
    """With these words and signs removed."""


def parse_amount(text: str) -> Amount:
    """Parse a financial answer, with unit words applied as factors and with them removed."""
    text = _UNITS.sub("", re.sub(r"[$(),]", "", normalise_cell(text)))
    scaled = bare = text
    for pattern, factor in _SCALES:
        scaled, bare = re.sub(pattern, factor, scaled), re.sub(pattern, "", bare)
    try:
        return Amount(float(scaled), float(bare))
    except ValueError:
        return Amount(scaled, bare)


def same_amount(answer: str, gold: str) -> bool:
    """Whether two amounts are equal with their units applied ("3.5 million" is 3500000)."""
    return parse_amount(answer).with_units == parse_amount(gold).with_units


def same_figure(answer: str, gold: str) -> bool:
    """Whether two amounts are equal with or without units: "34.2" for "34.2%" (the authors'
    relieved accuracy)."""
    return bool({*parse_amount(answer)} & {*parse_amount(gold)})


def normalise_cell(text: str) -> str:
    """Normalise the text of a table cell: lower case without diacritics, trailing citations,
    trailing details in parentheses, outer quotes and a final dot; quotes and dashes in one form,
    white space collapsed."""
    marks = unicodedata.normalize("NFKD", text)
    text = "".join(sign for sign in marks if unicodedata.category(sign) != "Mn").translate(_QUOTES)
    before = None
    while before != text and len(text) <= _MAX_LENGTH:
        before = text
        text = _CITATIONS.sub("", text.strip())
        text = _DETAILS.sub("", text.strip())
        text = _QUOTED.sub(r"\1", text.strip())
    return " ".join(text.removesuffix(".").lower().split())


@dataclass(frozen=True, slots=True)
class _CellItem:
    text: str
    number: float | None = None
    date: tuple[str, ...] | None = None

    def matches(self, other: _CellItem) -> bool:
        if self.text == other.text:
            return True
        if self.number is not None and other.number is not None:
            return abs(self.number - other.number) < _TOLERANCE
        return self.date is not None and self.date == other.date


def _parse_items(text: str) -> Sequence[_CellItem]:
    parsed_items = (_parse_item(_unescape(part)) for part in dict.fromkeys(text.split("|")))
    return list({_identity(item): item for item in parsed_items}.values())


def _identity(item: _CellItem) -> float | tuple[str, ...] | str:
    """The value by which two items of a list are the same item."""
    if item.number is not None:
        return item.number
    return item.date if item.date is not None else item.text


def _unescape(text: str) -> str:
    return text.replace(r"\n", "\n").replace(r"\p", "|").replace("\\\\", "\\")


def _parse_item(text: str) -> _CellItem:
    form = normalise_cell(text)
    number = _parse_number(text)
    if number is not None:
        return _CellItem(form, number)
    date = _parse_date(text)
    if date is not None and date[1:] == (_UNKNOWN, _UNKNOWN):
        return _CellItem(form, float(date[0]))
    return _CellItem(form, None, date)


def _parse_date(text: str) -> tuple[str, ...] | None:
    """Year, month and day of "2001-06-xx". None if all parts are unknown or a month or day is
    impossible."""
    parts = text.lower().split("-")
    if len(parts) != len(_MAX_DATE_PARTS):
        return None
    date = tuple(
        _UNKNOWN if part in unknown else _parse_integer(part)
        for part, unknown in zip(parts, (("xx", "xxxx"), ("xx",), ("xx",)), strict=True)
    )
    possible = all(
        part == _UNKNOWN or (part is not None and 1 <= int(part) <= latest)
        for part, latest in zip(date[1:], _MAX_DATE_PARTS[1:], strict=True)
    )
    known_parts = [part for part in date if part is not None]
    if len(known_parts) < len(date) or not possible or set(known_parts) == {_UNKNOWN}:
        return None
    return tuple(known_parts)


def _parse_integer(text: str) -> str | None:
    try:
        return str(int(text))
    except ValueError:
        return None


def _parse_number(text: str) -> float | None:
    value = parse_finite(text)
    if value is None:
        return None
    return float(round(value)) if abs(value - round(value)) < _TOLERANCE else value
