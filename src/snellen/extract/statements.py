"""Statement rules: replies that say which option they choose, outright or in passing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from snellen.core import lazy_re as re
from snellen.extract import contents, phrases
from snellen.extract.clean import CleanedReply, contains_any
from snellen.extract.letters import (
    CLOSERS,
    LETTER,
    TOKEN,
    WORD,
    LabelMatch,
    is_article,
    is_content_start,
    is_denied,
    line_letters,
    names_multiple,
)
from snellen.extract.options import Options

_GAP = 150
_OPEN = r"[\s(\[\"'<$:=>,.\-]{0,40}"
_FILLERS = rf"(?:(?:{phrases.FILLERS_CJK}|(?i:{phrases.FILLERS})(?![{WORD}]))[\s:,\-\"']{{0,40}}){{0,8}}"
_NOUN = re.compile(phrases.ANSWER_NOUNS)
_BEFORE_CJK = re.compile(r" (?!公司)[\u3040-\u9fff]")
"""No article: "答案: A 问题: ..."; "A 公司" is company A."""
_NEXT_QUESTION = re.compile(r"\s问题\s?:")
"""A base model goes on with questions of its own; what it answers to them is no correction."""
_CHOSEN_CJK = re.compile(phrases.CHOICE_VERBS_CJK)
_VERB = re.compile(
    rf":|=|->|→|{phrases.STATING_VERBS_CJK}|"
    + "|".join(rf"{verb}(?![{WORD}])" for verb in phrases.STATING_VERBS.split("|"))
)
"""As `phrases.ANSWER_NOUNS`, without a group at the start of a verb."""
_GAP_END = re.compile(r"[.!?;\n]")
_DIRECT_LABEL = re.compile(rf"[\s(\[\"'<$:=>\-\]]{{0,40}}(?:{phrases.FILLERS_CJK})?\s*(?P<letter>{LETTER})")
TARGET = re.compile(rf"[\s:\-\"']{{0,40}}{_FILLERS}{_OPEN}(?P<letter>{LETTER})")
_CLAUSE = re.compile(rf"[\s:\-\"']{{0,40}}{_FILLERS}[\s:\-\"']{{0,40}}(?P<clause>(?:[^.!?\n]|\.(?=\d)){{0,400}})")
_CHOICE_PHRASE = re.compile(
    rf"(?:{phrases.CHOICE_PHRASES})(?![{WORD}])|(?:therefore|thus|hence|so)(?![{WORD}]),?|{phrases.CHOICE_PHRASES_CJK}"
)
_CORRECT_AFTER = re.compile(rf"{CLOSERS}\s{{0,6}}(?i:{phrases.CORRECT_PHRASES})")
_CALLED_WRONG = re.compile(rf"(?P<labels>[A-Z](?:\s?[、,]\s?[A-Z]){{1,9}})\s?(?i:{phrases.DENIAL_PHRASES})")
_CORRECTION = re.compile(phrases.CORRECTIONS + "|" + rf"\b(?:{phrases.CONCLUSION_WORDS})\b")
_ANSWER_STEMS = (
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
_LIST_NOUNS = ("options", "choices")
_LIST_REACH = 1500
_MAX_ANNOUNCEMENTS = 200
"""Limit of announcements, or labels, that are examined in one reply, counted from the end: a reply
with more is a loop, and examining all of them would take seconds."""


def may_state(text: CleanedReply) -> bool:
    """A cheap test that rules out a stated answer in most short replies."""
    return contains_any(text.low, _ANSWER_STEMS) or not text.plain.isascii()


def stated_answer(text: CleanedReply, options: Options) -> LabelMatch | None:
    """Match the last "answer is ...": a label, or a clause that is or mentions one option's text.

    "is not B" and "is a cat" (the article) state no label.
    """
    last: LabelMatch | None = None
    for noun_end, starts in announcements(text):
        if last and _NEXT_QUESTION.search(text.plain, last.end, noun_end):
            break
        reading = None
        for start in starts:
            reading = _label_at(text, noun_end, start, options)
            if reading:
                break
        if reading is None and options.by_content and len(starts) > 1:
            aside = "," in text.plain[noun_end : starts[1]] or announces_list(text, noun_end)
            reading = None if aside else _content_at(text, starts[1], options)
        if reading and (last is None or reading.start > last.start):
            last = reading
    return last


def announcements(text: CleanedReply) -> Iterator[tuple[int, list[int]]]:
    """The end of each announcing noun, and the offsets where its statement may begin: there, or
    behind a verb."""
    for noun in deque(_NOUN.finditer(text.low), maxlen=_MAX_ANNOUNCEMENTS):
        if _inside_word(text.low, noun.start()):
            continue
        end = noun.end()
        stop = _GAP_END.search(text.low, end, end + _GAP)
        verbs = _VERB.finditer(text.low, end, stop.start() if stop else end + _GAP)
        yield (end, [end, *(verb.end() for verb in verbs if not _inside_word(text.low, verb.start()))])
    if not text.plain.isascii():
        for verb_match in deque(_CHOSEN_CJK.finditer(text.low), maxlen=_MAX_ANNOUNCEMENTS):
            yield verb_match.end(), [verb_match.end()]


def announces_list(text: CleanedReply, noun_end: int) -> bool:
    """Whether the noun announces the options to choose from: "the options: ..."."""
    return text.low.endswith(_LIST_NOUNS, 0, noun_end)


def _inside_word(low: str, start: int) -> bool:
    """Whether a Latin letter comes before a Latin word that begins at `start`."""
    if start == 0 or not low[start].isalpha() or not low[start - 1].isalpha():
        return False
    return low[start - 1] < _END_OF_LATIN and low[start] < _END_OF_LATIN


def _label_at(text: CleanedReply, noun_end: int, position: int, options: Options) -> LabelMatch | None:
    match = (_DIRECT_LABEL if position == noun_end else TARGET).match(text.plain, position)
    if not match:
        return None
    start, end = match.span("letter")
    letter = match["letter"].upper()
    if not options.has(letter):
        return None
    if is_article(text.plain, start, end, options) and not _BEFORE_CJK.match(text.plain, end):
        return None
    if is_denied(text.plain, start, end) or is_content_start(text.plain, start, options):
        return None
    if _begins_list(text, noun_end, start, options):
        return None
    is_list = names_multiple(text.plain, start, end, options)
    return LabelMatch(None if is_list else letter, "stated answer", start, end)


def _begins_list(text: CleanedReply, noun_end: int, start: int, options: Options) -> bool:
    """Whether a list of several labelled lines follows the announcement."""
    return (
        "\n" in text.plain[noun_end:start]
        and len(line_letters(text.plain[noun_end : noun_end + _LIST_REACH], options)) > 1
    )


def _content_at(text: CleanedReply, position: int, options: Options) -> LabelMatch | None:
    match = _CLAUSE.match(text.plain, position)
    if not match or is_denied(text.plain, *match.span("clause")):
        return None
    start, end = match.span("clause")
    if _begins_list(text, position, start, options):
        return None
    label = options.label_of(match["clause"])
    if label:
        return LabelMatch(label, "stated content", start, end)
    if "\n" in text.plain[position:start]:
        return None
    return contents.find_mention(text, start, end, options, "stated content")


def chosen_label(text: CleanedReply, options: Options, start: int = 0) -> LabelMatch | None:
    """Match a label that is chosen in passing ("I would go with B") or called right ("B is
    correct").

    Searches after `start`. Two different labels leave the choice open, unless the second corrects
    the first.
    """
    last: LabelMatch | None = None
    for token in deque(TOKEN.finditer(text.plain, start), maxlen=_MAX_ANNOUNCEMENTS):
        letter, span = token[0], token.span()
        if not options.has(letter) or is_article(text.plain, *span, options):
            continue
        if not (_is_called_correct(text, span[1]) or _is_chosen(text, span[0], options)):
            continue
        if is_denied(text.plain, *span):
            continue
        reading = LabelMatch(letter, "chosen label", *span)
        if names_multiple(text.plain, *span, options) or (
            last and last.label != letter and not is_corrected(text, last, reading)
        ):
            reading = reading._replace(label=None)
        last = reading
    if last and last.label and _is_called_wrong(text.plain, last):
        return last._replace(label=None)
    return last


def _is_called_wrong(text: str, reading: LabelMatch) -> bool:
    """Whether a list of labels before it, this one among them, is called wrong: "A、C、D 错误"."""
    lists = _CALLED_WRONG.finditer(text, 0, reading.start)
    return any(str(reading.label) in match["labels"] for match in lists)


def _is_chosen(text: CleanedReply, start: int, options: Options) -> bool:
    for choosing in _CHOICE_PHRASE.finditer(text.low, max(0, start - _REACH), start):
        match = TARGET.match(text.plain, choosing.end())
        if match and match.start("letter") == start:
            inside = _inside_word(text.low, choosing.start())
            return not inside and not _begins_list(text, choosing.end(), start, options)
    return False


def _is_called_correct(text: CleanedReply, end: int) -> bool:
    return _CORRECT_AFTER.match(text.plain, end) is not None


def is_corrected(text: CleanedReply, earlier: LabelMatch, later: LabelMatch) -> bool:
    """Whether the reply takes back the earlier choice before the later one."""
    return later.start > earlier.start and bool(_CORRECTION.search(text.low, earlier.end, later.start))
