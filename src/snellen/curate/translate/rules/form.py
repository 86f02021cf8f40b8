"""Rules about a translation as a text: there, whole, in its language, and nothing but it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from snellen.curate.translate.languages import Language, length_range
from snellen.curate.translate.pair import Level, Mismatch, TextPair, bare_text

_LOWER_WORDS = re.compile(r"(?<![\w'’-])[a-z][a-z'’-]+(?:\s+[a-z][a-z'’-]*)*(?![\w'’-])")
_QUOTED = re.compile(
    r"\"[^\"\n]*\"|“[^”\n]*”|‘[^’\n]*’|「[^」\n]*」|『[^』\n]*』|《[^》\n]*》|(?<!\w)'[^'\n]+'(?!\w)"
)
_CHATTER = re.compile(
    r"^\s*(?:中文|译文|翻译|英文|答案|translation|translated text|chinese)\s*[:：]"
    r"|[（(](?:注|译注|译者注|译者按|note|translator'?s? note)\s*[:：]|(?:译者注|翻译说明)\s*[:：]"
    r"|^\s*(?:以下是(?:翻译|译文)|here is the translation|sure[,!]|```)",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL = re.compile(r"^\s*(?:[(（]([A-Z])[)）]|([A-Z])\s*[.．、:：)）])\s*(?=\S)")
_MIN_WORDS = 3
"""Lower-case words in a row that no translation leaves: fewer may be a unit, or a term."""
_MIN_LENGTH = 15
"""Characters of the source below which the ratio of lengths says nothing."""
_LONG = 50
"""Characters from which on the ratios of a language hold."""
_SHORT_SPREAD = 1.8
"""By how much the ratios of shorter texts spread further."""
_FAR = 1.6
"""How far outside the usual range of lengths a translation is wrong rather than doubtful."""


def check_empty(pair: TextPair) -> Iterator[Mismatch]:
    """Every text has a translation, and there is no translation of nothing."""
    for name, text in pair.source.items():
        if text.strip() and not pair.target.get(name, "").strip():
            yield Mismatch("empty", name, "wrong", f"no translation of {_short(text)}")
    for name, text in pair.target.items():
        if text.strip() and not pair.source.get(name, "").strip():
            yield Mismatch("empty", name, "wrong", f"{_short(text)} translates nothing")


def check_untranslated(pair: TextPair) -> Iterator[Mismatch]:
    """No text of more than names is left in the source language."""
    if pair.source_language.tag == pair.target_language.tag:
        return
    shared = set(pair.source_language.scripts) & set(pair.target_language.scripts)
    known = pair.source_language.scripts and pair.target_language.scripts
    check = _check_other_script if known and not shared else _check_same_script
    for name in pair.fields:
        yield from check(pair, name)


def _check_other_script(pair: TextPair, name: str) -> Iterator[Mismatch]:
    """The scripts differ: words of the source's script are words that were not translated."""
    source, target = pair.source_spans[name].rest, pair.target_spans[name].rest
    kept = _without_terms(source, pair.keep)
    if pair.source_language.letters(kept) < 2 or pair.target_language.letters(source):
        return
    if not pair.target_language.letters(target):
        same = bare_text(source) == bare_text(target)
        if not same and not pair.source_language.letters(target):
            return  # "twelve" as 12, "left" as ←
        is_prose = _has_prose(kept, pair.source_language) and not pair.source_spans[name].kept
        level: Level = "wrong" if is_prose else "doubtful"
        yield Mismatch(
            "untranslated", name, level, f"{_short(pair.target[name])} is not translated"
        )
        return
    prose = _QUOTED.sub(" ", _without_terms(target, pair.keep))
    quoted = _QUOTED.sub(" ", source)
    for run in _LOWER_WORDS.findall(prose):
        words = run.split()
        if not re.search(rf"(?<!\w){re.escape(words[0])}(?!\w)", quoted):
            continue
        if len(words) >= _MIN_WORDS:
            yield Mismatch("untranslated", name, "wrong", f"'{run}' is left in the source language")
        elif any(len(word) > 2 for word in words):
            yield Mismatch("untranslated", name, "doubtful", f"'{run}' is not translated")


def _check_same_script(pair: TextPair, name: str) -> Iterator[Mismatch]:
    """The scripts are the same or unknown: only a text that did not change at all is noticed."""
    source, target = pair.source_spans[name].rest, pair.target_spans[name].rest
    words = re.findall(r"[^\W\d_]{2,}", _without_terms(source, pair.keep))
    lower = [word for word in words if word.islower()]
    if not lower or bare_text(source) != bare_text(target):
        return
    level: Level = "wrong" if len(lower) >= _MIN_WORDS else "doubtful"
    yield Mismatch("untranslated", name, level, f"{_short(pair.target[name])} is not translated")


def check_chatter(pair: TextPair) -> Iterator[Mismatch]:
    """The translation has no heading, code fence or remark that the text does not have."""
    for name in pair.fields:
        match = _CHATTER.search(pair.target[name])
        if match and match[0].strip() not in pair.source[name]:
            text = f"'{match[0].strip()}' is no part of the text"
            yield Mismatch("chatter", name, "wrong", text)


def check_label(pair: TextPair) -> Iterator[Mismatch]:
    """An option's letter is not part of its text."""
    for name in pair.options:
        match = _LABEL.match(pair.target.get(name, ""))
        if match and name in match.groups() and not _LABEL.match(pair.source[name]):
            yield Mismatch("label", name, "wrong", f"'{match[0].strip()}' is no part of the text")


def check_length(pair: TextPair) -> Iterator[Mismatch]:
    """The ratio of characters is one that translations between these languages have."""
    usual = length_range(pair.source_language, pair.target_language)
    for name in pair.fields:
        source, target = (
            len(spans[name].rest.strip()) for spans in (pair.source_spans, pair.target_spans)
        )
        if source < _MIN_LENGTH:
            continue
        ratio = target / source
        spread = 1 if source >= _LONG else _SHORT_SPREAD
        low, high = usual[0] / spread, usual[1] * spread
        if low <= ratio <= high:
            continue
        level: Level = "doubtful" if low / _FAR <= ratio <= high * _FAR else "wrong"
        yield Mismatch(
            "length",
            name,
            level,
            f"{ratio:.2f} of the source's length; translations have {low:.2f} to {high:.2f}",
        )


def check_lines(pair: TextPair) -> Iterator[Mismatch]:
    """As many lines as the text has."""
    for name in pair.fields:
        before, after = (text[name].strip().count("\n") for text in (pair.source, pair.target))
        if before != after:
            text = f"{after + 1} lines, the source has {before + 1}"
            yield Mismatch("lines", name, "doubtful", text)


def _has_prose(text: str, language: Language) -> bool:
    """Whether there is a word that is no name or abbreviation."""
    if "LATIN" not in language.scripts:
        return language.letters(text) > 3
    return bool(re.search(r"(?<![\w'’-])[a-z]{3,}", text))


def _without_terms(text: str, terms: tuple[str, ...]) -> str:
    for term in sorted(terms, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(term)}(?!\w)", " ", text)
    return text


def _short(text: str, length: int = 60) -> str:
    line = " ".join(text.split())
    return f"'{line}'" if len(line) <= length else f"'{line[: length - 1]}…'"
