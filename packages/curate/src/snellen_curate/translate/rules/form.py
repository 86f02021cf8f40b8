"""Rules about a translation as a text: there, whole, in its language, and nothing but it."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator

from snellen_curate.translate.languages import Language, known_languages, length_range, script_of
from snellen_curate.translate.pair import Fault, FieldFault, FieldPair, Level, TextPair, bare_text

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


def check_empty(item: TextPair) -> Iterator[FieldFault]:
    """Every text has a translation, and there is no translation of nothing."""
    for name, text in item.source.items():
        if text.strip() and not item.target.get(name, "").strip():
            yield name, "wrong", f"no translation of {_short(text)}"
    for name, text in item.target.items():
        if text.strip() and not item.source.get(name, "").strip():
            yield name, "wrong", f"{_short(text)} translates nothing"


def check_untranslated(pair: FieldPair) -> Iterator[Fault]:
    """No text of more than names is left in the source language."""
    source, target = pair.item.source_language, pair.item.target_language
    if source.tag == target.tag:
        return
    are_disjoint = source.scripts and target.scripts and set(source.scripts).isdisjoint(target.scripts)
    yield from (_check_other_script if are_disjoint else _check_same_script)(pair)


def _check_other_script(pair: FieldPair) -> Iterator[Fault]:
    """The scripts differ: words of the source's script are words that were not translated."""
    item, source, target = pair.item, pair.before.rest, pair.after.rest
    kept = _without_terms(source, item.keep)
    if item.source_language.letters(kept) < 2 or item.target_language.letters(source):
        return
    code = " ".join(piece for text in item.source.values() for piece in _CODE.findall(text))
    if source == target and set(_WORDS.findall(source)) <= set(_WORDS.findall(code)):
        return  # a word of the code that the item is about
    if not item.target_language.letters(target):
        same = bare_text(source) == bare_text(target)
        if not same and not item.source_language.letters(target):
            return  # "twelve" as 12, "left" as ←
        is_prose = _has_prose(kept, item.source_language) and not pair.before.kept
        yield "wrong" if is_prose else "doubtful", f"{_short(pair.target)} is not translated"
        return
    prose = _QUOTED.sub(" ", _without_terms(target, item.keep))
    quoted = _QUOTED.sub(" ", _CODE.sub(" ", source))
    if run := _shared_run(quoted, prose):
        yield "wrong", f"'{run}' is left in the source language"
        return
    for run in _LOWER_WORDS.findall(prose):
        word = run.split()[0]
        if len(run) > 2 and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", quoted):
            yield "doubtful", f"'{run}' is not translated"


def _check_same_script(pair: FieldPair) -> Iterator[Fault]:
    """The scripts are the same or unknown: a text that did not change at all is noticed, and words
    of it in a row, which a title would have between quotation marks."""
    source, target = pair.before.rest, pair.after.rest
    prose = _without_terms(source, pair.item.keep)
    lower = [word for word in _WORDS.findall(prose) if word.islower()]
    if lower and bare_text(source) == bare_text(target):
        yield "wrong" if len(lower) >= _MIN_WORDS else "doubtful", f"{_short(pair.target)} is not translated"
    elif lower and (run := _shared_run(prose, _QUOTED.sub(" ", target))):
        yield "wrong", f"'{run}' is left in the source language"


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


def check_script(pair: FieldPair) -> Iterator[Fault]:
    """No letter is of a script that neither the language nor the text has: 男 in German."""
    scripts = pair.item.target_language.scripts
    known = {*map(script_of, pair.source), "", "LATIN", "GREEK", "MODIFIER", *scripts, *_ANY_SCRIPT}
    foreign = [each for each in pair.target if script_of(each) not in known]
    if scripts and foreign:
        yield "wrong", f"'{''.join(foreign[:20])}' is of another script"


def check_chatter(pair: FieldPair) -> Iterator[Fault]:
    """The translation has no heading, code fence or remark that the text does not have."""
    match = _chatter_pattern(pair.item.target_language).search(pair.target)
    if match and match.lastgroup and not _OWN[match.lastgroup].search(pair.source):
        yield "wrong", f"'{match[0].strip()}' is no part of the text"


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


def check_label(item: TextPair) -> Iterator[FieldFault]:
    """An option's letter is not part of its text."""
    for name in item.options:
        match = _LABEL.match(item.target.get(name, ""))
        if match and name in match.groups() and not _LABEL.match(item.source[name]):
            yield name, "wrong", f"'{match[0].strip()}' is no part of the text"


def check_length(pair: FieldPair) -> Iterator[Fault]:
    """The ratio of characters is one that translations between these languages have."""
    source, target = len(pair.before.rest.strip()), len(pair.after.rest.strip())
    if source < _MIN_LENGTH:
        return
    ratio, spread = target / source, 1 if source >= _LONG else _SHORT_SPREAD
    low, high = length_range(pair.item.source_language, pair.item.target_language)
    low, high = low / spread, high * spread
    if not low <= ratio <= high:
        level: Level = "doubtful" if low / _FAR <= ratio <= high * _FAR else "wrong"
        yield level, f"{ratio:.2f} of the source's length; translations have {low:.2f} to {high:.2f}"


def check_lines(pair: FieldPair) -> Iterator[Fault]:
    """As many lines as the text has."""
    before, after = (text.strip().count("\n") for text in (pair.source, pair.target))
    if before != after:
        yield "doubtful", f"{after + 1} lines, the source has {before + 1}"


def _has_prose(text: str, language: Language) -> bool:
    """Whether there is a word that is no name or abbreviation."""
    if "LATIN" not in language.scripts:
        return language.letters(text) > 3
    return bool(re.search(r"(?<![\w'’-])[a-z]{3,}", text))


def _without_terms(text: str, terms: tuple[str, ...]) -> str:
    for term in sorted(terms, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(term)}(?!\w)", " ", text)
    return text


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f"'{line}'" if len(line) <= 60 else f"'{line[:59]}…'"
