"""A text and its translation, field by field, and what is wrong between them; the parts of a text
that a translation keeps as they are: code, formulae, addresses, placeholders.

Each kind of kept parts is taken out of the text before the next is looked for, so that a digit of a
URL is no number and a file name in a code span no file name of its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from msgspec import Struct

from snellen_curate.translate.languages import Language
from snellen_curate.translate.terms import TermGroup, terms_of


class Spans(NamedTuple):
    """The kept parts of a text by kind, and the text without them."""

    kept: dict[str, list[str]]
    rest: str


_SUFFIXES = (
    "png|jpe?g|gif|webp|bmp|tiff?|svg|pdf|txt|csv|tsv|jsonl?|xml|html?|css|js|ts|py|ipynb|java|cpp|"
    "hpp|cs|go|rs|rb|php|sh|bat|exe|dll|so|zip|gz|tar|rar|7z|mp[34]|avi|mov|mkv|wav|docx?|xlsx?|"
    "pptx?|md|ya?ml|toml|ini|cfg|conf|log|sql|db|apk|iso|tex|bib"
)
_TEXT_COMMAND = re.compile(r"\\(?:text|mbox|textbf|mathrm|textrm|textit)\s*\{[^{}]*\}")

KINDS: dict[str, re.Pattern[str]] = {
    "code": re.compile(r"```.*?```|(?<!`)`[^`\n]+`(?!`)", re.DOTALL),
    "formulae": re.compile(
        r"\$\$.+?\$\$|(?<![\\\w$])\$(?=[A-Za-z\\({|+-])[^$\n]*?[^\s$]\$(?!\d)|\$\d[^$\n]*?[\\^_={}][^$\n]*?\$"
        r"|\\\(.+?\\\)|\\\[.+?\\\]|\\begin\{(\w+\*?)\}.*?\\end\{\1\}"
        r"|\\(?:frac|sqrt|sum|int|alpha|beta|theta|pi|times|cdot|leq?|geq?|angle|triangle|circ)\b"
        r"(?:\s*\{[^{}]*\})*",
        re.DOTALL,
    ),
    "addresses": re.compile(
        r"\b(?:https?|ftp)://[^\s<>\"'，。；！？、（）“”]*[^\s<>\"'，。；！？、（）“”.,;:!?)\]]"
        r"|\bwww\.[\w-]+\.[\w./-]*\w|\b[\w.+-]+@[\w-]+\.[\w.-]*\w"
        r"|\b(?:[\w-]+\.)+(?:com|org|net|edu|gov|io|cn)\b(?:/[\w./-]*\w)?",
        re.ASCII,
    ),
    "placeholders": re.compile(
        r"<\|?/?[A-Za-z][\w -]{0,30}?\|?/?>|\{\{?\s*[A-Za-z_]\w*\s*\}?\}"
        r"|\[(?:MASK|BLANK|IMG|IMAGE)\d*\]|%(?:\([a-z_]+\))?[sd]\b",
        re.ASCII,
    ),
    "files": re.compile(
        rf"(?:[A-Za-z]:\\|\.{{0,2}}/)?(?:[\w-]+[/\\])*[\w-]+(?:\.[\w-]+)*\.(?:{_SUFFIXES})\b"
        r"|(?<![\w/.])/(?:[\w.-]+/)+[\w.-]*\w|[A-Za-z]:\\[\w\\.-]+",
        re.IGNORECASE | re.ASCII,
    ),
    "identifiers": re.compile(
        r"\b[A-Za-z]\w*(?:\.\w+)*\(\)|\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b|\b_\w+\b"
        r"|(?<!\w)--[a-z][\w-]+\b",
        re.ASCII,
    ),
    "tags": re.compile(r"(?<![\w&/])[#@][A-Za-z_]\w*", re.ASCII),
}
"""What is kept, by the name of the rule that checks it."""

_BLANK = re.compile(r"_{2,}|[(（][\s_]*[)）]")
BLANK = "___"


def find_spans(text: str) -> Spans:
    """The kept parts of `text`, each in a form in which equal ones are equal."""
    kept: dict[str, list[str]] = {}
    blanks = _BLANK.findall(text)
    if blanks:
        kept["placeholders"] = [BLANK] * len(blanks)
        text = _BLANK.sub(" ", text)
    for kind, pattern in KINDS.items():
        matches = [match[0] for match in pattern.finditer(text)]
        if matches:
            normal = _NORMAL.get(kind, str.strip)
            kept[kind] = [*kept.get(kind, ()), *map(normal, matches)]
            text = pattern.sub(" ", text)
    return Spans(kept, text)


def _normal_formula(formula: str) -> str:
    # What stands in \text{...} is prose, which a translation may translate.
    bare = _TEXT_COMMAND.sub(r"\\text{}", formula)
    inside = re.sub(r"^(?:\$\$?|\\\(|\\\[)|(?:\$\$?|\\\)|\\\])$", "", bare)
    return "".join(inside.split())


_NORMAL: dict[str, Callable[[str], str]] = {
    "code": lambda code: " ".join(code.strip("` \n").split()),
    "formulae": _normal_formula,
    "placeholders": lambda placeholder: " ".join(placeholder.split()),
}


Level = Literal["wrong", "doubtful"]
"""`wrong`: the model is sent the mistake and asked again. `doubtful`: often right, so only
recorded."""

_LABEL = re.compile(r"[A-Z]")


Fault = tuple[Level, str]
"""What a rule has against a text: how sure it is, and a clause."""
FieldFault = tuple[str, Level, str]
"""The same of one text of several, with its field."""


class Mismatch(Struct, frozen=True):
    """What a rule has against a translation."""

    rule: str
    field: str
    level: Level
    text: str
    """A clause for the model and for people: what, got, expected."""

    def __str__(self) -> str:
        return f"{self.rule} ({self.field}): {self.text}"


@dataclass(frozen=True)
class TextPair:
    """The texts of an item by field (`question`, `hint`, `A`, `B`, ...), and their translations."""

    source: Mapping[str, str]
    target: Mapping[str, str]
    source_language: Language
    target_language: Language
    gold: tuple[str, ...] = ()
    """Labels of the right options, for messages."""
    keep: tuple[str, ...] = ()
    """Terms that are not to be translated."""
    glossary: Mapping[str, str] = field(default_factory=dict)
    """Terms with the translation that is required of each."""

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Fields that both texts have and that are not empty."""
        return tuple(name for name, text in self.source.items() if text.strip() and self.target.get(name, "").strip())

    @cached_property
    def by_field(self) -> dict[str, FieldPair]:
        """The texts of these fields with their translations."""
        return {name: FieldPair(name, self) for name in self.fields}

    @property
    def options(self) -> list[str]:
        """The labels of the source's options."""
        return [name for name in self.source if _LABEL.fullmatch(name)]


