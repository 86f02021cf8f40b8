"""Rules about what a translation says: terms, opposites, negation, the way back; and about the
options as a set: as many, all distinct, each in its place."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from itertools import combinations

from snellen.core.output import ParsedAnswer
from snellen.extract.yes_no import parse_yes_no
from snellen_curate.translate.languages import Language, fold_letters
from snellen_curate.translate.numerals import number_mentions
from snellen_curate.translate.pair import Level, Mismatch, TextPair, bare_text, chrf
from snellen_curate.translate.terms import has_term

_WORD = re.compile(r"\w+")
_SHORT_TEXT = 400
"""Characters up to which a word of the text can be expected to have one in the translation."""
_SHORT_SENTENCES = 300
"""Characters up to which a negation can be expected to have one: "is out of" is "has no more"."""


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
        kept = set(_WORD.findall(target.casefold()))
        for group, before in pair.source_concepts[name]:
            clear, possible = group.target_concepts(target)
            lost = {each for each in before if each not in possible and kept.isdisjoint(before[each])}
            # "black and black" for "black and white": more often there than in the source.
            gained = {each for each in clear if clear[each] > len(before.get(each, ()))}
            if lost and gained:
                words, others = (", ".join(sorted(each)) for each in (lost, gained))
                text = f"{group.title}: '{words}' became '{others}'"
                yield Mismatch("opposites", name, _level(source, _SHORT_TEXT), text)


def _level(source: str, limit: int) -> Level:
    return "wrong" if len(source) <= limit else "doubtful"


def check_negation(pair: TextPair) -> Iterator[Mismatch]:
    """A negated text has a negated translation, and one that is not negated has none that is.

    Words with a negative meaning excuse a negation of the translation.
    """
    source, target = pair.source_language, pair.target_language
    for name in pair.fields:
        before, after = pair.source_spans[name].rest, pair.target_spans[name].rest
        lost, added = _negation(before, source), _negation(after, target)
        if lost and not added and target.negation:
            if not _find(after, (*target.negated, *target.negation), target):
                text = f"the source has '{lost}', the translation no negation"
                yield Mismatch("negation", name, _level(before, _SHORT_SENTENCES), text)
        elif added and source.negative and not _excuses_negation(before, source):
            text = f"the translation has '{added}', the source no negation"
            yield Mismatch("negation", name, _level(before, _SHORT_SENTENCES), text)


def _excuses_negation(text: str, language: Language) -> bool:
    """Whether a text has a negation, if only in "not only", or a word with a negative meaning."""
    if _find(text, language.negated, language):
        return True
    return bool(re.search(language.negative, text, re.IGNORECASE))


def _negation(text: str, language: Language) -> str:
    """The first clear negation of a text; "" if there is none."""
    if language.unnegated:
        text = _word_pattern(language.unnegated, language).sub(" ", fold_letters(text))
    return _find(text, language.negated, language) if language.negated else ""


def _find(text: str, words: tuple[str, ...], language: Language) -> str:
    match = _word_pattern(words, language).search(fold_letters(text))
    return match[0] if match else ""


@functools.cache
def _word_pattern(words: tuple[str, ...], language: Language) -> re.Pattern[str]:
    return re.compile(language.pattern("|".join(words)), re.IGNORECASE)


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


_CLEAR = 0.3
"""By how much the way back must be nearer to another option than to its own."""
_YES_NO = {"yes": "Yes", "no": "No"}


def check_same_options(pair: TextPair) -> Iterator[Mismatch]:
    """Options that differ still differ, the right one above all."""
    for one, other in combinations(pair.options, 2):
        texts = [pair.target.get(name, "") for name in (one, other)]
        if not all(text.strip() for text in texts):
            continue
        if bare_text(texts[0]) != bare_text(texts[1]):
            continue
        if bare_text(pair.source[one]) == bare_text(pair.source[other]):
            continue
        right = [name for name in (one, other) if name in pair.gold]
        key = f"; {right[0]} is the right answer" if right else ""
        text = f"{one} and {other} are both '{texts[0].strip()}'{key}"
        yield Mismatch("same options", other, "wrong", text)


def check_swapped(pair: TextPair) -> Iterator[Mismatch]:
    """No option says what another option said: its numbers, its colour, its side, its way back."""
    named = [name for name in pair.options if name in set(pair.fields)]
    before = {name: _source_marks(pair, name) for name in named}
    after = {name: _target_marks(pair, name) for name in named}
    for name in named:
        others = [other for other in named if other != name]
        stolen = next((other for other in others if _says(pair, before, after, name, other)), None)
        if stolen is not None:
            text = f"'{pair.target[name].strip()}' says what {stolen} says in the source"
            yield Mismatch("swapped", name, "wrong", text)


def _says(pair: TextPair, before: dict[str, set[str]], after: dict[str, set[str]], name: str, other: str) -> bool:
    """Whether the translation of `name` has what distinguishes `other`, and lacks its own."""
    ours, theirs = before[name] - before[other], before[other] - before[name]
    if ours and theirs and theirs <= after[name] and not ours & after[name]:
        return True
    back = pair.back.get(name, "")
    if not back.strip():
        return False
    return chrf(back, pair.source[other]) > chrf(back, pair.source[name]) + _CLEAR


def _source_marks(pair: TextPair, name: str) -> set[str]:
    text = pair.source_spans[name].rest
    marks = {f"{group.title}: {each}" for group, known in pair.source_concepts[name] for each in known}
    marks |= {f"glossary: {term}" for term in pair.glossary if has_term(text, term, pair.source_language)}
    return marks | _number_marks(text) | _kept_marks(pair.source_spans[name].kept)


def _target_marks(pair: TextPair, name: str) -> set[str]:
    text = pair.target_spans[name].rest
    # Only of groups that some option of the source has a word of: no other could be exchanged.
    groups = {group.title: group for each in pair.options for group, _ in pair.source_concepts.get(each, ())}
    marks = {f"{group.title}: {each}" for group in groups.values() for each in group.target_concepts(text)[1]}
    marks |= {f"glossary: {term}" for term, word in pair.glossary.items() if has_term(text, word, pair.target_language)}
    return marks | _number_marks(text) | _kept_marks(pair.target_spans[name].kept)


def _number_marks(text: str) -> set[str]:
    return {f"number: {value.normalize()}" for mention in number_mentions(text) for value in mention.readings}


def _kept_marks(kept: dict[str, list[str]]) -> set[str]:
    return {f"{kind}: {text}" for kind, texts in kept.items() for text in texts}


def check_yes_no(pair: TextPair) -> Iterator[Mismatch]:
    """Yes and no as options are words that the parser of replies reads as yes and no; a question
    that asks for one of the two names words that it reads."""
    language = pair.target_language
    for name in pair.options:
        meaning = _yes_or_no(pair.source[name], pair.source_language)
        text = pair.target.get(name, "").strip()
        if not meaning or not text:
            continue
        answer = parse_yes_no(text)
        if not isinstance(answer, ParsedAnswer) or answer.value != meaning:
            expected = (language.yes if meaning == "Yes" else language.no) or meaning
            yield Mismatch("yes and no", name, "wrong", f"'{text}', expected '{expected}'")
    question = pair.source.get("question", "").casefold()
    target = pair.target.get("question", "").casefold()
    if not target or not pair.source_language.asks_yes_or_no(question):
        return
    for english, word in (("yes", language.yes), ("no", language.no)):
        words = {each.casefold() for each in (word, english) if each}
        if not any(has_term(target, each, language) for each in words):
            text = f"the question asks for '{word or english}', which the translation does not name"
            yield Mismatch("yes and no", "question", "wrong", text)


def _yes_or_no(text: str, language: Language) -> str:
    """ "Yes" or "No" if that is the whole text, in English or in `language`; else ""."""
    bare = bare_text(text)
    known = {bare_text(word): value for word, value in ((language.yes, "Yes"), (language.no, "No"))}
    return {**known, **_YES_NO}.get(bare, "") if bare else ""
