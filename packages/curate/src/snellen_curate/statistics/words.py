"""Words of a text, in scripts with and without spaces.

A word is what stands between white space, as in the tables of MMT-Bench (Table A14: the box
`[10, 20, 30, 40]` has four words). Scripts that are written without spaces have no such words:
there each character counts as one, as word processors count Chinese; in the scripts of Thailand,
Laos, Cambodia and Burma a character with its marks. Korean is written with spaces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

UNSPACED_SCRIPTS = "Chinese, Japanese, Thai, Lao, Khmer, Burmese or Tibetan"
"""Scripts in which a character counts as a word."""

_MARKED = (
    "[\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ec0-\u0ec6"
    "\u1000-\u102a\u103f\u1780-\u17b3\u0f40-\u0f6c]"
    "[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd"
    "\u102b-\u103e\u17b4-\u17d3\u0f71-\u0f84\u0f8d-\u0fbc]*"
)
"""A letter of a script whose vowels and tones are marks, with its marks."""
_SINGLE = (
    "\u3005-\u3007\u3021-\u3029\u3041-\u3096\u30a1-\u30fa\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff6f\uff71-\uff9d\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Han characters, kana, and their rarer forms."""
_LENGTH_MARKS = "\u3099-\u309f\u30fb-\u30ff\uff70\uff9e\uff9f"
"""Kana marks: they belong to the character before them."""
_PUNCTUATION = "\u3000-\u3004\u3008-\u3020\u3030\u303d\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
"""Punctuation of East Asia, which stands between words without a space."""
_BURMESE_PUNCTUATION = "\u0e2f\u0e3f\u0e4f\u0e5a\u0e5b\u104a-\u104f\u17d4-\u17da\u0f0b-\u0f14"

_UNSPACED = re.compile(f"[{_SINGLE}]|{_MARKED}")
_WORD = re.compile(
    f"[{_SINGLE}][{_LENGTH_MARKS}]*|{_MARKED}"
    f"|[^\\s{_SINGLE}{_LENGTH_MARKS}{_PUNCTUATION}{_BURMESE_PUNCTUATION}"
    "\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1780-\u17d3\u0f40-\u0fbc]+"
)
_TERM = re.compile(rf"{_UNSPACED.pattern}|[^\W{_SINGLE}{_LENGTH_MARKS}]+(?:[.,:]\d+)*")

_UNPLAIN = re.compile(r"[.,:\x80-\U0010ffff](?:\d|(?<=[^\x00-\x7f]))")
"""What terms are not simply separated by: decimal numbers and what is not ASCII."""
_SPACES = "".join(chr(sign) if chr(sign).isalnum() or chr(sign) in "_\n" else " " for sign in range(128))
"""For each ASCII character itself, if it may be part of a term, else a space; line breaks stay."""


def split_words(text: str) -> Sequence[str]:
    """The words of a text, as they stand there; punctuation next to a word belongs to it."""
    if text.isascii() or not _UNSPACED.search(text):
        return text.split()
    return _WORD.findall(text)


def count_words(texts: Sequence[str]) -> list[int]:
    """Number of words of each text."""
    split = str.split if "".join(texts).isascii() else split_words
    return list(map(len, map(split, texts)))


def is_unspaced(text: str) -> bool:
    """Whether a text holds characters of a script that is written without spaces."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def split_terms(text: str) -> list[str]:
    """The words of a text in lower case and without punctuation, to be compared with those of
    another text; decimal numbers stay whole."""
    return _TERM.findall(text.lower())


def split_all_terms(texts: Sequence[str]) -> list[list[str]]:
    """`split_terms` of each text. Plain ones are split together, without a regular expression, as that is faster."""
    text = "\n".join(texts).lower()
    if text.count("\n") >= len(texts):
        text = "\n".join([each.replace("\n", " ") for each in texts]).lower()
    others: list[int] = []
    if _UNPLAIN.search(text):
        lines = text.split("\n")
        others = [number for number, line in enumerate(lines) if _UNPLAIN.search(line)]
        for number in others:
            lines[number] = ""
        text = "\n".join(lines)
    terms = list(map(str.split, text.translate(_SPACES).split("\n")))[: len(texts)]
    for number in others:
        terms[number] = split_terms(texts[number])
    return terms
