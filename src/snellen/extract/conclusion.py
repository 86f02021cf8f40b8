"""The conclusion of a reply that was asked to think first: what follows its last "Answer:"."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from snellen.core.answer import Answer, Found

_ANSWER = re.compile(r"(?:final\s+)?answer\s*(?:\*\*|__)?\s*[::]\s*(?:\*\*|__)?\s*", re.IGNORECASE)


class Conclusion(NamedTuple):
    text: str
    start: int
    """Where it begins in the reply, in characters."""


def conclusion_of(reply: str) -> Conclusion | None:
    """The text after the last "Answer:" of a reply; None where it has none, or nothing follows."""
    last = None
    for match in _ANSWER.finditer(reply):
        last = match
    if last is None or not reply[last.end() :].strip(" \n\t*_`"):
        return None
    return Conclusion(reply[last.end() :], last.end())


def moved(answer: Answer, by: int) -> Answer:
    """An answer read from a part of a reply, its evidence placed in the whole."""
    if not isinstance(answer, Found):
        return answer
    span = answer.span and (answer.span[0] + by, answer.span[1] + by)
    return msgspec.structs.replace(answer, rule=f"conclusion: {answer.rule}", span=span)
