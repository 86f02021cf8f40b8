"""Rules about a translation as a text: there, whole, in its language, and nothing but it."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator

from snellen_curate.translate.languages import Language, known_languages, length_range, script_of
from snellen_curate.translate.pair import Level, Mismatch, TextPair, bare_text

_WORDS = re.compile(r"[^\W\d_]+")
_LOWER_WORDS = re.compile(r"(?<![\w'’-])[a-z][a-z'’-]+(?:\s+[a-z][a-z'’-]*)*(?![\w'’-])")
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|‘[^’\n]*’|「[^」\n]*」|『[^』\n]*』|《[^》\n]*》|(?<!\w)'[^'\n]+'(?!\w)")
_LABEL = re.compile(r"^\s*(?:[(（]([A-Z])[)）]|([A-Z])\s*[.．、:：)）])\s*(?=\S)")
_CODE = re.compile(r"[^:?.。？\n]*\b[a-z_]\w+\((?!e?s\))[^?。？\n]*", re.ASCII)
"""A line of code without back-ticks: it calls something. "cup(s)" is no call."""
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
    code = " ".join(piece for text in pair.source.values() for piece in _CODE.findall(text))
    if source == target and set(_WORDS.findall(source)) <= set(_WORDS.findall(code)):
        return  # a word of the code that the item is about
    if not pair.target_language.letters(target):
        same = bare_text(source) == bare_text(target)
        if not same and not pair.source_language.letters(target):
            return  # "twelve" as 12, "left" as ←
        is_prose = _has_prose(kept, pair.source_language) and not pair.source_spans[name].kept
        level: Level = "wrong" if is_prose else "doubtful"
        yield Mismatch("untranslated", name, level, f"{_short(pair.target[name])} is not translated")
        return
    prose = _QUOTED.sub(" ", _without_terms(target, pair.keep))
    quoted = _QUOTED.sub(" ", _CODE.sub(" ", source))
    if run := _shared_run(quoted, prose):
        yield Mismatch("untranslated", name, "wrong", f"'{run}' is left in the source language")
        return
    for run in _LOWER_WORDS.findall(prose):
        word = run.split()[0]
        if len(run) > 2 and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", quoted):
            yield Mismatch("untranslated", name, "doubtful", f"'{run}' is not translated")


def _check_same_script(pair: TextPair, name: str) -> Iterator[Mismatch]:
    """The scripts are the same or unknown: a text that did not change at all is noticed, and words
    of it in a row, which a title would have between quotation marks."""
    source, target = pair.source_spans[name].rest, pair.target_spans[name].rest
    words = _WORDS.findall(_without_terms(source, pair.keep))
    lower = [word for word in words if word.islower()]
    if not lower:
        return
    if bare_text(source) != bare_text(target):
        run = _shared_run(_without_terms(source, pair.keep), _QUOTED.sub(" ", target))
        if run:
            text = f"'{run}' is left in the source language"
            yield Mismatch("untranslated", name, "wrong", text)
        return
    level: Level = "wrong" if len(lower) >= _MIN_WORDS else "doubtful"
    yield Mismatch("untranslated", name, level, f"{_short(pair.target[name])} is not translated")


def _shared_run(source: str, target: str) -> str:
    """The longest run of words that both texts have; "" if it is short, or a name."""
    words, others = _WORDS.findall(source), _WORDS.findall(target)
    match = difflib.SequenceMatcher(None, words, others, autojunk=False).find_longest_match()
    run = words[match.a : match.a + match.size]
    lower = sum(word.islower() and len(word) > 1 for word in run)
    is_prose = len(run) >= _MIN_WORDS and lower >= 2 and 2 * lower > len(run)
    return " ".join(run) if is_prose else ""


_ANY_SCRIPT = ("FULLWIDTH", "HALFWIDTH", "MASCULINE", "FEMININE", "IDEOGRAPHIC", "KATAKANA-HIRAGANA")
"""First words of the names of letters that are not of one script."""


def check_script(pair: TextPair) -> Iterator[Mismatch]:
    """No letter is of a script that neither the language nor the text has: 男 in German."""
    if not pair.target_language.scripts:
        return
    for name in pair.fields:
        known = {script_of(each) for each in pair.source[name]} | {"", "LATIN", "GREEK", "MODIFIER"}
        known |= {*pair.target_language.scripts, *_ANY_SCRIPT}
        foreign = [each for each in pair.target[name] if script_of(each) not in known]
        if foreign:
            text = f"'{''.join(foreign[:20])}' is of another script"
            yield Mismatch("script", name, "wrong", text)


def check_chatter(pair: TextPair) -> Iterator[Mismatch]:
    """The translation has no heading, code fence or remark that the text does not have."""
    added = _chatter_pattern(pair.target_language)
    for name in pair.fields:
        match = added.search(pair.target[name])
        if match and match.lastgroup and not _OWN[match.lastgroup].search(pair.source[name]):
            text = f"'{match[0].strip()}' is no part of the text"
            yield Mismatch("chatter", name, "wrong", text)


_OWN = {
    "heading": re.compile(r"^[^:\n]{1,40}:|translat", re.IGNORECASE | re.MULTILINE),
    "opening": re.compile(r"^\W*(?:sure|certainly|of course|here|okay|yes|natural|clear)", re.IGNORECASE),
    "remark": re.compile(r"[(（\[]"),
    "fence": re.compile("```"),
}
"""What in a source excuses a heading, an opening, a remark, a fence of the translation."""


@functools.cache
def _chatter_pattern(language: Language) -> re.Pattern[str]:
    """What models add in this language or in English."""
    languages = (language, known_languages()["en"])

    def words(kind: str) -> str:
        return "|".join(each.pattern(text) for each in languages if (text := getattr(each, kind)))

    named = "|".join(map(re.escape, filter(None, (language.name, language.native))))
    return re.compile(
        rf"(?P<heading>^\W{{0,4}}(?:{named})\W{{0,4}}[:：]|^[^\n:：]{{0,40}}?(?:{words('translation')})"
        rf"[^\n:：]{{0,20}}[:：])|(?P<opening>\A\W{{0,4}}(?:{words('opening')})[^\n]{{0,40}}?[!:！：。،])"
        rf"|[(（\[]\s*(?P<remark>{words('remark')})[^)）\n]{{0,20}}?[:：]|(?P<fence>^\s*```)",
        re.IGNORECASE | re.MULTILINE,
    )


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
        source, target = (len(spans[name].rest.strip()) for spans in (pair.source_spans, pair.target_spans))
        if source < _MIN_LENGTH:
            continue
        ratio = target / source
        spread = 1 if source >= _LONG else _SHORT_SPREAD
        low, high = usual[0] / spread, usual[1] * spread
        if low <= ratio <= high:
            continue
        level: Level = "doubtful" if low / _FAR <= ratio <= high * _FAR else "wrong"
        yield Mismatch(
            "length", name, level, f"{ratio:.2f} of the source's length; translations have {low:.2f} to {high:.2f}"
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
