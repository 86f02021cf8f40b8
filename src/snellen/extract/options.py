"""The options of one question, prepared once for reading many replies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from snellen.extract.clean import fold, unmarked

NUMBER = re.compile(r"[-+$€£]?\d+(?:[.,]\d+)*(?:/\d+)?%?")
DIGIT_WORDS = {
    str(number): word
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}
_DIGITS = {word: digits for digits, word in DIGIT_WORDS.items()}
_ARTICLE = re.compile(r"(?:an?|the) (?=\S)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_LEFT = " \n,;:!?\"'(["
_RIGHT = " \n.,;:!?\"')]"
_LAST_PROSE_LABEL = "J"


def plain(text: str) -> str:
    """A content in the form in which contents are compared: equal means the same content."""
    low = " ".join(unmarked(fold(text)).lower().split()).lstrip(_LEFT).rstrip(_RIGHT)
    article = _ARTICLE.match(low)
    if article:
        low = low[article.end() :]
    if low in _DIGITS:
        return _DIGITS[low]
    return _THOUSANDS.sub("", low) if "," in low else low


@dataclass(frozen=True, slots=True)
class Options:
    """Labels with their contents; no labels at all means they are unknown."""

    labels: frozenset[str]
    contents: dict[str, str]
    """Label to plain content, longest first, empty contents left out."""
    by_content: dict[str, str]
    """Plain content to label, contents that two labels share left out."""
    numeric: bool
    """True when every content is a number."""
    longest: int
    """Characters of the longest raw content."""

    def has(self, letter: str) -> bool:
        """Can the letter be a label in running text? Unknown labels reach to J there."""
        return letter in self.labels if self.labels else "A" <= letter <= _LAST_PROSE_LABEL

    def has_bare(self, letter: str) -> bool:
        """Can the letter be a label when it is the whole reply?"""
        return letter in self.labels or not self.labels


@lru_cache(maxsize=8192)
def prepared(items: tuple[tuple[str, str], ...]) -> Options:
    contents = {label: plain(content) for label, content in items}
    longest_first = sorted(
        ((label, content) for label, content in contents.items() if content),
        key=lambda item: -len(item[1]),
    )
    seen = [content for _, content in longest_first]
    return Options(
        labels=frozenset(contents),
        contents=dict(longest_first),
        by_content={c: label for label, c in longest_first if seen.count(c) == 1},
        numeric=bool(seen) and all(NUMBER.fullmatch(content) for content in seen),
        longest=max((len(content) for _, content in items), default=0),
    )
