"""Parse a reply to an open question whose gold answers have one of a few forms.

The forms are true or false, and labels of options inside the image ("b,d"). The question asks for
the form ("True or false: ...", "Which of a to e ...?"), so using it gives nothing away: "True.
Because ..." is True, and "(b) 0.42" is b.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec.structs import replace

from snellen.core import lazy_re as re
from snellen.core.output import Answer, ParsedAnswer
from snellen.extract.clean import blank_markup, fold, without_thinking
from snellen.extract.marks import innermost_mark
from snellen.extract.multi_label import parse_multi_label
from snellen.extract.open_text import parse_open
from snellen.extract.yes_no import YES, parse_yes_no

Form = Literal["truth", "labels"]

TRUE, FALSE = "True", "False"
_LABEL_LIST = re.compile(r"[A-Za-z](?:\s*,\s*[A-Za-z])+")
_WORD = r"(?P<not>not\s+)?(?:(?P<true>true|correct)|(?P<false>false|incorrect|untrue|wrong))"
_RIGHT = r"(?![\w'-])"
_PAIR = re.compile(r"\btrue\s*(?:/|or|and|\()\s*false|\bfalse\s*(?:/|or|and|\()\s*true", re.IGNORECASE)
_OPENING_WORD = re.compile(rf"[\W_]{{0,40}}{_WORD}{_RIGHT}(?!\s+(?:that|or|to)\b)", re.IGNORECASE)
_LONE_T_OR_F = re.compile(r"[\W_]{0,9}(?P<not>)(?:(?P<true>t)|(?P<false>f))[\W_]{0,9}\Z", re.IGNORECASE)
_STATED_WORD = re.compile(
    r"(?:answer|statement|claim|sentence|assertion|caption|conclusion|it|this|that|response)\b"
    rf"[^.!?\n]{{0,60}}?(?:\bis\b|\bwould be\b|\bmust be\b|:|=)[\s:\"'(]{{0,9}}"
    rf"(?:therefore|thus|clearly|definitely|indeed|actually)?\s*{_WORD}{_RIGHT}",
    re.IGNORECASE,
)
_TRUTH_WORD = re.compile(r"\b(?:(?P<true>true)|(?P<false>false))\b", re.IGNORECASE)


def answer_form(golds: Sequence[str]) -> Form | None:
    """The form that every gold answer has; None if they have none of these forms."""
    if not golds:
        return None
    if all(gold.strip().lower() in ("true", "false") for gold in golds):
        return "truth"
    return "labels" if all(_LABEL_LIST.fullmatch(gold.strip()) for gold in golds) else None


def parse_form(reply: str, form: Form, golds: Sequence[str], *, stop_reason: str = "stop") -> Answer:
    """Parse the reply as an answer of the form, else as any open reply."""
    if form == "truth":
        return parse_truth(reply, stop_reason=stop_reason)
    letters = parse_multi_label(_capitalise_lone_letters(reply), _label_range(golds), stop_reason=stop_reason)
    if isinstance(letters, ParsedAnswer):
        return letters
    return parse_open(reply, stop_reason=stop_reason)


def parse_truth(reply: str, *, stop_reason: str = "stop") -> Answer:
    """Parse a reply as "True" or "False"; a reply of yes or no counts too."""
    text = blank_markup(without_thinking(fold(reply)))
    mark = innermost_mark(without_thinking(fold(reply)))
    if mark:
        text = " " * mark.start + text[mark.start : mark.end]
    answer_in_text = _find_truth(text)
    if answer_in_text:
        return replace(answer_in_text, rule=mark.kind) if mark else answer_in_text
    answer = parse_yes_no(reply, stop_reason=stop_reason)
    if isinstance(answer, ParsedAnswer):
        return replace(answer, value=TRUE if answer.value == YES else FALSE)
    return answer


def _find_truth(text: str) -> ParsedAnswer | None:
    """The last statement, else the opening word, else the only one of the two words."""
    text = _PAIR.sub(lambda match: " " * len(match[0]), text)
    stated = list(_STATED_WORD.finditer(text))
    match = stated[-1] if stated else _OPENING_WORD.match(text) or _LONE_T_OR_F.match(text)
    if match:
        true = (match["true"] is not None) != bool(match["not"])
        rule = "stated answer" if stated else "opening word"
        return ParsedAnswer(TRUE if true else FALSE, rule, match.span("true" if match["true"] else "false"))
    words = list(_TRUTH_WORD.finditer(text))
    if not words or len({word[0].lower() for word in words}) > 1:
        return None
    last = words[-1]
    if re.search(r"(?:\bnot|n't|\bif|\bwhether)\W+(?:\w+\W+){0,3}\Z", text[: last.start()], re.IGNORECASE):
        return None
    return ParsedAnswer(TRUE if last["true"] else FALSE, "only word", last.span())


def _label_range(golds: Sequence[str]) -> list[str]:
    """All labels up to the last one in a gold answer, at least A to E."""
    last = max(letter for gold in golds for letter in gold.upper() if letter.isalpha())
    return [chr(code) for code in range(ord("A"), ord(max(last, "E")) + 1)]


_LONE_SMALL_LETTER = re.compile(r"(?<![\w'])([b-z]|a(?=[).,\]\s]*(?:,|and|&|\Z|\n)))(?![\w'])")


def _capitalise_lone_letters(reply: str) -> str:
    """The reply with single lower-case letters as capitals; same length."""
    return _LONE_SMALL_LETTER.sub(lambda match: match[0].upper(), reply)
