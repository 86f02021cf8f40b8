"""Replies read as published code reads them for single benchmarks of `benchmarks/data/listed.toml`.

`read_mmsi`        MMSI-Bench, its repository: what stands between backquotes, then the first letter
                   A to D that stands alone and before no word.
`read_medxpertqa`  MedXpertQA, its repository, asked for the answer alone: what stands behind the
                   lead-in that its prompt ends with, or behind "answer is"; then the first label.
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
_SPANS = ("I understand", "A through J", "A through E", "A through D")
_NAMED = re.compile(r"\b(?:[Cc]orrect|[Aa]nswer|[Oo]ption)\b[\s\S]*?([A-D])")
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


def phyx_given_gold(golds: Sequence[str]) -> Callable[[str, Mapping[str, str], str], Answer]:
    """The reader for questions with these right labels."""

    def read(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
        text = reply.strip()
        if text == f"{API_FAILURE}.":
            return Unparsed()
        named = _NAMED.search(text)
        before_colon = _BEFORE_COLON.findall(text)
        label = named[1] if named else before_colon[-1] if before_colon else ""
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
