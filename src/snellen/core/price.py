"""Prices of tokens."""

from __future__ import annotations

from msgspec import Struct

from snellen.core.output import Usage

_TOKENS_PER_PRICE = 1_000_000


class Price(Struct, frozen=True, omit_defaults=True):
    """A provider's price list for one model, per million tokens."""

    input: float
    output: float
    cached: float | None = None
    """For tokens of the prompt that the server had cached; None if they cost the same."""
    currency: str = "USD"
    date: str = ""
    """When the list was read, ISO 8601."""
    source: str = ""
    """Where the price was found: a URL, or who provided it."""


def cost(usage: Usage, price: Price) -> float:
    """Cost of a reply, in the price's currency."""
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    uncached_cost = (usage.prompt_tokens - cached) * price.input
    cached_cost = cached * (price.input if price.cached is None else price.cached)
    return (uncached_cost + cached_cost + usage.completion_tokens * price.output) / _TOKENS_PER_PRICE
