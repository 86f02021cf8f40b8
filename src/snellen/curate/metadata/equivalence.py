"""Whether two options say the same, so that one item does not offer both."""

from __future__ import annotations

import re
import unicodedata

_NUMBER = re.compile(r"([-+]?\d[\d,]*(?:\.\d+)?|[-+]?\.\d+)\s*(.*)", re.DOTALL)
_ARTICLE = re.compile(r"^(?:an?|the)\s+")
_PUNCTUATION = re.compile(r"[^\w\s+\-*/%=<>$€£#@&°\[\](){},.:]|(?<!\d)[.,:]|[.,:](?!\d)")
_WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]
_VALUES = {word: str(value) for value, word in enumerate(_WORDS)}


def option_key(text: str) -> str:
    """The form in which options are compared: two options with the same key say the same.

    Case, compatibility characters, white space, outer punctuation, a leading article, number words
    and the way of writing a number do not count ("The dog." = "dog", "three" = "3" = "3.0").
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    plain = " ".join(_PUNCTUATION.sub(" ", plain).split())
    plain = _ARTICLE.sub("", plain)
    plain = _VALUES.get(plain, plain)
    number = _NUMBER.fullmatch(plain)
    if number:
        value = float(number[1].replace(",", ""))
        return f"{value:.12g} {number[2]}".strip()
    # What is nothing but punctuation is compared as it stands.
    return plain or text.strip()
