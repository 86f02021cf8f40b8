"""Statement rules: replies that say which option they choose, outright or in passing."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from snellen.extract import contents, phrases
from snellen.extract.clean import Text, holds_any
from snellen.extract.letters import (
    CLOSERS,
    LETTER,
    TOKEN,
    WORD,
    Reading,
    any_of,
    begins_content,
    denied,
    is_article,
    line_letters,
    names_several,
)
from snellen.extract.options import Options

_GAP = 150
_OPEN = r"[\s(\[\"'<$:=>,.\-]{0,40}"
_FILLERS = (
    rf"(?:(?:{phrases.FILLERS_CJK}|(?i:{phrases.FILLERS})(?![{WORD}]))[\s:,\-\"']{{0,40}}){{0,8}}"
)
_NOUN = re.compile(any_of(phrases.ANSWER_NOUNS))
_CHOSEN_CJK = re.compile(phrases.CHOSEN_CJK)
_VERB = re.compile(rf"[:=]|->|→|{phrases.STATED_CJK}|(?:{phrases.STATED})(?![{WORD}])")
_GAP_END = re.compile(r"[.!?;\n]")
_DIRECT = re.compile(
    rf"[\s(\[\"'<$:=>\-\]]{{0,40}}(?:{phrases.FILLERS_CJK})?\s*(?P<letter>{LETTER})"
)
TARGET = re.compile(rf"[\s:\-\"']{{0,40}}{_FILLERS}{_OPEN}(?P<letter>{LETTER})")
_CLAUSE = re.compile(
    rf"[\s:\-\"']{{0,40}}{_FILLERS}[\s:\-\"']{{0,40}}(?P<clause>(?:[^.!?\n]|\.(?=\d)){{0,400}})"
)
_CHOOSING = re.compile(
    rf"(?:{phrases.CHOOSING})(?![{WORD}])|(?:therefore|thus|hence|so)(?![{WORD}]),?|{phrases.CHOOSING_CJK}"
)
_JUDGED_AFTER = re.compile(rf"{CLOSERS}\s{{0,6}}(?i:{any_of(phrases.JUDGED_CORRECT)})")
_CORRECTION = re.compile(phrases.CORRECTIONS + "|" + rf"\b(?:{phrases.CONCLUDING})\b")
_STEMS = (
    *("ans:", "ans.", "answer", "correct", "option", "choice", "letter", "response", "label"),
    "antwo",
    "respuest",
    "respost",
    "rispost",
    "reponse",
    "cevap",
    "jawaban",
    "alternativ",
    "losung",
)
_REACH = 45
_END_OF_LATIN = "\u0250"
_ENUMERATING = ("options", "choices")
_LIST_REACH = 1500
_MOST = 200
"""Announcements, or labels, of one reply that are looked at, the last ones: a reply with more is a
loop, and all of them would take seconds."""


def may_state(text: Text) -> bool:
    """A cheap test that rules out a stated answer in most short replies."""
    return holds_any(text.low, _STEMS) or not text.plain.isascii()


def stated_answer(text: Text, options: Options) -> Reading | None:
    """The last "answer is ...": a label, or a clause that is or mentions one option's text.

    "is not B" and "is a cat" (the article) state no label.
    """
    last: Reading | None = None
    for noun_end, starts in announcements(text):
        reading = None
        for start in starts:
            reading = _label_at(text, noun_end, start, options)
            if reading:
                break
        if reading is None and options.by_content and len(starts) > 1:
            aside = "," in text.plain[noun_end : starts[1]] or enumerates(text, noun_end)
            reading = None if aside else _content_at(text, starts[1], options)
        if reading and (last is None or reading.start > last.start):
            last = reading
    return last


def announcements(text: Text) -> Iterator[tuple[int, list[int]]]:
    """Where each noun ends, and where what it states may begin: there, or after a verb."""
    for noun in deque(_NOUN.finditer(text.low), maxlen=_MOST):
        if _inside_word(text.low, noun.start()):
            continue
        end = noun.end()
        stop = _GAP_END.search(text.low, end, end + _GAP)
        verbs = _VERB.finditer(text.low, end, stop.start() if stop else end + _GAP)
        yield (
            end,
            [end, *(verb.end() for verb in verbs if not _inside_word(text.low, verb.start()))],
        )
    if not text.plain.isascii():
        for chosen in deque(_CHOSEN_CJK.finditer(text.low), maxlen=_MOST):
            yield chosen.end(), [chosen.end()]


def enumerates(text: Text, noun_end: int) -> bool:
    """Does the noun announce what there is to choose from: "the options: ..."?"""
    return text.low.endswith(_ENUMERATING, 0, noun_end)


def _inside_word(low: str, start: int) -> bool:
    """Does a Latin letter stand before a Latin word that begins at `start`?"""
    if start == 0 or not low[start].isalpha() or not low[start - 1].isalpha():
        return False
    return low[start - 1] < _END_OF_LATIN and low[start] < _END_OF_LATIN


def _label_at(text: Text, noun_end: int, position: int, options: Options) -> Reading | None:
    match = (_DIRECT if position == noun_end else TARGET).match(text.plain, position)
    if not match:
        return None
    start, end = match.span("letter")
    letter = match["letter"].upper()
    if not options.has(letter) or is_article(text.plain, start, end, options):
        return None
    if denied(text.plain, start, end) or begins_content(text.plain, start, options):
        return None
    if _begins_list(text, noun_end, start, options):
        return None
    several = names_several(text.plain, start, end, options)
    return Reading(None if several else letter, "stated answer", start, end)


def _begins_list(text: Text, announced: int, start: int, options: Options) -> bool:
    """Does a list of several labelled lines follow the announcement?"""
    return (
        "\n" in text.plain[announced:start]
        and len(line_letters(text.plain[announced : announced + _LIST_REACH], options)) > 1
    )


def _content_at(text: Text, position: int, options: Options) -> Reading | None:
    match = _CLAUSE.match(text.plain, position)
    if not match or denied(text.plain, *match.span("clause")):
        return None
    start, end = match.span("clause")
    if _begins_list(text, position, start, options):
        return None
    label = options.equal_to(match["clause"])
    if label:
        return Reading(label, "stated content", start, end)
    if "\n" in text.plain[position:start]:
        return None
    return contents.mentioned(text, start, end, options, "stated content")


def chosen_label(text: Text, options: Options, start: int = 0) -> Reading | None:
    """The label that is chosen in passing ("I would go with B") or called right ("B is correct"),
    after `start`.

    Two different ones leave the choice open, unless the second takes the first back.
    """
    last: Reading | None = None
    for token in deque(TOKEN.finditer(text.plain, start), maxlen=_MOST):
        letter, place = token[0], token.span()
        if not options.has(letter) or is_article(text.plain, *place, options):
            continue
        if not (_is_judged(text, place[1]) or _is_chosen(text, place[0], options)):
            continue
        if denied(text.plain, *place):
            continue
        reading = Reading(letter, "chosen label", *place)
        if names_several(text.plain, *place, options) or (
            last and last.label != letter and not corrected(text, last, reading)
        ):
            reading = reading._replace(label=None)
        last = reading
    return last


def _is_chosen(text: Text, start: int, options: Options) -> bool:
    for choosing in _CHOOSING.finditer(text.low, max(0, start - _REACH), start):
        match = TARGET.match(text.plain, choosing.end())
        if match and match.start("letter") == start:
            inside = _inside_word(text.low, choosing.start())
            return not inside and not _begins_list(text, choosing.end(), start, options)
    return False


def _is_judged(text: Text, end: int) -> bool:
    return _JUDGED_AFTER.match(text.plain, end) is not None


def corrected(text: Text, earlier: Reading, later: Reading) -> bool:
    """Does the reply take back the earlier choice before the later one?"""
    return later.start > earlier.start and bool(
        _CORRECTION.search(text.low, earlier.end, later.start)
    )
