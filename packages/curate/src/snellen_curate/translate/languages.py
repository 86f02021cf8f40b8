"""Languages by BCP-47 tag, with what the checks of a translation must know of each
(`languages.toml`); words whose translation is known for a pair of them, in groups that exclude each
other; and glossaries of the user.

`words/TAG.toml` of a language has the groups of `words/en.toml`: by concept the words that stand
for it or, behind `~`, may do so; `ignore`, where a word of the group means something else;
`numbers`, words for numbers; and `symbols`, words by which a symbol may be written out.
"""

from __future__ import annotations

import functools
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, convert

from snellen.core.errors import DataError, UsageError
from snellen.data.toml_files import read_packaged, read_toml

_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")
_OTHER_NAMES = {"zh-cn": "zh", "zh-hans": "zh", "zh-sg": "zh", "cn": "zh", "zh-tw": "zh-Hant", "zh-hk": "zh-Hant"}
"""Tags of regions that write as another entry does; "cn" is the name of MMBench's split."""


class Language(Struct, frozen=True):
    """A language. `scripts` are first words of Unicode character names, such as LATIN and CJK;
    empty if the language is not in the table."""

    tag: str
    name: str
    native: str = ""
    scripts: tuple[str, ...] = ()
    yes: str = ""
    no: str = ""
    negated: tuple[str, ...] = ()
    """Clear negations."""
    unnegated: tuple[str, ...] = ()
    """What has one of them and asks for none: "not only"."""
    negation: tuple[str, ...] = ()
    """What else shows that a negation was not lost."""
    negative: str = ""
    """Words with a negative meaning, as a pattern."""
    translation: str = ""
    """Words of a heading such as "Translation:"."""
    remark: str = ""
    """Words with which a remark in brackets begins."""
    opening: str = ""
    """Words with which a reply begins, such as "Sure!"."""
    capitals: tuple[str, ...] = ()
    """Words with a capital that are no names."""
    word_bounds: bool = True
    length: tuple[float, float] | None = None
    """Usual characters of this language for one of English, in texts of 50 characters or more."""

    def asks_yes_or_no(self, text: str) -> bool:
        """Whether a text names both words next to each other: "answer yes or no", 是或否."""
        if not self.yes:
            return False
        yes, no = (re.escape(word.casefold()) for word in (self.yes, self.no))
        edge, reach = (r"\b", 9) if self.word_bounds else ("", 3)
        pattern = rf"{edge}{yes}{edge}.{{1,{reach}}}?{edge}{no}{edge}"
        return bool(re.search(pattern, text.casefold()))

    def pattern(self, words: str) -> str:
        """A pattern of words of this language that `|` separates, complete words if it has blanks.
        `*` stands for any letters."""
        alternatives = BAR.split(fold_letters(words))
        if self.word_bounds:
            alternatives = list(map(_bound_word, alternatives))
        return "|".join(alternatives)

    def letters(self, text: str) -> int:
        """How many characters of the language's scripts `text` has."""
        return sum(script_of(character) in self.scripts for character in text)


BAR = re.compile(r"\|(?![^()]*\))")
"""Between alternatives, not within brackets."""
_STAR = re.compile(r"(?<!\\)\*")
_FOLDED = str.maketrans("ёأإآىة", "еااايه", "".join(map(chr, range(0x64B, 0x653))))


def fold_letters(text: str) -> str:
    """`text` without the marks that Arabic and Russian may leave out: vowels, hamza, ё."""
    return text.translate(_FOLDED)


def _bound_word(word: str) -> str:
    """A pattern that does not begin or end within a word; a sign such as $ may stand anywhere."""
    left = "(?<![^\\W\\d_])" if re.match(r"[\w(\[]", word) else ""
    right = "(?![^\\W\\d_])" if re.search(r"[\w)\]?]$", word) else ""
    return left + _STAR.sub(r"\\w*", word) + right


@functools.lru_cache(maxsize=65536)
def script_of(character: str) -> str:
    """The script of a letter as the first word of its Unicode name; "" for all but letters."""
    if not unicodedata.category(character).startswith("L"):
        return ""
    return unicodedata.name(character, "").partition(" ")[0]


@functools.cache
def known_languages() -> dict[str, Language]:
    """The languages of the table, by tag."""
    table = read_packaged(__package__, "languages.toml")
    return {tag: convert({"tag": tag, **entry}, Language) for tag, entry in table.items()}


def open_language(tag: str) -> Language:
    """The language of a BCP-47 tag.

    A tag of a region falls back on its language ("de-AT" on "de"). A well-formed tag that is not in
    the table is a language without a script, without words for yes and no, and without a length:
    the rules that need them do not apply. Raises UsageError for what is no tag.
    """
    languages = known_languages()
    by_lower = {name.lower(): name for name in languages}
    name = tag.strip().replace("_", "-")
    lower = name.lower()
    known = _OTHER_NAMES.get(lower) or by_lower.get(lower) or by_lower.get(lower.partition("-")[0])
    if known:
        return languages[known]
    if not _TAG.fullmatch(name):
        raise UsageError(f"'{tag}' is not a language tag; expected BCP-47, such as zh, de, pt or zh-Hant")
    return Language(tag=name, name=f"the language with the tag {name}")


def length_range(source: Language, target: Language) -> tuple[float, float]:
    """The least and the largest usual ratio of characters, target to source."""
    if source.tag == target.tag:
        return (1.0, 1.0)
    wide = (0.3, 3.0)
    to_low, to_high = target.length or wide
    from_low, from_high = source.length or wide
    return to_low / from_high, to_high / from_low


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
