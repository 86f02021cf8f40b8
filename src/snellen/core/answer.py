"""What a reply means: a value with the rule that found it, or the typed reason why not."""

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
"""How one question ended. `failed`, `missing` and `unsupported` (the model lacks what the question
needs and was not asked) are left out of scores; the others but `answered` count as wrong
(MMBench Sec. 4.1, MMT-Bench Sec. 4.1: pseudo choice Z)."""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
RETRYABLE: tuple[Literal["failed"], Literal["missing"]] = ("failed", "missing")
"""Ends that say nothing of the model: the same command asks such a sample again."""


class ParsedAnswer(
    Struct, frozen=True, gc=False, tag="found", tag_field="type", omit_defaults=True
):
    value: str
    rule: str
    """Name of the rule that read the reply."""
    span: tuple[int, int] | None = None
    """Start and end of the evidence in the reply, in characters."""


class NoMatch(Struct, frozen=True, gc=False, tag="no_match", tag_field="type"):
    """The reply was understood and fits no option: MMBench's pseudo choice Z."""

    rule: str


class Unparsed(Struct, frozen=True, gc=False, tag="unparsed", tag_field="type"):
    """Nobody could read the reply: MMT-Bench's Z. Never a random option."""


class Refused(Struct, frozen=True, gc=False, tag="refused", tag_field="type"):
    rule: str


class Truncated(Struct, frozen=True, gc=False, tag="truncated", tag_field="type"):
    """The reply ended at the token limit before an answer could be read."""


class Empty(Struct, frozen=True, gc=False, tag="empty", tag_field="type"):
    """The model said nothing."""


Answer = ParsedAnswer | NoMatch | Unparsed | Refused | Truncated | Empty


def outcome_of(answer: Answer) -> Outcome:
    if isinstance(answer, ParsedAnswer):
        return "answered"
    if isinstance(answer, NoMatch):
        return "no_match"
    if isinstance(answer, Refused):
        return "refused"
    if isinstance(answer, Truncated):
        return "truncated"
    return "empty" if isinstance(answer, Empty) else "unparsed"
