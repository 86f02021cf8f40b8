"""Words whose translation is known for a pair of languages, in groups that exclude each other, and
glossaries of the user.

`words/TAG.toml` of a language has the groups of `words/en.toml`: by concept the words that stand
for it or, behind `~`, may do so; `ignore`, where a word of the group means something else;
`numbers`, words for numbers; and `symbols`, words by which a symbol may be written out.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from snellen.core.errors import DataError, UsageError
from snellen.data.toml_files import read_toml
from snellen_curate.translate.languages import Language, fold_letters

Words = Mapping[str, str]
"""Words by the concept that they stand for, as alternatives between `|`."""


@dataclass(frozen=True)
class TermGroup:
    """Words that exclude each other, such as the colours."""

    title: str
    source: re.Pattern[str]
    target: Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]]
    """By concept, what may stand for it, and what shows that it is there."""
    ignore: re.Pattern[str]

    def source_concepts(self, text: str) -> dict[str, list[str]]:
        """The concepts of a text in the source language, and its words for each."""
        found: dict[str, list[str]] = {}
        for match in self.source.finditer(text):
            found.setdefault(match.lastgroup or "", []).append(match[0].casefold())
        return found

    def target_concepts(self, text: str) -> tuple[dict[str, int], set[str]]:
        """The concepts that a text in the target language shows, how often, and those that it may
        have."""
        bare = self.ignore.sub(" ", fold_letters(text))
        possible = {name for name, (weak, _) in self.target.items() if weak.search(bare)}
        counts = {name: len(self.target[name][1].findall(bare)) for name in possible}
        return {name: count for name, count in counts.items() if count}, possible


@dataclass(frozen=True)
class Terms:
    """What is known of a pair of languages; empty for most."""

    groups: tuple[TermGroup, ...] = ()
    numbers: TermGroup | None = None
    """Words of the target language for numbers; concepts are decimal numbers."""
    symbols: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Words by which a symbol may be written out."""


@functools.cache
def terms_of(source: Language, target: Language) -> Terms:
    """The words and symbols that are known of a pair of languages (`words/TAG.toml`)."""
    if source.tag != "en" or (table := _read_words(target.tag)) is None:
        return Terms()
    english = _read_words("en") or {}
    numbers, symbols = table.pop("numbers"), table.pop("symbols")
    groups = (
        _term_group(english[name].get("title", name), english[name], words, source, target)
        for name, words in table.items()
    )
    return Terms(tuple(groups), _term_group("numbers", {}, numbers, source, target), symbols)


def _read_words(tag: str) -> dict[str, dict[str, Any]] | None:
    file = files("snellen_curate.translate") / "words" / f"{tag}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def _term_group(title: str, english: Words, words: Words, source: Language, target: Language) -> TermGroup:
    """A group of the tables; concepts are named groups of the source's pattern."""
    named = "|".join(f"(?P<{name}>{source.pattern(each)})" for name, each in english.items() if name != "title")
    return TermGroup(
        title,
        re.compile(named or _NOTHING, re.IGNORECASE),
        {
            name: (
                re.compile(target.pattern(each.replace("~", "")), re.IGNORECASE),
                re.compile(target.pattern(_WEAK.sub("", each)) or _NOTHING, re.IGNORECASE),
            )
            for name, each in words.items()
            if name != "ignore"
        },
        re.compile(words.get("ignore", _NOTHING)),
    )


_WEAK = re.compile(r"(?:^|\|)~[^|]*")
_NOTHING = "(?!)"


def read_glossary(path: str) -> dict[str, str]:
    """A glossary: a TOML table of terms with their translation. Raises DataError."""
    try:
        return msgspec.convert(read_toml(path), dict[str, str])
    except msgspec.ValidationError:
        raise DataError(f'{path}: expected a table of terms with their translation, as in cat = "猫"') from None


def read_terms(given: Iterable[str]) -> tuple[str, ...]:
    """Terms to keep, each given as it is or as a file with one a line.

    Raises DataError if a file cannot be read."""
    terms: dict[str, None] = {}
    for text in given:
        path = Path(text).expanduser()
        if not path.is_file():
            if "/" in text or text.endswith(".txt"):
                raise UsageError(f"{text}: no such file; --terms takes a term, or a file of terms")
            terms[text] = None
            continue
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: cannot be read as UTF-8 text: {error}") from error
        terms |= dict.fromkeys(line.strip() for line in lines if line.strip())
    return tuple(terms)


def has_term(text: str, term: str, language: Language) -> bool:
    """Whether a text contains a term, as complete words where the language has blanks."""
    if not language.word_bounds:
        return term.casefold() in text.casefold()
    return bool(re.search(rf"(?<!\w){re.escape(term)}(?!\w)", text, re.IGNORECASE))
