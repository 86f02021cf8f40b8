"""Replies that hold no answer of the model's own, whoever would read or grade them."""

from __future__ import annotations

from snellen.core.answer import Empty, Refused, Truncated
from snellen.core.output import Generated

FILTER_REFUSAL = Refused("stop reason")
"""What a reply that a provider's filter wrote, cut off or kept back amounts to."""


def non_answer(output: Generated) -> Refused | Truncated | Empty | None:
    """Refused where a filter spoke. Truncated where the token limit came before any word (in the
    middle of a thought), Empty where nothing was said. None for a reply that can be read."""
    if output.is_refusal:
        return FILTER_REFUSAL
    if output.text.strip():
        return None
    return Truncated() if output.stop_reason == "length" else Empty()


def model_text(output: Generated) -> str:
    """What the model itself said: nothing, where a filter spoke."""
    return "" if output.is_refusal else output.text
