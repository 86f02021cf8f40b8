"""Replies that hold no answer of the model's own, whoever would read or grade them."""

from __future__ import annotations

from snellen.core.answer import Empty, Refused, Truncated

REFUSAL = "refusal"
"""The stop reason of a reply that a provider's filter wrote, cut off or kept back."""


def unanswered(reply: str, stop_reason: str) -> Refused | Truncated | Empty | None:
    """Refused where a filter spoke: whatever letters stand in its words, the model chose none.
    Truncated where the token limit came before any word (in the middle of a thought), Empty where
    nothing was said. None for a reply that can be read."""
    if stop_reason == REFUSAL:
        return Refused("stop reason")
    if reply.strip():
        return None
    return Truncated() if stop_reason == "length" else Empty()


def own_words(reply: str, stop_reason: str) -> str:
    """What the model itself said: nothing, where a filter spoke."""
    return "" if stop_reason == REFUSAL else reply
