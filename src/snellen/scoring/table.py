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
_DATE = re.compile(r"(\d+|xx|xxxx)-(\d+|xx)-(\d+|xx)", re.IGNORECASE)
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
    while before != text:
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
    found = (_item(_unescaped(part)) for part in text.split("|"))
    return list({one.number or one.date or one.text: one for one in found}.values())


def _unescaped(text: str) -> str:
    return text.replace(r"\n", "\n").replace(r"\p", "|").replace("\\\\", "\\")


def _item(text: str) -> _Item:
    form = plain(text)
    number = _number(text)
    if number is not None:
        return _Item(form, number)
    found = _DATE.fullmatch(text.strip())
    if found is None:
        return _Item(form)
    year, *rest = (part.lower().lstrip("0") for part in found.groups())
    if all(part == "xx" for part in rest):
        return _Item(form, _number(year))
    return _Item(form, None, (year.replace("xxxx", "xx"), *rest))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None
