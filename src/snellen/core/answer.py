"""What a reply means: a value and the rule that parsed it, or why there is no value."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

Outcome = Literal[
    "answered",
    "no_match",
    "unparsed",
    "refused",
    "truncated",
    "empty",
    "failed",
    "missing",
    "unsupported",
]
"""How a question ended. `failed`, `missing` and `unsupported` (the model cannot take the question,
so it was not asked) are left out of scores; all others except `answered` count as wrong (MMBench
Sec. 4.1, MMT-Bench Sec. 4.1: pseudo choice Z)."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
RETRYABLE: tuple[Literal["failed"], Literal["missing"]] = ("failed", "missing")
"""Outcomes that say nothing about the model; these samples are asked again on resume."""


class ParsedAnswer(
    Struct, frozen=True, gc=False, tag="found", tag_field="type", omit_defaults=True
):
    """The value that a rule parsed from the reply."""

    value: str
    rule: str
    """Name of the parsing rule."""
    span: tuple[int, int] | None = None
    """Start and end of the matched text in the reply, in characters."""


class NoMatch(Struct, frozen=True, gc=False, tag="no_match", tag_field="type"):
    """The reply was parsed but matches no option: MMBench's pseudo choice Z."""

    rule: str


class Unparsed(Struct, frozen=True, gc=False, tag="unparsed", tag_field="type"):
    """No rule could parse the reply: MMT-Bench's Z. Never replaced by a random option."""


class Refused(Struct, frozen=True, gc=False, tag="refused", tag_field="type"):
    """The model declined to answer."""

    rule: str


class Truncated(Struct, frozen=True, gc=False, tag="truncated", tag_field="type"):
    """The reply reached the token limit before an answer could be parsed."""


class Empty(Struct, frozen=True, gc=False, tag="empty", tag_field="type"):
    """The reply holds no text."""


Answer = ParsedAnswer | NoMatch | Unparsed | Refused | Truncated | Empty


def outcome_of(answer: Answer) -> Outcome:
    """The outcome that an answer is counted under."""
    if isinstance(answer, ParsedAnswer):
        return "answered"
    if isinstance(answer, NoMatch):
        return "no_match"
    if isinstance(answer, Refused):
        return "refused"
    if isinstance(answer, Truncated):
        return "truncated"
    return "empty" if isinstance(answer, Empty) else "unparsed"