@dataclass(frozen=True)
class FieldPair:
    """The text of one field of an item, and its translation."""

    name: str
    item: TextPair

    @property
    def source(self) -> str:
        return self.item.source[self.name]

    @property
    def target(self) -> str:
        return self.item.target[self.name]

    @cached_property
    def before(self) -> Spans:
        """The kept parts of the source."""
        return find_spans(self.source)

    @cached_property
    def after(self) -> Spans:
        """The kept parts of the translation."""
        return find_spans(self.target)

    @cached_property
    def concepts(self) -> list[tuple[TermGroup, dict[str, list[str]]]]:
        """The groups of words that are known for the two languages and that the source has a word
        of, with the concepts of these words."""
        groups = terms_of(self.item.source_language, self.item.target_language).groups
        return [(group, found) for group in groups if (found := group.source_concepts(self.before.rest))]


_BETWEEN_DIGITS = re.compile(r"(?<=\d)[.,:](?=\d)")
_SIGNIFICANT = frozenset("%‰+-−±*/=<>\u0092")


def bare_text(text: str) -> str:
    """`text` as it is compared: case, width, white space and punctuation do not count."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    # A point between digits is part of the number: 1.5 is not 15.
    folded = _BETWEEN_DIGITS.sub("\u0092", folded)
    kept = [
        character for character in folded if unicodedata.category(character)[0] in "LNSM" or character in _SIGNIFICANT
    ]
    return "".join(kept) or "".join(folded.split())
