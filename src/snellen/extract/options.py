"""The options of a question, prepared once for parsing many replies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache

from msgspec import Struct

from snellen.core import lazy_re as re
from snellen.core.literals import digits_by_word
from snellen.extract.clean import blank_markup, contains_any, fold, kept_for_short

NUMBER = re.compile(r"[-+$€£]?\d+(?:[.,]\d+)*(?:/\d+)?%?")
_WORD_DIGITS = digits_by_word(10)
DIGIT_WORDS = dict(zip(_WORD_DIGITS.values(), _WORD_DIGITS, strict=True))
_ARTICLES = ("a ", "an ", "the ")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_LEFT_EDGE = " \n,;:!?\"'(["
_RIGHT_EDGE = " \n.,;:!?\"')]"
_LAST_PROSE_LABEL = "J"
_MAX_COMMAND_LENGTH = 40
"""Characters that LaTeX commands may add to a short content."""
NONE_FITS = "Z"
"""MMBench's pseudo choice for "no option fits": a label only if an option has it."""
_FRACTION = re.compile(
    r"\\[dtc]?frac(?:\s*\{(?P<over>[^{}]*)\}\s*\{(?P<under>[^{}]*)\}|\s+(?P<one>\S+)\s{2}(?P<two>\S+))"
)
"""Its braces may have been blanked out before."""
_LATEX_SPACING = re.compile(r"\\(?:left|right|displaystyle|quad|[,;:! ()\[\]])|[${}]")
_FORMULA_SIGNS = ("\\", "$", "{", "}")
_LATEX_SIGNS = (
    (re.compile(r"\^?\s*\{?\s*\\circ\b\s*\}?"), "°"),
    (re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|operatorname|mbox|rm|bf)\b"), ""),
    (re.compile(r"\\(?:times|cdot)\b"), "×"),
    (re.compile(r"\\sqrt\b"), "√"),
    (re.compile(r"\\pi\b"), "π"),
    (re.compile(r"\\(?=[a-z%#&_])"), ""),
)


def normalise_content(text: str) -> str:
    """The form in which contents are compared."""
    if text.isalnum() and text.isascii():  # a single word: there is nothing to take off
        low = text.lower()
        return _WORD_DIGITS.get(low, low)
    if text.isascii() and text.replace(" ", "").isalnum():  # words, without signs
        low = " ".join(text.lower().split())
    else:
        low = " ".join(blank_markup(fold(text)).lower().split()).lstrip(_LEFT_EDGE).rstrip(_RIGHT_EDGE)
    if low.startswith(_ARTICLES):
        low = low.partition(" ")[2]
    if low in _WORD_DIGITS:
        return _WORD_DIGITS[low]
    return _THOUSANDS.sub("", low) if "," in low else low


def normalise_formula(text: str) -> str:
    r"""A content without LaTeX commands and blanks: "$\frac{1}{2}$" is "1/2"."""
    low = fold(text).lower()
    if contains_any(low, _FORMULA_SIGNS):
        low = _FRACTION.sub(_fraction_text, low)
        for sign, as_text in _LATEX_SIGNS if "\\" in low else ():
            low = sign.sub(as_text, low)
        low = _LATEX_SPACING.sub("", low)
    return "".join(normalise_content(low).split())


_reply_as_content, _reply_as_formula = kept_for_short(normalise_content), kept_for_short(normalise_formula)


def _fraction_text(match: re.Match[str]) -> str:
    return f"{match['over'] or match['one'] or ''}/{match['under'] or match['two'] or ''}"


class Options(Struct, frozen=True, dict=True):
    """Labels with their contents; without labels, any capital letter may be one."""

    labels: frozenset[str]
    contents: dict[str, str]
    """Label to normalised content, longest first, without empty contents."""
    by_content: dict[str, str]
    """Normalised content to label, of equal options the first. Contents that are only equal in
    this form ("a cat", "the cat") are left out."""
    raw: tuple[tuple[str, str], ...]
    """Labels with their texts as given."""
    numeric: bool
    """Whether every content is a number."""
    max_length: int
    """Characters of the longest raw content."""

    @cached_property
    def by_formula(self) -> dict[str, str]:
        """Normalised formula to label, like `by_content`; made for the first reply that needs it."""
        return _label_by_form({label: normalise_formula(content) for label, content in self.raw}, self.raw)

    @property
    def longest_content(self) -> int:
        """Characters of the longest normalised content."""
        return next(map(len, self.contents.values()), 0)

    def label_of(self, text: str) -> str | None:
        """The label of the option that the text equals, apart from surrounding signs and
        spacing."""
        label = self.by_content.get(_reply_as_content(text))
        if label or len(text) > 2 * self.max_length + _MAX_COMMAND_LENGTH:
            return label
        return self.by_formula.get(_reply_as_formula(text))

    def has_same_content(self, label: str, other: str) -> bool:
        """Whether two options have the same content."""
        return label == other or self.contents.get(label, "") == self.contents.get(other, label)

    def has(self, letter: str) -> bool:
        """Whether the letter can be a label in running text. Unknown labels reach to J there."""
        return letter in self.labels if self.labels else "A" <= letter <= _LAST_PROSE_LABEL

    def has_bare(self, letter: str) -> bool:
        """Whether the letter can be a label when it is the complete reply."""
        return letter in self.labels or (not self.labels and letter != NONE_FITS)


@lru_cache(maxsize=8192)
def prepare_options(items: tuple[tuple[str, str], ...]) -> Options:
    """The options in the forms that replies are compared with; cached."""
    contents = {label: normalise_content(content) for label, content in items}
    longest_first = sorted(
        ((label, content) for label, content in contents.items() if content), key=lambda item: -len(item[1])
    )
    non_empty = [content for _, content in longest_first]
    return Options(
        labels=frozenset(contents),
        contents=dict(longest_first),
        by_content=_label_by_form(contents, items),
        raw=items,
        numeric=bool(non_empty) and all(NUMBER.fullmatch(content) for content in non_empty),
        max_length=max([len(content) for _, content in items], default=0),
    )


def _label_by_form(forms: Mapping[str, str], items: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Form to label, for forms of a single option, or of options that are written alike."""
    distinct = {form: label for label, form in forms.items() if form}
    if len(distinct) == len(forms):
        return distinct
    raw = {label: " ".join(content.split()) for label, content in items}
    label_by_form: dict[str, str] = {}
    differing = set()
    for label, form in forms.items():
        first = label_by_form.setdefault(form, label)
        if raw[first] != raw[label]:
            differing.add(form)
    return {form: label for form, label in label_by_form.items() if form and form not in differing}
