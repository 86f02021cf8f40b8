"""Languages by BCP-47 tag, with what the checks of a translation must know of each
(`languages.toml`)."""

from __future__ import annotations

import functools
import re
import unicodedata

from msgspec import Struct, convert

from snellen.core.errors import UsageError
from snellen.data.toml_files import read_packaged

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
