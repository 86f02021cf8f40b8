"""Rules about what a translation says: terms, opposites, negation, and the way back."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from snellen.curate.translate.chrf import chrf
from snellen.curate.translate.languages import Language
from snellen.curate.translate.pair import Level, Mismatch, TextPair
from snellen.curate.translate.terms import has_term, terms_of

_SHORT_TEXT = 200
"""Characters up to which a word of the text can be expected to have one in the translation."""
_OR_NOT = re.compile(r"\bor not\b|\bnot only\b")
"""Negations that ask for no negation."""


def check_glossary(pair: TextPair) -> Iterator[Mismatch]:
    """Every term of the glossary has its translation."""
    for name in pair.fields:
        for term, word in pair.glossary.items():
            if not has_term(pair.source[name], term, pair.source_language):
                continue
            if not has_term(pair.target[name], word, pair.target_language):
                text = f"'{term}' is to be translated as '{word}'"
                yield Mismatch("glossary", name, "wrong", text)


def check_opposites(pair: TextPair) -> Iterator[Mismatch]:
    """No word was translated as another of its group: left as right, red as blue, kg as g."""
    for name in pair.fields:
        source, target = pair.source_spans[name].rest, pair.target_spans[name].rest
        for group, before in pair.source_concepts[name]:
            after = group.target_concepts(target)
            lost, gained = before - after, after - before
            if lost and gained and not (before & after and len(before) == len(after)):
                words = ", ".join(concept.split("|")[0] for concept in sorted(lost))
                others = ", ".join(concept.split("|")[0] for concept in sorted(gained))
                text = f"{group.name}: '{words}' became '{others}'"
                level: Level = "wrong" if len(source) <= _SHORT_TEXT else "doubtful"
                yield Mismatch("opposites", name, level, text)


def check_negation(pair: TextPair) -> Iterator[Mismatch]:
    """A negated text has a negated translation, and one that is not negated has none that is.

    Words with a negative meaning excuse a negation of the translation.
    """
    yield from _lost_negation(pair)
    yield from _added_negation(pair)


def _lost_negation(pair: TextPair) -> Iterator[Mismatch]:
    language, target = pair.source_language, pair.target_language
    if not language.negated or not target.negation:
        return
    for name in pair.fields:
        word = _first_word(pair.source_spans[name].rest, language.negated, language)
        if word and not _first_word(pair.target_spans[name].rest, target.negation, target):
            text = f"the source has '{word}', the translation no negation"
            yield Mismatch("negation", name, "wrong", text)


def _added_negation(pair: TextPair) -> Iterator[Mismatch]:
    terms = terms_of(pair.source_language, pair.target_language)
    if terms.negation is None or terms.negative is None:
        return
    for name in pair.fields:
        source, target = pair.source_spans[name].rest, pair.target_spans[name].rest
        match = terms.negation.search(target)
        language = pair.source_language
        if not match or _first_word(source, language.negated, language):
            continue
        if terms.negative.search(source):
            continue
        text = f"the translation has '{match[0]}', the source no negation"
        yield Mismatch("negation", name, "wrong", text)


def _first_word(text: str, words: tuple[str, ...], language: Language) -> str:
    """The first of these words of negation in a text; "" if there is none."""
    pattern = _negation_pattern(words, language.word_bounds)
    match = pattern.search(_OR_NOT.sub(" ", text.casefold()))
    return match[0] if match else ""


@functools.cache
def _negation_pattern(words: tuple[str, ...], word_bounds: bool) -> re.Pattern[str]:
    parts = []
    for word in words:
        if not word_bounds or "'" in word or "’" in word:
            parts.append(re.escape(word))
        elif word.endswith("-"):
            parts.append(rf"(?<!\w){re.escape(word[:-1])}")
        else:
            parts.append(rf"(?<!\w){re.escape(word)}(?!\w)")
    return re.compile("|".join(parts))


def check_back(pair: TextPair) -> Iterator[Mismatch]:
    """The translation translated back resembles the source (chrF)."""
    for name in pair.fields:
        back = pair.back.get(name, "")
        if not back.strip():
            continue
        score = chrf(back.casefold(), pair.source[name].casefold())
        if score < pair.min_chrf:
            text = f"translated back it is '{back.strip()}' (chrF {score:.2f})"
            yield Mismatch("back-translation", name, "doubtful", text)
