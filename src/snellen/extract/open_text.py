"""Read a free reply into the text of its answer.

The answer is what the reply marks as such: the last \\boxed{...} or <answer>...</answer>, else the
last "the answer is ...". A short reply of one line is its own answer, a final dot and quotes taken
off; of a longer one a last line of a few words is. Otherwise the reply is kept whole: scoring is by
equality, so a long reply that marks no answer is wrong, never right by accident.
"""

from __future__ import annotations

import re

from snellen.core.answer import Answer, Empty, Found, Refused, Truncated
from snellen.extract import phrases
from snellen.extract.clean import fold

_TAGGED = re.compile(
    r"<answer>(?P<answer>.*?)(?:</answer>|\Z)"
    r"|\\f?boxed\s*\{(?P<boxed>[^{}]*"
    r"(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}[^{}]*)*)\}",
    re.DOTALL | re.IGNORECASE,
)
_TEXT_COMMAND = re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}\Z")
_THOUGHT_START = "<think>"
_THOUGHT_END = "</think>"
_STATED = re.compile(
    r"(?:\b(?:final |correct |short )?answers?(?: to (?:the|this) question)?"
    r"\s*(?:is|are|would be|:)"
    r"|答案(?:是|为|:))(?:\s*:)?\s*(?P<text>(?:[^\n.!?]|[.!?](?!\s|$))+)",
    re.IGNORECASE,
)
_REFUSAL = re.compile(phrases.REFUSALS, re.IGNORECASE)
_TOKEN = r"</?s>|<\|[^|<>\n]{1,30}\|>"
_LEFT_EDGE = re.compile(rf"(?:[\s\"'`*,;:!]|{_TOKEN})*")
_LAST_TOKEN = re.compile(rf"(?:{_TOKEN})\Z")
_LAST_TOKENS = re.compile(rf"(?:\s|{_TOKEN})*\Z")
_RIGHT_DRESS = " \n\t\"'`*.,;:!"
_SHORT_LINE = 40


def read_open(reply: str, *, stop_reason: str = "stop") -> Answer:
    """The answer text of a free reply as `Found`, or the typed reason why not.

    A reply cut off at the token limit (`stop_reason` "length") is `Truncated` unless it marks its
    answer or is one short line.
    """
    if not reply.strip():
        return Truncated() if stop_reason == "length" else Empty()
    start = reply.rfind(_THOUGHT_END)
    start = 0 if start < 0 else start + len(_THOUGHT_END)
    if not reply[start:].strip():
        start = 0
    marked = _tagged(reply, start) or _stated(reply, start)
    if marked:
        return marked
    low = reply.lower()
    if _REFUSAL.search(fold(low)):
        return Refused("refusal phrase")
    whole = _undressed(reply, start, len(reply), "whole reply")
    if whole and "\n" not in whole.value and len(whole.value) <= _SHORT_LINE:
        return whole
    if stop_reason == "length":
        return Truncated()
    return _last_line(reply, start) or whole or Empty()


def read_final(reply: str, *, stop_reason: str = "stop") -> Answer:
    """The answer that a reply marks, else the whole reply as it stands: for metrics that compare
    texts by themselves (edit distance, VQA accuracy), where a plain reply is to be left alone.

    A long reply that was cut off (`stop_reason` "length") and marks no answer is `Truncated`.
    """
    whole = read_whole(reply, stop_reason=stop_reason)
    if not isinstance(whole, Found) or whole.span is None:
        return whole
    marked = _tagged(reply, whole.span[0]) or _stated(reply, whole.span[0])
    if marked:
        return marked
    long = len(whole.value) > _SHORT_LINE or "\n" in whole.value
    return Truncated() if stop_reason == "length" and long else whole


def read_whole(reply: str, *, stop_reason: str = "stop") -> Answer:
    """The whole reply without its thinking, white space around it and special tokens at its end:
    for captions, transcripts and metrics that look for the gold in the reply.

    Thinking that was cut off before it ended is `Truncated`; of other cut replies the text counts.
    """
    start = reply.rfind(_THOUGHT_END)
    start = 0 if start < 0 else start + len(_THOUGHT_END)
    if start == 0 and stop_reason == "length" and reply.lstrip().startswith(_THOUGHT_START):
        return Truncated()
    first = start + len(reply[start:]) - len(reply[start:].lstrip())
    last = first + len(_LAST_TOKENS.sub("", reply[first:]))
    if last == first:
        return Truncated() if stop_reason == "length" else Empty()
    return Found(reply[first:last], "whole reply", (first, last))


def read_raw(reply: str, *, stop_reason: str = "stop") -> Answer:
    """The reply as other tools take it: all of it, with the white space around it, which some of
    them count."""
    return Found(reply, "raw reply") if reply.strip() else Empty()


def _undressed(reply: str, start: int, end: int, rule: str) -> Found | None:
    """The text between start and end without quotes, marks, special tokens and a final dot."""
    edge = _LEFT_EDGE.match(fold(reply[start:end]))
    first = start + (edge.end() if edge else 0)
    last = first + len(_trimmed(fold(reply[first:end])))
    return Found(reply[first:last], rule, (first, last)) if last > first else None


def _trimmed(text: str) -> str:
    before = None
    while before != text:
        before = text
        text = _LAST_TOKEN.sub("", text.rstrip(_RIGHT_DRESS))
    return text


def _tagged(reply: str, start: int) -> Found | None:
    tags = list(_TAGGED.finditer(reply, start))
    if not tags:
        return None
    group = "answer" if tags[-1]["answer"] is not None else "boxed"
    first, last = tags[-1].span(group)
    inner = _TEXT_COMMAND.fullmatch(reply, first, last)
    if inner:
        first, last = inner.span(1)
    return _undressed(reply, first, last, group)


def _stated(reply: str, start: int) -> Found | None:
    stated = list(_STATED.finditer(reply, start))
    return _undressed(reply, *stated[-1].span("text"), "stated answer") if stated else None


def _last_line(reply: str, start: int) -> Found | None:
    begin = reply.rstrip().rfind("\n") + 1
    if begin <= start or len(reply[begin:].strip()) > _SHORT_LINE:
        return None
    return _undressed(reply, begin, len(reply), "last line")
