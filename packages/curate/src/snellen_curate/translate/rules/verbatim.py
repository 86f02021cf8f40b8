"""Rules about what a translation keeps as it is: placeholders, code, numbers, letters, names."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal

from snellen_curate.translate.numerals import (
    NumberMention,
    afternoon_hours,
    fold_digits,
    number_mentions,
    spelt_numbers,
    word_values,
)
from snellen_curate.translate.pair import BLANK, Level, Mismatch, TextPair
from snellen_curate.translate.terms import has_term, terms_of

_LETTER = re.compile(r"(?<![\w'’.&/-])([A-Z])(?![\w'’&-]|\.\s?[A-Za-z])")
_LABEL_NOUN = re.compile(
    r"\b(?:option|choice|answer|figure|fig\.?|picture|image|panel|point|line|label|group|sample|set|"
    r"pair|part|letter|grade|vitamin|solution|table|object|person|box|city|team|class|type|plan|"
    r"model|node|vertex|angle|circle|position|region|area|section|side|block|cell|curve|graph|bar|"
    r"car|town|house|beaker|container|and|or|than|to|from|between|with|both|is)\s*\(?$",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<![\w'’])(?:[A-Z][\w'’-]*[^\W\d_][\w'’-]*)(?:\s+(?:(?:of|de|van|von|the|la|di)\s+)?"
    r"[A-Z][\w'’-]*)*"
)
_ABBREVIATION = re.compile(r"(?<![\w-])(?:[A-Z]{2,}[A-Z\d]*|[A-Z]+\d+[A-Z\d]*|[a-z]+[A-Z]\w*)(?:-\d+)?(?![\w])")
_SENTENCE_START = re.compile(r"(?:^|[.?!:;。？！：…\"“‘'(（\[]|\n|-)\s*$")
_COMMON_CAPITALS = frozenset(
    (
        "I",
        "I'm",
        "I'll",
        "I've",
        "I'd",
        "OK",
        "TV",
        "Mr",
        "Mrs",
        "Ms",
        "Dr",
        "Yes",
        "No",
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
        "English",
        "Chinese",
        "French",
        "German",
    )
)
_FOREIGN_LETTERS = {"CJK", "LATIN", "HIRAGANA", "KATAKANA", "HANGUL"}
"""Scripts whose texts keep single Latin letters; others may write theirs ("точка А")."""
_STEMS = dict(zip("甲乙丙丁戊己庚", "ABCDEFG", strict=True))
"""What Chinese may write for letters that name persons or things."""
_SYMBOL_CATEGORIES = {"Sc", "Sm", "So"}
_OTHER_SYMBOLS = "%‰°′″§~^"


def check_placeholders(pair: TextPair) -> Iterator[Mismatch]:
    """Placeholders and blanks occur as often as in the text."""
    for name in pair.fields:
        before = Counter(pair.source_spans[name].kept.get("placeholders", ()))
        after = Counter(pair.target_spans[name].kept.get("placeholders", ()))
        if before[BLANK] and after[BLANK]:
            # A blank may be split or joined: "____ ____" as "______".
            after[BLANK] = before[BLANK]
        for text in (before - after) | (after - before):
            what = "a blank" if text == BLANK else f"'{text}'"
            got = f"occurs {after[text]} times, expected {before[text]}"
            yield Mismatch("placeholders", name, "wrong", f"{what} {got}")


def check_kept(pair: TextPair, kind: str) -> Iterator[Mismatch]:
    """Parts of one kind, such as code or addresses, are the same; of LaTeX but for white space and
    the content of \\text{...}."""
    for name in pair.fields:
        target = pair.target[name]
        kept = set(pair.target_spans[name].kept.get(kind, ()))
        bare = "".join(target.split())
        for text in dict.fromkeys(pair.source_spans[name].kept.get(kind, ())):
            # The text may be there in another form, such as code without its back-ticks.
            if text in kept or "".join(text.split()) in bare:
                continue
            yield Mismatch(kind, name, "wrong", f"'{text}' is missing or changed")


def check_numbers(pair: TextPair) -> Iterator[Mismatch]:
    """Every number in digits is there in some writing, and the translation adds none in digits.

    What a number word, a date or a time of the text may stand for is not missing and not added.
    """
    group = terms_of(pair.source_language, pair.target_language).numbers
    for name in pair.fields:
        source, target = pair.source_spans[name].rest, pair.target_spans[name].rest
        ours, theirs = number_mentions(source), number_mentions(target)
        clear, possible = group.target_concepts(target) if group else ({}, set())
        available = _values(theirs) | word_values(target) | set(map(Decimal, possible))
        if group:
            yield from _check_number_words(name, source, available, {*map(Decimal, clear), *_values(theirs)})
        if not ours and not theirs:
            continue
        required = [mention for mention in ours if mention.form == "digits"]
        available |= _chinese_parts(target)
        available |= set(map(Decimal, re.findall(r"(?<=[A-Za-z])\d+", fold_digits(target))))
        missing = [
            mention
            for mention in required
            if not mention.readings & available
            and mention.readings != {Decimal(0)}  # the minutes of 5:00
            and not afternoon_hours(mention.readings, source) & available
        ]
        for mention in dict.fromkeys(missing):
            text = f"{mention.text} is missing"
            yield Mismatch("numbers", name, "wrong", text)
        excused = _values(ours) | word_values(source)
        # "Internet2" has a digit within a word, which a translation may set apart.
        excused |= set(map(Decimal, re.findall(r"\d+", fold_digits(source))))
        level: Level = "wrong" if pair.source_language.tag in ("en", "zh") else "doubtful"
        for mention in dict.fromkeys(theirs):
            if mention.form == "digits" and not mention.readings & excused:
                yield Mismatch("numbers", name, level, f"{mention.text} is not in the source")


def _check_number_words(name: str, source: str, available: set[Decimal], clear: set[Decimal]) -> Iterator[Mismatch]:
    """A number word of the source that is missing, where the translation has another number."""
    lost = {word: value for word, value in spelt_numbers(source) if value not in available}
    gained = clear - word_values(source) - _values(number_mentions(source)) - {Decimal(1)}
    if lost and gained:
        text = f"'{', '.join(lost)}' became {', '.join(map(str, sorted(gained)))}"
        yield Mismatch("numbers", name, "wrong", text)


def _values(mentions: Iterable[NumberMention]) -> set[Decimal]:
    return {value for mention in mentions for value in mention.readings}


def _chinese_parts(text: str) -> set[Decimal]:
    """Numbers that Chinese says otherwise: 半 for a half or 30 minutes, 三成 for 30 %, 七五折
    for 25 % off."""
    written = _values(number_mentions(text))
    values: set[Decimal] = set()
    if "半" in text:
        values |= {Decimal(each) for each in ("30", "0.5", "1", "2", "50")}
        values |= {value + Decimal("0.5") for value in written}
    if "成" in text:
        values |= {10 * value for value in written}
    if "折" in text:
        values |= {100 - (value if value > 10 else 10 * value) for value in written}
    return values


def check_letters(pair: TextPair) -> Iterator[Mismatch]:
    """Single capital letters, such as the label of an option or of a point, are there."""
    scripts = set(pair.target_language.scripts)
    level: Level = "wrong" if scripts & _FOREIGN_LETTERS else "doubtful"
    for name in pair.fields:
        target = fold_digits(pair.target_spans[name].rest)
        there = {letter for stem, letter in _STEMS.items() if stem in target}
        there |= set(re.findall(r"(?<![A-Za-z])([A-Za-z])(?![A-Za-z])", target))
        for letter in dict.fromkeys(_single_letters(pair.source_spans[name].rest)):
            if letter not in there:
                yield Mismatch("letters", name, level, f"the letter {letter} is missing")


def _single_letters(text: str) -> Iterator[str]:
    """Capital letters that stand alone and are neither the article, nor I, nor an initial."""
    for match in _LETTER.finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        if match[1] == "I":
            continue
        if re.match(r"\.\s", after) and re.search(r"[A-Z]\w+\s$", before):
            continue  # the initial of a name: "John F. Kennedy"
        if match[1] == "A" and not _stands_for_label(before, after):
            continue
        yield match[1]


def _stands_for_label(before: str, after: str) -> bool:
    if re.search(r"\($", before) and after.startswith(")"):
        return True
    if re.match(r"\s+[A-Za-z\"'“]", after) and not re.match(r"\s+(?:and|or|to|is|than|has|in|of)\b", after):
        return False
    return bool(_LABEL_NOUN.search(before)) or bool(re.match(r"\s+(?:and|or|to)\s+[B-Z]\b", after))


def check_symbols(pair: TextPair) -> Iterator[Mismatch]:
    """Symbols are there, or written out by a word that is known for the two languages."""
    words = terms_of(pair.source_language, pair.target_language).symbols
    for name in pair.fields:
        target = fold_digits(pair.target_spans[name].rest)
        source = fold_digits(pair.source_spans[name].rest)
        symbols = [
            character
            for character in dict.fromkeys(source)
            if unicodedata.category(character) in _SYMBOL_CATEGORIES or character in _OTHER_SYMBOLS
        ]
        for symbol in symbols:
            same = (unicodedata.normalize("NFKC", symbol), symbol)
            if any(each in target or each in pair.target[name] for each in same):
                continue
            if any(word in target for word in words.get(symbol, ())):
                continue
            level: Level = "wrong" if symbol in words else "doubtful"
            yield Mismatch("symbols", name, level, f"'{symbol}' is missing")


def check_keep(pair: TextPair) -> Iterator[Mismatch]:
    """The terms that are not to be translated are there."""
    for name in pair.fields:
        for term in pair.keep:
            if has_term(pair.source[name], term, pair.source_language) and term not in (pair.target[name]):
                yield Mismatch("keep", name, "wrong", f"'{term}' is to be kept")


def check_names(pair: TextPair) -> Iterator[Mismatch]:
    """Names and abbreviations that a glance at capital letters detects; often translated rightly,
    so never more than doubtful."""
    if "LATIN" not in pair.source_language.scripts or pair.source_language.tag == "de":
        return  # German nouns have capitals
    for name in pair.fields:
        target = pair.target[name].casefold()
        missing = [
            each
            for each in dict.fromkeys(capitalised_names(pair.source_spans[name].rest))
            if each.casefold() not in target and each not in pair.keep
        ]
        if missing:
            text = f"{', '.join(missing)}: translated, or lost?"
            yield Mismatch("names", name, "doubtful", text)


def capitalised_names(text: str) -> Iterator[str]:
    """Names and abbreviations in a text: capitals within a sentence, and words all in capitals."""
    for match in _NAME.finditer(text):
        words = match[0].split()
        if _SENTENCE_START.search(text[: match.start()]):
            words = words[1:]
            if not words or not words[0][0].isupper():
                continue
        phrase = " ".join(words)
        if phrase.removesuffix("'s").removesuffix("’s") not in _COMMON_CAPITALS:
            yield phrase.removesuffix("'s").removesuffix("’s")
    for match in _ABBREVIATION.finditer(text):
        if _SENTENCE_START.search(text[: match.start()]) and match[0] not in _COMMON_CAPITALS:
            yield match[0]  # within a sentence it is among the names above
