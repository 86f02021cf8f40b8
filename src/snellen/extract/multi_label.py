"""Read a reply to a question with several right labels (LogicVista) into the set it names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from snellen.core.answer import Answer, Found
from snellen.extract.choice import read_choice
from snellen.extract.clean import Text, fold, text_of, without_thought
from snellen.extract.letters import END, WORD, denied
from snellen.extract.statements import TARGET, announcements, enumerates, may_state

SEPARATOR = ", "
"""Between the labels of the value: "B, D"."""

_JOIN = r"[)\]\"'.]*\s*(?:,\s*(?:and\b)?|/|&|\band\b|和|、|及|以及)\s*(?i:option\s+)?[(\[\"']*"
_LIST = re.compile(rf"[A-Z]{END}(?:{_JOIN}[A-Z]{END})+|[A-Z](?:/[A-Z])+(?![{WORD}])")
_RUN = re.compile(r"[\s\"'(\[]*(?P<run>[A-Z]{2,})[\s\"')\].]*\Z")
_OPENING = re.compile(r"[\s\"'(\[<$:.\-]*(?i:(?:options?|choices?|answers?)\b[\s:(\[]*)?")
_AFTER_LIST = re.compile(r"[)\]\"']*\s*(?:$|[.:;\n]|because\b|since\b|as\b)")


def read_letters(reply: str, labels: Iterable[str], *, stop_reason: str = "stop") -> Answer:
    """The labels a reply names, as one value in alphabetical order ("B, D").

    A list of labels counts where it is the whole reply ("BD", "B and D"), opens it, or is stated
    ("the answers are B and D"); else the reply is read as a choice of one. "B or D" is no list.
    """
    known = frozenset(labels)
    text = text_of(without_thought(fold(reply)))
    for found, rule in _lists(text):
        letters = re.findall("[A-Z]", text.plain[found[0] : found[1]])
        if len(set(letters)) == len(letters) and known.issuperset(letters):
            return Found(SEPARATOR.join(sorted(letters)), rule, found)
    return read_choice(reply, dict.fromkeys(sorted(known), ""), stop_reason=stop_reason)


def _lists(text: Text) -> list[tuple[tuple[int, int], str]]:
    """Places of lists of labels with the rule that found them, the most trusted first."""
    run = _RUN.match(text.plain)
    places = [(run.span("run"), "bare labels")] if run else []
    places += [(place, "stated answers") for place in reversed(_stated(text))]
    opening = _OPENING.match(text.plain)
    lead = _LIST.match(text.plain, opening.end()) if opening else None
    if lead and _AFTER_LIST.match(text.plain, lead.end()):
        places.append((lead.span(), "leading labels"))
    return places


def _stated(text: Text) -> list[tuple[int, int]]:
    found = []
    for noun_end, starts in announcements(text) if may_state(text) else ():
        if enumerates(text, noun_end):
            continue
        for start in starts:
            target = TARGET.match(text.plain, start)
            named = target and _LIST.match(text.plain, target.start("letter"))
            if named and not denied(text.plain, *named.span()):
                found.append(named.span())
                break
    return found
