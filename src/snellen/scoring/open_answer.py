"""Exact match of a free answer with one of the gold answers after normalising; no containment.

Both sides are normalised: Unicode NFKC (full-width signs become plain ones; circled numbers are
kept), case folded, punctuation around words and the articles a, an, the removed, number words zero
to ten as digits, white space collapsed. Two numbers are equal as numbers: "3.0" is "3", "1,000" is
"1000". Units are part of the answer: neither "$5" nor "5%" is "5".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from snellen.core.literals import digits_by_word

_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|[-+]?\.\d+")
_LIST = re.compile(r"\s*[A-Za-z](?:\s*,\s*[A-Za-z])+\s*")
_DIGITS = digits_by_word(10)
_ARTICLES = frozenset({"a", "an", "the"})
_LEADING_SIGNS = "\"'`([{<,;:!?"
_TRAILING_SIGNS = "\"'`)]}>.,;:!?"
_SIGNS = str.maketrans("‘’“”−‐‑。、「」【】", '\'\'""---.,""[]')


def matches_gold(answer: str, golds: Sequence[str]) -> bool:
    """Whether the normalised answer equals a normalised gold answer. An empty answer never does."""
    form = normalise_answer(answer)
    return form != "" and any(form == normalise_answer(gold) for gold in golds)


def has_same_labels(answer: str, golds: Sequence[str]) -> bool:
    """Whether answer and a gold answer are lists of the same single letters, in any order and
    spacing: "b, d" is "b,d"."""
    answer_letters = _letters(answer)
    return len(answer_letters) > 1 and any(_letters(gold) == answer_letters for gold in golds)


def _letters(text: str) -> frozenset[str]:
    return frozenset(text.lower().replace(" ", "").split(",")) if _LIST.fullmatch(text) else frozenset()


@lru_cache(maxsize=65536)
def normalise_answer(text: str) -> str:
    """Normalise an answer for comparison; numbers take their shortest decimal form."""
    plain = text if text.isascii() else _fold_unicode(text)
    words = [_normalise_word(word) for word in plain.casefold().split()]
    without_articles = [word for word in words if word and word not in _ARTICLES]
    return " ".join(without_articles or [word for word in words if word])


def _fold_unicode(text: str) -> str:
    folded = "".join(
        sign if unicodedata.decomposition(sign).startswith("<circle>") else unicodedata.normalize("NFKC", sign)
        for sign in unicodedata.normalize("NFC", text).translate(_SIGNS)
    )
    return folded.translate(_SIGNS)  # NFKC turns half-width signs into signs of the table


def _normalise_word(word: str) -> str:
    core = word.lstrip(_LEADING_SIGNS).rstrip(_TRAILING_SIGNS)
    if _NUMBER.fullmatch(core):
        return _shortest_number(core)
    return _DIGITS.get(core, core)


def _shortest_number(number: str) -> str:
    sign = "-" if number.startswith("-") else ""
    integer, _, fraction = number.lstrip("+-").replace(",", "").partition(".")
    integer, fraction = integer.lstrip("0") or "0", fraction.rstrip("0")
    value = f"{integer}.{fraction}" if fraction else integer
    return value if value == "0" else sign + value
