"""Replies read as published code reads them for single benchmarks of `benchmarks/data/listed.toml`.

`read_mmsi`        MMSI-Bench, its repository: what stands between backquotes, then the first letter
                   A to D that stands alone and before no word.
`read_medxpertqa`  MedXpertQA, its repository, asked for the answer alone: what stands behind the
                   lead-in that its prompt ends with, or behind "answer is"; then the first label.
`read_spatial457`  Spatial457 in VLMEvalKit: the value behind the key Answer, else all.
`read_phyx`        PhyX in VLMEvalKit without a judge, open: what the first box holds, else what
                   follows "final answer" or "correct answer" and a colon, beside the whole reply.
                   Replies that are a dictionary with `content` are read as they stand.
`phyx_given_gold`  PhyX in VLMEvalKit without a judge, multiple choice: the first capital A to D
                   behind the word "answer", "option" or "correct", else the last before a colon;
                   else the gold in bold or before a colon. A bare letter is none of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from snellen.core.answer import Answer, Empty, Found, Truncated, Unparsed
from snellen.extract.phrases import API_FAILURE

_QUOTED = (re.compile(r"``([^`]*)``"), re.compile(r"`([^`]*)`"))
_ALONE = re.compile(r"\b[A-D]\b(?!\s[a-zA-Z])")
BESIDE = "\0"
"""Between the answer of an open reply and the whole of it."""
_BOX = r"\boxed{"
_FINAL = re.compile(r"\b(?:final\s+answer|correct\s+answer)\b", re.IGNORECASE)
_COLON = re.compile(r"[:：]\s*")
_FORMS = tuple(
    re.compile(form) for form in (r"Answer': '(.*?)'", r'Answer": "(.*?)"', r"Answer': (\d)")
)
_SPANS = ("I understand", "A through J", "A through E", "A through D")
_NAMED = re.compile(r"\b(?:[Cc]orrect|[Aa]nswer|[Oo]ption)\b")
_LETTER = re.compile("[A-D]")
_BEFORE_COLON = re.compile("([ABCD]):")


def read_mmsi(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The first lone capital, of what is quoted where anything is."""
    text = reply
    for quoted in _QUOTED:
        inside = quoted.search(text)
        text = inside[1] if inside else text
    found = _ALONE.search(text)
    if found is None or (options and found[0] not in options):
        return _unread(reply, stop_reason)
    return Found(found[0], "official")


def read_medxpertqa(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The first label that is a word by itself, behind a lead-in where there is one."""
    labels = list(options) or list("ABCDE")
    text = reply
    for lead_in in (f"Among A through {labels[-1]}, the answer is", " answer is "):
        parts = reply.split(lead_in)
        if len(parts) > 1:
            text = parts[1].strip()
            break
    for phrase in _SPANS:
        text = text.replace(phrase, "")
    found = re.search(rf"\b({'|'.join(labels)})\b", text)
    return Found(found[1], "official") if found else _unread(reply, stop_reason)


def read_spatial457(reply: str, stop_reason: str = "stop") -> Answer:
    """What the form that the prompt asks for holds as the answer, else the whole reply."""
    found = next((held for form in _FORMS if (held := form.search(reply))), None)
    return Found(found[1] if found else reply, "vlmevalkit")


def read_phyx(reply: str, stop_reason: str = "stop") -> Answer:
    """Two lines: the answer, in which pi is 3.14, and the whole reply."""
    text = reply.strip()
    if not text:
        return _unread(reply, stop_reason)
    taken = _boxed(text) or _stated(text)
    taken = taken.replace(r"\dfrac", r"\frac").replace(r"\pi", "3.14")
    return Found(f"{taken}{BESIDE}{text}", "vlmevalkit")


def _stated(text: str) -> str:
    """What follows the colon behind the first "final answer", up to two empty lines."""
    named = _FINAL.search(text)
    colon = _COLON.search(text, named.end()) if named else None
    return text[colon.end() :].partition("\n\n\n")[0] if colon else ""


def _boxed(text: str) -> str:
    """What the first box holds; empty where there is none, or it is not closed."""
    _, _, rest = text.partition(_BOX)
    depth = 0
    for place, sign in enumerate(rest):
        if sign == "}" and not depth:
            return rest[:place]
        depth += (sign == "{") - (sign == "}")
    return ""


def phyx_given_gold(golds: Sequence[str]) -> Callable[[str, Mapping[str, str], str], Answer]:
    """The reader for questions with these right labels."""

    def read(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
        text = reply.strip()
        if text == f"{API_FAILURE}.":
            return Unparsed()
        noun = _NAMED.search(text)
        named = _LETTER.search(text, noun.end()) if noun else None
        before_colon = _BEFORE_COLON.findall(text)
        label = named[0] if named else before_colon[-1] if before_colon else ""
        for gold in golds:
            dressed = (f"{gold}:", f"{gold}**", f"**{gold}")
            if label == gold or any(mark in text for mark in dressed):
                return Found(gold, "vlmevalkit")
        return Found(label, "vlmevalkit") if label else _unread(reply, stop_reason)

    return read


def _unread(reply: str, stop_reason: str) -> Answer:
    if stop_reason == "length":
        return Truncated()
    return Unparsed() if reply.strip() else Empty()
