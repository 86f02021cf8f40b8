"""Read a reply to an open question whose gold answer has one of a few forms: true or false, or
labels of options that stand in the picture ("b,d").

The form of the gold is that of the question ("True or false: ...", "Which of a to e ...?"), so that
a reply may be read for it: "True. Because ..." is True, and "(b) 0.42" is b.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from snellen.core.answer import Answer, Found
from snellen.extract.clean import fold, unmarked, without_thought
from snellen.extract.marks import innermost_mark
from snellen.extract.multi_label import read_letters
from snellen.extract.open_text import read_open
from snellen.extract.yes_no import YES, read_yes_no

Form = Literal["truth", "labels"]

TRUE, FALSE = "True", "False"
_LABELS = re.compile(r"[A-Za-z](?:\s*,\s*[A-Za-z])+")
_WORD = r"(?P<not>not\s+)?(?:(?P<true>true|correct)|(?P<false>false|incorrect|untrue|wrong))"
_RIGHT = r"(?![\w'-])"
_PAIR = re.compile(
    r"\btrue\s*(?:/|or|and|\()\s*false|\bfalse\s*(?:/|or|and|\()\s*true", re.IGNORECASE
)
_OPENING = re.compile(rf"[\W_]{{0,40}}{_WORD}{_RIGHT}(?!\s+(?:that|or|to)\b)", re.IGNORECASE)
_LETTER = re.compile(r"[\W_]{0,9}(?P<not>)(?:(?P<true>t)|(?P<false>f))[\W_]{0,9}\Z", re.IGNORECASE)
_STATED = re.compile(
    r"(?:answer|statement|claim|sentence|assertion|caption|conclusion|it|this|that|response)\b"
    rf"[^.!?\n]{{0,60}}?(?:\bis\b|\bwould be\b|\bmust be\b|:|=)[\s:\"'(]{{0,9}}"
    rf"(?:therefore|thus|clearly|definitely|indeed|actually)?\s*{_WORD}{_RIGHT}",
    re.IGNORECASE,
)
_ONLY = re.compile(r"\b(?:(?P<true>true)|(?P<false>false))\b", re.IGNORECASE)


def form_of(golds: Sequence[str]) -> Form | None:
    """The form that every gold answer has; None where they have none of these."""
    if not golds:
        return None
    if all(gold.strip().lower() in ("true", "false") for gold in golds):
        return "truth"
    return "labels" if all(_LABELS.fullmatch(gold.strip()) for gold in golds) else None


def read_form(reply: str, form: Form, golds: Sequence[str], *, stop_reason: str = "stop") -> Answer:
    """The reply as an answer of the form, else as any open reply."""
    if form == "truth":
        return read_truth(reply, stop_reason=stop_reason)
    letters = read_letters(_upper(reply), _labels(golds), stop_reason=stop_reason)
    if isinstance(letters, Found):
        return letters
    return read_open(reply, stop_reason=stop_reason)


def read_truth(reply: str, *, stop_reason: str = "stop") -> Answer:
    """The reply as `Found` "True" or "False", or why not. A reply of yes or no counts too."""
    text = unmarked(without_thought(fold(reply)))
    mark = innermost_mark(without_thought(fold(reply)))
    if mark:
        text = " " * mark.start + text[mark.start : mark.end]
    found = _truth(text)
    if found:
        return replace(found, rule=mark.kind) if mark else found
    answer = read_yes_no(reply, stop_reason=stop_reason)
    if isinstance(answer, Found):
        return replace(answer, value=TRUE if answer.value == YES else FALSE)
    return answer


def _truth(text: str) -> Found | None:
    """The last statement, else the opening word, else the only one of the two words."""
    text = _PAIR.sub(lambda match: " " * len(match[0]), text)
    stated = list(_STATED.finditer(text))
    match = stated[-1] if stated else _OPENING.match(text) or _LETTER.match(text)
    if match:
        true = (match["true"] is not None) != bool(match["not"])
        rule = "stated answer" if stated else "opening word"
        return Found(
            TRUE if true else FALSE, rule, match.span("true" if match["true"] else "false")
        )
    words = list(_ONLY.finditer(text))
    if not words or len({word[0].lower() for word in words}) > 1:
        return None
    last = words[-1]
    if re.search(r"(?:\bnot|n't|\bif|\bwhether)\W+(?:\w+\W+){0,3}\Z", text[: last.start()], re.I):
        return None
    return Found(TRUE if last["true"] else FALSE, "only word", last.span())


def _labels(golds: Sequence[str]) -> list[str]:
    """All labels up to the last that a gold names, and at least A to E."""
    last = max(letter for gold in golds for letter in gold.upper() if letter.isalpha())
    return [chr(code) for code in range(ord("A"), ord(max(last, "E")) + 1)]


_SMALL = re.compile(r"(?<![\w'])([b-z]|a(?=[).,\]\s]*(?:,|and|&|\Z|\n)))(?![\w'])")


def _upper(reply: str) -> str:
    """The reply with small letters that stand alone as capitals, each in its place."""
    return _SMALL.sub(lambda match: match[0].upper(), reply)
