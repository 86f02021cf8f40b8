"""Whether two wordings ask the same: by the words that differ, not by how much is alike.

A question is reduced to the words that decide what is asked: sentences that only say how to
answer, words that ask nothing, and spellings of one word are taken out by `question_words.toml`.
If the same words are left in the same order, the questions are the same ("Is A left of B?" and "Is
B left of A?" hold the same words). Words in no list count, so that in a language without lists only
equal texts are the same.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from snellen.data.toml_files import read_packaged
from snellen_curate.duplicates.texts import tokens

Words = tuple[str, ...]
Verdict = Literal["same", "doubtful", "different"]

_SENTENCE_END = re.compile(r"(?<=[.!?:;])\s+|(?<=[。！？；])|\n+")
_MIN_STEM = 3


class _Rules(NamedTuple):
    """The lists of `question_words.toml`; phrases are tokens between single blanks."""

    read_as: dict[str, str]
    phrases: re.Pattern[str]
    edges: re.Pattern[str]
    imperatives: frozenset[str]
    instructions: frozenset[str]
    light: frozenset[str]
    negations: frozenset[str]


def content_words(text: str) -> Words:
    """The words that decide what a question asks, in order; all its words if none would be left."""
    rules = _rules()
    sentences = (_read(sentence, rules) for sentence in _SENTENCE_END.split(text))
    asking = (words for words in sentences if not _is_instruction(words, rules))
    return tuple(word for words in asking for word in _trim(words, rules)) or tuple(tokens(text))


def compare_content(one: Words, other: Words) -> Verdict:
    """Whether two questions ask the same, by their `content_words`.

    `doubtful`: the same words in another order, or words that only one of them has, if these are no
    negations, or endings ("dog", "dogs"). Other numbers, and words on both sides that differ, such
    as "red" and "white", make another question.
    """
    if one == other:
        return "same"
    left, right = set(one).difference(other), set(other).difference(one)
    _drop_endings(left, right)
    if left and right and not _rules().light.issuperset((*left, *right)):
        return "different"
    if _numbers(one) != _numbers(other) or not _rules().negations.isdisjoint((*left, *right)):
        return "different"
    return "doubtful"


def _numbers(words: Words) -> list[str]:
    return [word for word in words if word[0].isdigit()]


def _drop_endings(left: set[str], right: set[str]) -> None:
    """Take out pairs of words that differ in their ending alone."""
    by_head = {word[:_MIN_STEM]: word for word in sorted(right)}
    for word in sorted(left):
        match = by_head.get(word[:_MIN_STEM], "")
        stem = max(_MIN_STEM, len(word) - 3, len(match) - 3)
        if match in right and len(word) >= stem and word[:stem] == match[:stem]:
            left.remove(word)
            right.remove(match)


def _read(sentence: str, rules: _Rules) -> list[str]:
    """The words of a sentence, as they are read by the lists. The second pass reads phrases whose
    words were replaced in the first."""
    words = " ".join(tokens(sentence)).replace("n't", " not").split()
    for _ in range(2):
        words = rules.phrases.sub(lambda found: rules.read_as[found[0]], f" {' '.join(words)} ").split()
    return words


def _is_instruction(words: Sequence[str], rules: _Rules) -> bool:
    first, others = words[:1], words[1:]
    return rules.imperatives.issuperset(first) and rules.instructions.issuperset(others)


def _trim(words: list[str], rules: _Rules) -> list[str]:
    """A sentence without what opens and closes it; the sentence itself if nothing would be left."""
    trimmed, before = f" {' '.join(words)} ", ""
    while trimmed != before:
        trimmed, before = rules.edges.sub(" ", trimmed), trimmed
    return trimmed.split() or words


@functools.cache
def _rules() -> _Rules:
    tables = read_packaged(__package__, "question_words.toml").values()

    def entries(name: str) -> list[list[str]]:
        """The alternatives of each entry."""
        listed = [entry.split("|") for table in tables for entry in table.get(name, ())]
        return [[" ".join(tokens(phrase)) for phrase in entry] for entry in listed]

    def any_of(phrases: Iterable[str]) -> str:
        return "|".join(map(re.escape, sorted(phrases, key=len, reverse=True)))

    def words_of(name: str) -> frozenset[str]:
        return frozenset(word for table in tables for word in table.get(name, "").split())

    read_as = {phrase: first for first, *others in entries("same") for phrase in others}
    read_as |= {phrase: "" for (phrase,) in entries("drop")}
    starts, ends = (any_of(phrase for (phrase,) in entries(name)) for name in ("start", "end"))
    return _Rules(
        read_as,
        re.compile(f"(?<= )(?:{any_of(read_as)})(?= )"),
        re.compile(f"^ (?:{starts}) | (?:{ends}) $"),
        words_of("imperatives"),
        words_of("instructions"),
        words_of("light"),
        words_of("negations"),
    )
