"""TableVQA-Bench's rules (Kim et al. 2024, https://arxiv.org/abs/2404.19205, Sec. 4): one for
statements, one for answers from Wikipedia tables, one for financial tables.

The rule for Wikipedia tables is WikiTableQuestions' (Pasupat and Liang 2015,
https://arxiv.org/abs/1508.00305): answers are sets of numbers, dates and texts, compared by kind.
Only number strings are read as numbers: "1,000" is text, as in the authors' script.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_QUOTES = str.maketrans("‘’´`“”‐‑‒–—−", "''''\"\"------")
_CITATIONS = re.compile(r"((?<!^)\[[^\]]*\]|\[\d+\]|[•♦†‡*#+])*$")
_DETAILS = re.compile(r"(?<!^)( \([^)]*\))*$")
_QUOTED = re.compile(r'^"([^"]*)"$')
_LONGEST = 1000
"""Characters of an item with citations; what is longer is compared as it stands."""
_UNKNOWN = "xx"
_LATEST = (9999, 12, 31)
"""Highest month and day; years are not looked at."""
_NEAR = 1e-6
_UNITS = re.compile(
    r"\b(?:dollar|gallons|square feet|shares|mbtu|mbpd|mbbls|mmbtu|unit|gwh|year|mmcf|mile|mboe)"
    r"s?\b"
)
_SCALES = (
    (r" ?\bthousand\b", "e3"),
    (r" ?\bmillion\b", "e6"),
    (r" ?\bbillion\b", "e9"),
    (r" ?%", "e-2"),
)


def statement_correct(answer: str, gold: str) -> bool:
    """Whether the answer calls the statement what it is; `gold` is "True" or "False".
    An answer that holds both words is wrong."""
    said = answer.lower()
    true, false = "true" in said, "false" in said
    return true != false and true == (gold == "True")


def same_items(answer: str, gold: str) -> bool:
    """Whether two lists, items joined by `|` or `||`, have as many items and each gold item is
    among those of the answer. Repeated items count once."""
    said, wanted = _items(answer.replace("||", "|")), _items(gold)
    return len(said) == len(wanted) and all(
        any(target.matches(one) for one in said) for target in wanted
    )


class Money(NamedTuple):
    """A financial answer, as a number where it is one."""

    with_units: float | str
    bare: float | str


def money(text: str) -> Money:
    """The answer with thousand, million, billion and % as factors, and with these left out."""
    text = _UNITS.sub("", re.sub(r"[$(),]", "", plain(text)))
    scaled = bare = text
    for pattern, factor in _SCALES:
        scaled, bare = re.sub(pattern, factor, scaled), re.sub(pattern, "", bare)
    try:
        return Money(float(scaled), float(bare))
    except ValueError:
        return Money(scaled, bare)


def same_amount(answer: str, gold: str) -> bool:
    """Equal as amounts, in the same units ("3.5 million" is 3500000)."""
    return money(answer).with_units == money(gold).with_units


def same_figure(answer: str, gold: str) -> bool:
    """Equal with or without units: "34.2" for "34.2%" (the authors' relieved accuracy)."""
    return bool({*money(answer)} & {*money(gold)})


def plain(text: str) -> str:
    """Lower case without diacritics, citations at the end, details in parentheses, outer quotes
    and a final dot; quotes and dashes in one form, white space collapsed."""
    marks = unicodedata.normalize("NFKD", text)
    text = "".join(sign for sign in marks if unicodedata.category(sign) != "Mn").translate(_QUOTES)
    before = None
    while before != text and len(text) <= _LONGEST:
        before = text
        text = _CITATIONS.sub("", text.strip())
        text = _DETAILS.sub("", text.strip())
        text = _QUOTED.sub(r"\1", text.strip())
    return " ".join(text.removesuffix(".").lower().split())


@dataclass(frozen=True, slots=True)
class _Item:
    text: str
    number: float | None = None
    date: tuple[str, ...] | None = None

    def matches(self, other: _Item) -> bool:
        if self.text == other.text:
            return True
        if self.number is not None and other.number is not None:
            return abs(self.number - other.number) < _NEAR
        return self.date is not None and self.date == other.date


def _items(text: str) -> Sequence[_Item]:
    found = (_item(_unescaped(part)) for part in dict.fromkeys(text.split("|")))
    return list({_same(one): one for one in found}.values())


def _same(item: _Item) -> float | tuple[str, ...] | str:
    """What makes an item the same as another of a list."""
    if item.number is not None:
        return item.number
    return item.date if item.date is not None else item.text


def _unescaped(text: str) -> str:
    return text.replace(r"\n", "\n").replace(r"\p", "|").replace("\\\\", "\\")


def _item(text: str) -> _Item:
    form = plain(text)
    number = _number(text)
    if number is not None:
        return _Item(form, number)
    date = _date(text)
    if date is not None and date[1:] == (_UNKNOWN, _UNKNOWN):
        return _Item(form, float(date[0]))
    return _Item(form, None, date)


def _date(text: str) -> tuple[str, ...] | None:
    """Year, month and day of "2001-06-xx"; none where all are unknown or a month cannot be."""
    parts = text.lower().split("-")
    if len(parts) != len(_LATEST):
        return None
    date = tuple(
        _UNKNOWN if part in unknown else _whole(part)
        for part, unknown in zip(parts, (("xx", "xxxx"), ("xx",), ("xx",)), strict=True)
    )
    possible = all(
        part == _UNKNOWN or (part is not None and 1 <= int(part) <= latest)
        for part, latest in zip(date[1:], _LATEST[1:], strict=True)
    )
    known = [part for part in date if part is not None]
    if len(known) < len(date) or not possible or set(known) == {_UNKNOWN}:
        return None
    return tuple(known)


def _whole(text: str) -> str | None:
    try:
        return str(int(text))
    except ValueError:
        return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if abs(value) == float("inf") or value != value:
        return None
    return float(round(value)) if abs(value - round(value)) < _NEAR else value
