"""Count the nouns of an English caption by rule.

SEED-Bench-H (Sec. 3.3.1) keeps pictures whose caption has more than five nouns. The paper does not
name its tagger. This one is a list of words that are no nouns, the endings of verbs and adverbs,
and the word before: captions are short and plain, so that it needs no model.
`tests/curate/questions` measures it on labelled captions.
"""

from __future__ import annotations

import functools
import re
import tomllib
from importlib.resources import files
from typing import NamedTuple

MIN_NOUNS = 6
"""The paper drops pictures with no more than five nouns."""

_WORD = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|\d+|[^\sA-Za-z\d]")
_MIN_LATIN_SHARE = 0.5


class _Lexicon(NamedTuple):
    function: frozenset[str]
    determiners: frozenset[str]
    naming: frozenset[str]
    numbers: frozenset[str]
    adjectives: frozenset[str]
    verbs: frozenset[str]
    nouns: frozenset[str]
    """Nouns that end as verbs, adverbs or adjectives do."""
    endings: tuple[str, ...]


@functools.cache
def _lexicon() -> _Lexicon:
    table = tomllib.loads((files(__package__) / "words.toml").read_text(encoding="utf-8"))

    def words(*names: str) -> frozenset[str]:
        return frozenset(word for name in names for word in table[name].split())

    return _Lexicon(
        words("function"),
        words("determiners"),
        words("naming"),
        words("numbers"),
        words("adjectives"),
        words("verbs"),
        words("ing", "ed", "ly", "adjective_exceptions"),
        tuple(table["adjective_endings"]),
    )


def find_nouns(caption: str) -> list[str]:
    """The nouns of a caption in order, as they stand there; a word that stands twice counts twice.

    Every part of a compound counts ("street sign" is two).
    """
    words = _WORD.findall(caption)
    lower = [word.lower() for word in words]
    return [word for index, word in enumerate(words) if _is_noun(lower, index)]


def is_english(caption: str) -> bool:
    """Whether at least half of the letters are Latin ones: other captions cannot be counted."""
    letters = [character for character in caption if character.isalpha()]
    latin = sum(character.isascii() for character in letters)
    return latin >= _MIN_LATIN_SHARE * len(letters)


def _is_noun(words: list[str], index: int) -> bool:
    """Decide about one word, in lower case, by lists, then endings, then the word before."""
    word, lexicon = words[index], _lexicon()
    if not word[0].isalpha() or len(word) == 1 or word in lexicon.numbers:
        return False
    before = words[index - 1] if index else ""
    if word in lexicon.naming:
        return _names_a_part(words, index, lexicon)
    if word in lexicon.function:
        return False
    if word in lexicon.nouns:
        return True
    if word in lexicon.adjectives:
        return _stands_for_a_noun(words, index, lexicon)
    if word.endswith(lexicon.endings) or word.endswith("ly"):
        return False
    if word.endswith("ing") or word.endswith("ed"):
        return False
    if _verb_stem(word, lexicon):
        return _is_noun_here(words, index, before, lexicon)
    return True


def _names_a_part(words: list[str], index: int, lexicon: _Lexicon) -> bool:
    """ "The top of the hill", "a group of people": a noun before `of`; not in "on top of"."""
    before = words[index - 1] if index else ""
    after = words[index + 1] if index + 1 < len(words) else ""
    return after == "of" and (before in {"a", "an", "the", "each"} or before in lexicon.adjectives)


def _stands_for_a_noun(words: list[str], index: int, lexicon: _Lexicon) -> bool:
    """ "A girl in red", "an orange on a plate": an adjective's form behind a determiner, where no
    noun can follow it."""
    before = words[index - 1] if index else ""
    after = words[index + 1] if index + 1 < len(words) else ""
    ends = not after or not after[0].isalpha() or after in lexicon.function
    return ends and before in lexicon.determiners


def _verb_stem(word: str, lexicon: _Lexicon) -> bool:
    stems = [word, word.removesuffix("s"), word.removesuffix("es")]
    if word.endswith("ies"):
        stems.append(word[:-3] + "y")
    return any(stem in lexicon.verbs for stem in stems)


def _is_noun_here(words: list[str], index: int, before: str, lexicon: _Lexicon) -> bool:
    """Whether a word that may be a verb is a noun: behind a determiner, number or adjective, or
    at the beginning."""
    if not index or not before[0].isalpha():
        return before not in {",", "-"} if index else True
    return before in lexicon.determiners | lexicon.numbers | lexicon.adjectives
