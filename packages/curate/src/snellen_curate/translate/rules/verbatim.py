"""Rules about what a translation keeps as it is: placeholders, code, numbers, letters, names."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal

from snellen_curate.translate import numerals
from snellen_curate.translate.languages import known_languages
from snellen_curate.translate.pair import BLANK, Fault, FieldPair, Level
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
_FOREIGN_LETTERS = {"CJK", "LATIN", "HIRAGANA", "KATAKANA", "HANGUL"}
"""Scripts whose texts keep single Latin letters; others may write theirs ("точка А")."""
_STEMS = dict(zip("甲乙丙丁戊己庚", "ABCDEFG", strict=True))
"""What Chinese may write for letters that name persons or things."""
_SYMBOL_CATEGORIES = {"Sc", "Sm", "So"}
_OTHER_SYMBOLS = "%‰°′″§~^"


def check_placeholders(pair: FieldPair) -> Iterator[Fault]:
    """Placeholders and blanks occur as often as in the text."""
    before, after = (Counter(spans.kept.get("placeholders", ())) for spans in (pair.before, pair.after))
    if before[BLANK] and after[BLANK]:
        # A blank may be split or joined: "____ ____" as "______".
        after[BLANK] = before[BLANK]
    for text in (before - after) | (after - before):
        what = "a blank" if text == BLANK else f"'{text}'"
        yield "wrong", f"{what} occurs {after[text]} times, expected {before[text]}"


def check_kept(pair: FieldPair, kind: str) -> Iterator[Fault]:
    """Parts of one kind, such as code or addresses, are the same; of LaTeX but for white space and
    the content of \\text{...}."""
    kept = set(pair.after.kept.get(kind, ()))
    bare = "".join(pair.target.split())
    for text in dict.fromkeys(pair.before.kept.get(kind, ())):
        # The text may be there in another form, such as code without its back-ticks.
        if text not in kept and "".join(text.split()) not in bare:
            yield "wrong", f"'{text}' is missing or changed"


def check_numbers(pair: FieldPair) -> Iterator[Fault]:
    """Every number in digits is there in some writing, and the translation adds none in digits.

    What a number word, a date or a time of the text may stand for is not missing and not added.
    """
    group = terms_of(pair.item.source_language, pair.item.target_language).numbers
    source, target = pair.before.rest, pair.after.rest
    ours, theirs = numerals.number_mentions(source), numerals.number_mentions(target)
    clear, possible = group.target_concepts(target) if group else ({}, set())
    available = _values(theirs) | numerals.word_values(target) | set(map(Decimal, possible))
    if group:
        yield from _check_number_words(source, available, {*map(Decimal, clear), *_values(theirs)})
    if not ours and not theirs:
        return
    available |= _chinese_parts(target)
    available |= set(map(Decimal, re.findall(r"(?<=[A-Za-z])\d+", numerals.fold_digits(target))))
    missing = [
        mention
        for mention in ours
        if mention.form == "digits"
        and not mention.readings & available
        and mention.readings != {Decimal(0)}  # the minutes of 5:00
        and not numerals.afternoon_hours(mention.readings, source) & available
    ]
    for mention in dict.fromkeys(missing):
        yield "wrong", f"{mention.text} is missing"
    excused = _values(ours) | numerals.word_values(source)
    # "Internet2" has a digit within a word, which a translation may set apart.
    excused |= set(map(Decimal, re.findall(r"\d+", numerals.fold_digits(source))))
    level: Level = "wrong" if pair.item.source_language.tag in ("en", "zh") else "doubtful"
    for mention in dict.fromkeys(theirs):
        if mention.form == "digits" and not mention.readings & excused:
            yield level, f"{mention.text} is not in the source"


def _check_number_words(source: str, available: set[Decimal], clear: set[Decimal]) -> Iterator[Fault]:
    """A number word of the source that is missing, where the translation has another number."""
    lost = {word: value for word, value in numerals.spelt_numbers(source) if value not in available}
    gained = clear - numerals.word_values(source) - _values(numerals.number_mentions(source)) - {Decimal(1)}
    if lost and gained:
        yield "wrong", f"'{', '.join(lost)}' became {', '.join(map(str, sorted(gained)))}"


def _values(mentions: Iterable[numerals.NumberMention]) -> set[Decimal]:
    return {value for mention in mentions for value in mention.readings}


def _chinese_parts(text: str) -> set[Decimal]:
    """Numbers that Chinese says otherwise: 半 for a half or 30 minutes, 三成 for 30 %, 七五折
    for 25 % off."""
    written = _values(numerals.number_mentions(text))
    values: set[Decimal] = set()
    if "半" in text:
        values |= {Decimal(each) for each in ("30", "0.5", "1", "2", "50")}
        values |= {value + Decimal("0.5") for value in written}
    if "成" in text:
        values |= {10 * value for value in written}
    if "折" in text:
        values |= {100 - (value if value > 10 else 10 * value) for value in written}
    return values


def check_letters(pair: FieldPair) -> Iterator[Fault]:
    """Single capital letters, such as the label of an option or of a point, are there."""
    level: Level = "doubtful" if _FOREIGN_LETTERS.isdisjoint(pair.item.target_language.scripts) else "wrong"
    target = numerals.fold_digits(pair.after.rest)
    there = {letter for stem, letter in _STEMS.items() if stem in target}
    there |= set(re.findall(r"(?<![A-Za-z])([A-Za-z])(?![A-Za-z])", target))
    for letter in dict.fromkeys(_single_letters(pair.before.rest)):
        if letter not in there:
            yield level, f"the letter {letter} is missing"


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


def check_symbols(pair: FieldPair) -> Iterator[Fault]:
    """Symbols are there, or written out by a word that is known for the two languages."""
    words = terms_of(pair.item.source_language, pair.item.target_language).symbols
    target = numerals.fold_digits(pair.after.rest)
    for symbol in dict.fromkeys(numerals.fold_digits(pair.before.rest)):
        if unicodedata.category(symbol) not in _SYMBOL_CATEGORIES and symbol not in _OTHER_SYMBOLS:
            continue
        same = (unicodedata.normalize("NFKC", symbol), symbol)
        if any(each in target or each in pair.target for each in same):
            continue
        if not any(word in target for word in words.get(symbol, ())):
            yield "wrong" if symbol in words else "doubtful", f"'{symbol}' is missing"


def check_keep(pair: FieldPair) -> Iterator[Fault]:
    """The terms that are not to be translated are there."""
    for term in pair.item.keep:
        if has_term(pair.source, term, pair.item.source_language) and term not in pair.target:
            yield "wrong", f"'{term}' is to be kept"


def check_names(pair: FieldPair) -> Iterator[Fault]:
    """Names and abbreviations that a glance at capital letters detects; often translated rightly,
    so never more than doubtful."""
    language, target = pair.item.source_language, pair.target.casefold()
    if "LATIN" not in language.scripts or language.tag == "de":
        return  # German nouns have capitals
    names = [name for name in dict.fromkeys(capitalised_names(pair.before.rest)) if name not in pair.item.keep]
    missing = [name for name in names if name.casefold() not in target]
    if missing:
        yield "doubtful", f"{', '.join(missing)}: translated, or lost?"


def capitalised_names(text: str) -> Iterator[str]:
    """Names and abbreviations in a text: capitals within a sentence, and words all in capitals."""
    for match in _NAME.finditer(text):
        words = match[0].split()
        if _SENTENCE_START.search(text[: match.start()]):
            words = words[1:]
            if not words or not words[0][0].isupper():
                continue
        phrase = " ".join(words)
        if phrase.removesuffix("'s").removesuffix("’s") not in known_languages()["en"].capitals:
            yield phrase.removesuffix("'s").removesuffix("’s")
    for match in _ABBREVIATION.finditer(text):
        if _SENTENCE_START.search(text[: match.start()]) and match[0] not in known_languages()["en"].capitals:
            yield match[0]  # within a sentence it is among the names above
