"""Replies that hold no answer by the model: refused by a filter, cut off or empty; and those in which a
published rule finds none."""

from __future__ import annotations

from collections.abc import Mapping

from snellen.core.output import Answer, Empty, Generated, ParsedAnswer, Refused, Truncated, Unparsed

FILTER_REFUSAL = Refused("stop reason")
"""A reply that a provider's content filter wrote, cut off or withheld."""


def non_answer(output: Generated) -> Refused | Truncated | Empty | None:
    """The kind of a reply without text by the model, or None for a reply that can be parsed.

    Refused if a content filter replied, Truncated if the token limit came before any text (in the
    middle of thinking), Empty if there is no text.
    """
    if output.is_refusal:
        return FILTER_REFUSAL
    if output.text.strip():
        return None
    return Truncated() if output.stop_reason == "length" else Empty()


def unparsed_answer(text: str, stop_reason: str) -> Truncated | Unparsed | Empty:
    """The kind of a reply that a published rule cannot parse; its script counts all as wrong."""
    if stop_reason == "length":
        return Truncated()
    return Unparsed() if text.strip() else Empty()


def label_answer(label: str | None, rule: str, reply: str, options: Mapping[str, str], stop_reason: str) -> Answer:
    """The label that a published rule finds, if it is one of the options, where there are any."""
    if label and (not options or label in options):
        return ParsedAnswer(label, rule)
    return unparsed_answer(reply, stop_reason)


def model_text(output: Generated) -> str:
    """The text that the model itself wrote; empty if a content filter replied."""
    return "" if output.is_refusal else output.text
