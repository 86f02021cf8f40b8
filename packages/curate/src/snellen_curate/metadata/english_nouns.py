"""Plurals and articles of the names of objects, for the questions of templates.

Rules of spelling, and the nouns that break them, in `nouns.toml`. Measured against inflect on
docs/curate/evidence.md.
"""

from __future__ import annotations

import re

from snellen.data.toml_files import read_packaged

_TABLE = read_packaged(__package__, "nouns.toml")
_IRREGULAR: dict[str, str] = _TABLE.pop("irregular")
_SAME, _MASS, _PLURAL_NAMES, _PAIRS = (frozenset(words.split()) for words in _TABLE.values())
_VES = re.compile(r"(?:kni|wi|li)fe$|(?:cal|hal|wol|shel|lea|loa|thie|scar|el)f$")
_ADDS_ES = re.compile(r"(?:s|x|z|sh|ch)$|(?:potat|tomat|her|ech|buffal|mosquit|volcan|mang)o$")
_ENDS_AS_PLURAL = re.compile(r"[^aious]s$")
_NO_MEN = ("human", "german", "talisman", "ottoman", "caiman")
_REST = re.compile(r" (?:\(|of |for |with |in |on |at )")
_SILENT = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_LIKE_YOU = re.compile(r"(?:uni(?!n|m)|us[aeu]|urin|ute|uku|eu|ewe|one\b)|u[- ]", re.IGNORECASE)
_LETTERS = re.compile(r"[AEFHILMNORSX](?:[A-Z\d]|\b)")
_SPELT = re.compile(r"[A-Z](?:[A-Z\d]|-|\b)")


def pluralise(noun: str) -> str:
    """The plural of a name: `traffic lights`, `people`, `slices of pizza`, `skis`."""
    noun = noun.strip()
    head = _REST.split(noun, maxsplit=1)[0]
    before, space, last = head.rpartition(" ")
    return f"{before}{space}{_plural_of_word(last)}{noun[len(head) :]}"


def _plural_of_word(word: str) -> str:
    lower = word.lower()
    if lower in _SAME or lower in _MASS or lower.endswith("fish") or _is_plural(lower):
        return word
    if lower in _IRREGULAR:
        return _IRREGULAR[lower] if word == lower else _IRREGULAR[lower].title()
    if lower.endswith("man") and lower not in _NO_MEN:
        return f"{word[:-3]}men"
    if _VES.search(lower):
        return re.sub(r"fe?$", "ves", word)
    if re.search(r"[^aeiou]y$", lower):
        return word[:-1] + "ies"
    return word + ("es" if _ADDS_ES.search(lower) else "s")


def _is_plural(word: str) -> bool:
    return word in _PLURAL_NAMES or (word not in _IRREGULAR and _ENDS_AS_PLURAL.search(word) is not None)


def add_article(noun: str) -> str:
    """The name with what stands before one: `an umbrella`, `a pair of skis`, `some butter`."""
    last = _REST.split(noun, maxsplit=1)[0].rpartition(" ")[2].lower()
    if last in _PAIRS and " and " not in noun:
        return f"a pair of {noun}"
    if last in _MASS or _is_plural(last):
        return f"some {noun}"
    if _SPELT.match(noun):
        is_vowel = _LETTERS.match(noun) is not None
    else:
        is_vowel = bool(_SILENT.match(noun)) or (noun[:1].lower() in tuple("aeiou") and not _LIKE_YOU.match(noun))
    return f"{'an' if is_vowel else 'a'} {noun}"
