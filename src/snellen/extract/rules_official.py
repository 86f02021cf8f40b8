"""Replies read as the scripts published with single benchmarks read them.

`read_mmbench`  MMBench's first evaluation script, the step before its LLM: words of the reply are
                compared as they stand with the labels A to E and the ways to write them.
`read_equal`    SEED-Bench: the prediction is the label.
`read_blink`    BLINK: the prediction is the label in parentheses, and nothing else.
`read_mme_realworld`  MME-RealWorld: the first capital A to E, once set phrases are taken out.
`read_scienceqa`      ScienceQA, as LLaVA scores it (eval_science_qa.py), which published numbers
                      come from: a label, "B. text", or one "The answer is B" and a sign behind it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from snellen.core.answer import Answer, Empty, Found, NoMatch, Truncated, Unparsed
from snellen.extract.choice import NO_MATCH_LABEL
from snellen.extract.phrases import API_FAILURE

RULE = "official"
_LABELS = "ABCDE"
_LETTERS = frozenset(_LABELS)
_NO_OPTION = "E"
"""MMBench's pseudo choice at the time: options end at D."""
_ARTICLE_WORDS = 3
"""In replies of more words, a lone A may be the article."""
_DRESSES = (
    *(("", after) for after in (".", ",", ":", ")", ").")),
    ("(", ")"),
    ("(", ")."),
    *((":", after) for after in ("", ",", ".", ")", ").")),
)


def read_mmbench(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """Exactly one label stands alone, else exactly one in one way of writing, else the text of
    exactly one option is contained in the reply."""
    label = _label(reply) or _text(reply, options)
    if label is None:
        return _unread(reply, stop_reason)
    if label == _NO_OPTION and label not in options:
        return NoMatch(RULE)
    return Found(label, RULE)


def read_equal(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The reply, without white space around it, is a label."""
    label = reply.strip()
    if label == NO_MATCH_LABEL and label not in options:
        return NoMatch(RULE)
    known = label in options if options else len(label) == 1 and "A" <= label <= "Z"
    return Found(label, RULE) if known else _unread(reply, stop_reason)


def read_blink(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The reply is a label in parentheses, such as "(A)"; "(A) left" is none."""
    if len(reply) == 3 and reply[0] == "(" and reply[2] == ")":
        return read_equal(reply[1], options, stop_reason)
    return _unread(reply, stop_reason)


_LETTER = re.compile(f"[{_LABELS}]")
_ANNOUNCED = (
    *("The best answer is", "The correct answer is", "The answer is", "The answer"),
    *("The best option is", "The correct option is", "Best answer:", "Best option:"),
)
_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)


def read_mme_realworld(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The first capital A to E of the reply, or of what <answer> encloses; nothing in an empty
    reply. A lone small letter is the label too."""
    tagged = _TAGGED.search(reply)
    text = tagged[1].upper() if tagged else reply.strip()
    for phrase in _ANNOUNCED:
        text = text.replace(phrase, "")
    found = _LETTER.search(text)
    bare = text.strip(" ().").upper()
    label = found[0] if found else bare if len(bare) == 1 and bare in _LABELS else None
    if label is None or (options and label not in options):
        return _unread(reply, stop_reason)
    return Found(label, RULE)


_STATED = re.compile(r"The answer is ([A-Z]).")


def read_scienceqa(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The label that is the reply, or stands before ". " at its start, or is stated once. Where
    none is, or two are, nothing is drawn by lot: ScienceQA's own script would."""
    stated = _STATED.findall(reply)
    if reply in _LETTERS:
        label = reply
    elif len(reply) >= 3 and reply[0] in _LETTERS and reply[1:3] == ". ":
        label = reply[0]
    else:
        label = stated[0] if len(stated) == 1 else ""
    if label not in (options or _LETTERS):
        return _unread(reply, stop_reason)
    return Found(label, RULE)


def _label(reply: str) -> str | None:
    if API_FAILURE in reply:
        return None
    words = reply.split()
    bare = [label for label in _LABELS if label in words]
    if len(bare) == 1 and ("A" not in words or len(words) <= _ARTICLE_WORDS):
        return bare[0]
    for before, after in _DRESSES:
        found = [label for label in _LABELS if f"{before}{label}{after}" in words]
        if len(found) == 1:
            return found[0]
    return None


def _text(reply: str, options: Mapping[str, str]) -> str | None:
    low = reply.lower()
    held = [label for label, text in options.items() if text.lower() in low]
    return held[0] if len(held) == 1 else None


def _unread(reply: str, stop_reason: str) -> Answer:
    if stop_reason == "length":
        return Truncated()
    return Unparsed() if reply.strip() else Empty()
