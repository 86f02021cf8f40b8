"""Rules about what a translation says: terms, opposites, negation; and about the
options as a set: as many, all distinct, each in its place."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from itertools import combinations

from snellen.core.output import ParsedAnswer
from snellen.extract.yes_no import parse_yes_no
from snellen_curate.translate.languages import Language, fold_letters
from snellen_curate.translate.numerals import number_mentions
from snellen_curate.translate.pair import Fault, FieldFault, FieldPair, Level, Spans, TextPair, bare_text
from snellen_curate.translate.terms import TermGroup, has_term

_WORD = re.compile(r"\w+")
_SHORT_TEXT = 400
"""Characters up to which a word of the text can be expected to have one in the translation."""
_SHORT_SENTENCES = 300
"""Characters up to which a negation can be expected to have one: "is out of" is "has no more"."""


def check_glossary(pair: FieldPair) -> Iterator[Fault]:
    """Every term of the glossary has its translation."""
    item = pair.item
    for term, word in item.glossary.items():
        if has_term(pair.source, term, item.source_language) and not has_term(pair.target, word, item.target_language):
            yield "wrong", f"'{term}' is to be translated as '{word}'"


def check_opposites(pair: FieldPair) -> Iterator[Fault]:
    """No word was translated as another of its group: left as right, red as blue, kg as g."""
    target = pair.after.rest
    kept = set(_WORD.findall(target.casefold()))
    for group, before in pair.concepts:
        clear, possible = group.target_concepts(target)
        lost = {each for each in before if each not in possible and kept.isdisjoint(before[each])}
        # "black and black" for "black and white": more often there than in the source.
        gained = {each for each in clear if clear[each] > len(before.get(each, ()))}
        if lost and gained:
            words, others = (", ".join(sorted(each)) for each in (lost, gained))
            yield _level(pair.before.rest, _SHORT_TEXT), f"{group.title}: '{words}' became '{others}'"


def _level(source: str, limit: int) -> Level:
    return "wrong" if len(source) <= limit else "doubtful"


def check_negation(pair: FieldPair) -> Iterator[Fault]:
    """A negated text has a negated translation, and one that is not negated has none that is.

    Words with a negative meaning excuse a negation of the translation.
    """
    source, target = pair.item.source_language, pair.item.target_language
    before, after = pair.before.rest, pair.after.rest
    lost, added = _negation(before, source), _negation(after, target)
    level = _level(before, _SHORT_SENTENCES)
    if lost and not added and target.negation:
        if not _find(after, (*target.negated, *target.negation), target):
            yield level, f"the source has '{lost}', the translation no negation"
    elif added and source.negative and not _excuses_negation(before, source):
        yield level, f"the translation has '{added}', the source no negation"


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


_YES_NO = {"yes": "Yes", "no": "No"}


def check_same_options(item: TextPair) -> Iterator[FieldFault]:
    """Options that differ still differ, the right one above all."""
    for one, other in combinations([name for name in item.options if name in item.by_field], 2):
        first, second = item.by_field[one], item.by_field[other]
        became_same = bare_text(first.target) == bare_text(second.target)
        if became_same and bare_text(first.source) != bare_text(second.source):
            right = [name for name in (one, other) if name in item.gold]
            key = f"; {right[0]} is the right answer" if right else ""
            yield other, "wrong", f"{one} and {other} are both '{first.target.strip()}'{key}"


def check_swapped(item: TextPair) -> Iterator[FieldFault]:
    """No option says what another option said: its numbers, its colour, its side."""
    options = {name: item.by_field[name] for name in item.options if name in item.by_field}
    # Only of groups that some option of the source has a word of: no other could be exchanged.
    groups = {group.title: group for pair in options.values() for group, _ in pair.concepts}
    before = {name: _source_marks(pair) for name, pair in options.items()}
    after = {name: _target_marks(pair, groups.values()) for name, pair in options.items()}
    for name, pair in options.items():
        for other in options:
            ours, theirs = before[name] - before[other], before[other] - before[name]
            is_taken = ours and theirs and theirs <= after[name] and not ours & after[name]
            if is_taken:
                yield name, "wrong", f"'{pair.target.strip()}' says what {other} says in the source"
                break


def _source_marks(pair: FieldPair) -> set[str]:
    """What distinguishes an option from others."""
    item, text = pair.item, pair.before.rest
    marks = {f"{group.title}: {each}" for group, known in pair.concepts for each in known}
    marks |= {f"glossary: {term}" for term in item.glossary if has_term(text, term, item.source_language)}
    return marks | _marks(pair.before)


def _target_marks(pair: FieldPair, groups: Iterable[TermGroup]) -> set[str]:
    item, text = pair.item, pair.after.rest
    marks = {f"{group.title}: {each}" for group in groups for each in group.target_concepts(text)[1]}
    marks |= {f"glossary: {term}" for term, word in item.glossary.items() if has_term(text, word, item.target_language)}
    return marks | _marks(pair.after)


def _marks(spans: Spans) -> set[str]:
    mentions = number_mentions(spans.rest)
    numbers = {f"number: {value.normalize()}" for mention in mentions for value in mention.readings}
    return numbers | {f"{kind}: {text}" for kind, texts in spans.kept.items() for text in texts}


def check_yes_no(item: TextPair) -> Iterator[FieldFault]:
    """Yes and no as options are words that the parser of replies reads as yes and no; a question
    that asks for one of the two names words that it reads."""
    language = item.target_language
    for name in item.options:
        meaning = _yes_or_no(item.source[name], item.source_language)
        text = item.target.get(name, "").strip()
        if not meaning or not text:
            continue
        answer = parse_yes_no(text)
        if not isinstance(answer, ParsedAnswer) or answer.value != meaning:
            expected = (language.yes if meaning == "Yes" else language.no) or meaning
            yield name, "wrong", f"'{text}', expected '{expected}'"
    question = item.source.get("question", "").casefold()
    target = item.target.get("question", "").casefold()
    if not target or not item.source_language.asks_yes_or_no(question):
        return
    for english, word in (("yes", language.yes), ("no", language.no)):
        words = {each.casefold() for each in (word, english) if each}
        if not any(has_term(target, each, language) for each in words):
            text = f"the question asks for '{word or english}', which the translation does not name"
            yield "question", "wrong", text


def _yes_or_no(text: str, language: Language) -> str:
    """ "Yes" or "No" if that is the whole text, in English or in `language`; else ""."""
    bare = bare_text(text)
    known = {bare_text(word): value for word, value in ((language.yes, "Yes"), (language.no, "No"))}
    return {**known, **_YES_NO}.get(bare, "") if bare else ""
