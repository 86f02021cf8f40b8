"""The options of one question, prepared once for reading many replies."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
_LONGEST_DRESS = 40
"""Characters that LaTeX commands may add to a short content."""
NONE_FITS = "Z"
"""MMBench's pseudo choice for "no option fits": a label only where an option has it."""
_FRACTION = re.compile(
    r"\\[dtc]?frac(?:\s*\{(?P<over>[^{}]*)\}\s*\{(?P<under>[^{}]*)\}|\s+(?P<one>\S+)\s{2}(?P<two>\S+))"
)
"""Its braces may have been blanked out before."""
_LATEX = re.compile(r"\\(?:left|right|displaystyle|quad|[,;:! ()\[\]])|[${}]")
_LATEX_SIGNS = (
    (re.compile(r"\^?\s*\{?\s*\\circ\b\s*\}?"), "°"),
    (re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|operatorname|mbox|rm|bf)\b"), ""),
    (re.compile(r"\\(?:times|cdot)\b"), "×"),
    (re.compile(r"\\sqrt\b"), "√"),
    (re.compile(r"\\pi\b"), "π"),
    (re.compile(r"\\(?=[a-z%#&_])"), ""),
)


def plain(text: str) -> str:
    """A content in the form in which contents are compared: equal means the same content."""
    low = " ".join(unmarked(fold(text)).lower().split()).lstrip(_LEFT).rstrip(_RIGHT)
    article = _ARTICLE.match(low)
    if article:
        low = low[article.end() :]
    if low in _DIGITS:
        return _DIGITS[low]
    return _THOUSANDS.sub("", low) if "," in low else low


def formula(text: str) -> str:
    """A content without LaTeX commands and blanks: "$\\frac{1}{2}$" is "1/2"."""
    low = _FRACTION.sub(_divided, fold(text).lower())
    for sign, as_text in _LATEX_SIGNS if "\\" in low else ():
        low = sign.sub(as_text, low)
    return "".join(plain(_LATEX.sub("", low)).split())


def _divided(match: re.Match[str]) -> str:
    return f"{match['over'] or match['one'] or ''}/{match['under'] or match['two'] or ''}"


@dataclass(frozen=True, slots=True)
class Options:
    """Labels with their contents; no labels at all means they are unknown."""

    labels: frozenset[str]
    contents: dict[str, str]
    """Label to plain content, longest first, empty contents left out."""
    by_content: dict[str, str]
    """Plain content to label; the first one of options that read the same. Contents that are the
    same in this form alone ("a cat", "the cat") are left out."""
    by_formula: dict[str, str]
    """The same in the form of `formula`."""
    numeric: bool
    """True when every content is a number."""
    longest: int
    """Characters of the longest raw content."""

    def equal_to(self, text: str) -> str | None:
        """The label of the option that the text is, apart from dress and spacing."""
        found = self.by_content.get(plain(text))
        if found or len(text) > 2 * self.longest + _LONGEST_DRESS:
            return found
        return self.by_formula.get(formula(text))

    def same(self, label: str, other: str) -> bool:
        """Do the two options read the same?"""
        return label == other or self.contents.get(label, "") == self.contents.get(other, label)

    def has(self, letter: str) -> bool:
        """Can the letter be a label in running text? Unknown labels reach to J there."""
        return letter in self.labels if self.labels else "A" <= letter <= _LAST_PROSE_LABEL

    def has_bare(self, letter: str) -> bool:
        """Can the letter be a label when it is the whole reply?"""
        return letter in self.labels or (not self.labels and letter != NONE_FITS)


@lru_cache(maxsize=8192)
def prepared(items: tuple[tuple[str, str], ...]) -> Options:
    contents = {label: plain(content) for label, content in items}
    longest_first = sorted(
        ((label, content) for label, content in contents.items() if content),
        key=lambda item: -len(item[1]),
    )
    seen = [content for _, content in longest_first]
    raw = {label: " ".join(content.split()) for label, content in items}
    return Options(
        labels=frozenset(contents),
        contents=dict(longest_first),
        by_content=_by_text(contents, raw),
        by_formula=_by_text({label: formula(content) for label, content in items}, raw),
        numeric=bool(seen) and all(NUMBER.fullmatch(content) for content in seen),
        longest=max((len(content) for _, content in items), default=0),
    )


def _by_text(forms: Mapping[str, str], raw: Mapping[str, str]) -> dict[str, str]:
    """Form to label, where one option alone has it, or all that have it are written alike."""
    found: dict[str, str] = {}
    differing = set()
    for label, form in forms.items():
        first = found.setdefault(form, label)
        if raw[first] != raw[label]:
            differing.add(form)
    return {form: label for form, label in found.items() if form and form not in differing}
