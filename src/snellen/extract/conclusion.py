"""Find where a reply concludes: behind its last "Answer:", or under its last conclusion heading."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from snellen.core.answer import Answer, ParsedAnswer

_ANSWER = re.compile(r"(?:final\s+)?answer\s*(?:\*\*|__)?\s*[::]\s*(?:\*\*|__)?\s*", re.IGNORECASE)
_HEADING = re.compile(
    r"(?:^|\n)[ #>\-\d.]{0,12}(?:(?:the |my )?final (?:answer|choice|decision|conclusion|selection"
    r"|verdict|result)|conclusion|verdict|最终答案|最终结论|结论|最后答案)\s{0,9}(?:[:\n]|-\s)"
)


def heading_end(low: str) -> int | None:
    """Offset of the text under the last heading such as "Final answer", or None.

    `low` is a reply in lower case, without markup. None if there is no such heading or nothing
    follows.
    """
    last = None
    for last in _HEADING.finditer(low):  # noqa: B007
        pass
    return last.end() if last and low[last.end() :].strip() else None


class Conclusion(NamedTuple):
    """The concluding part of a reply."""

    text: str
    start: int
    """Offset in the reply, in characters."""


def find_conclusion(reply: str) -> Conclusion | None:
    """The text after the last "Answer:" of a reply; None if there is none or nothing follows."""
    last = None
    for match in _ANSWER.finditer(reply):
        last = match
    if last is None or not reply[last.end() :].strip(" \n\t*_`"):
        return None
    return Conclusion(reply[last.end() :], last.end())


def shift_span(answer: Answer, offset: int) -> Answer:
    """Move the span of an answer that was parsed from a part of a reply, `offset` characters in."""
    if not isinstance(answer, ParsedAnswer):
        return answer
    span = answer.span and (answer.span[0] + offset, answer.span[1] + offset)
    return msgspec.structs.replace(answer, rule=f"conclusion: {answer.rule}", span=span)
