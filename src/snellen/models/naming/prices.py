"""Prices of models: the user's own table first, then the catalog's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from snellen.core.errors import UsageError
from snellen.core.model import BatchTerms
from snellen.core.output import Price
from snellen.models.naming.catalog import facts_of, sources
from snellen.settings import Settings

PARTS = ("input", "output", "cached")
TYPED_SOURCE = "the option --price"


class _UserPrice(Struct, frozen=True, forbid_unknown_fields=True):
    """A price in the user's file, under the model's name."""

    input: float
    output: float
    cached: float | None = None
    date: str = ""
    source: str = ""


def price_of(spec: str, settings: Settings | None = None) -> Price | None:
    """Price of a model's tokens; None if unknown.

    The file of `SNELLEN_PRICES` overrides the catalog; it may use any name or spec of the model.
    Raises UsageError if that file cannot be used.
    """
    entry = facts_of(spec)
    user = user_prices((settings or Settings.from_environment()).prices)
    names = [spec] if entry is None else [spec, entry.spec, *entry.names]
    for name in names:
        if (price := user.get(name.lower())) is not None:
            return price
    if entry is None or entry.price is None:
        return None
    listed, fact_source = entry.price, sources()[entry.sources["price"]]
    source = listed.page or fact_source.url
    return Price(
        input=listed.input,
        output=listed.output,
        cached=listed.cached,
        date=fact_source.read,
        source=f"{source} ({listed.note})" if listed.note else source,
    )


def price_in_batches(price: Price, terms: BatchTerms) -> Price:
    """The price of tokens that are asked in batches, by the listed price."""
    if terms.price == 1 == terms.cached_price:
        return price
    cached = price.input if price.cached is None else price.cached
    return structs.replace(
        price,
        input=price.input * terms.price,
        output=price.output * terms.price,
        cached=min(cached * terms.cached_price, price.input * terms.price),
        source=f"{price.source}, of which batches cost {terms.price:.0%} ({terms.source})",
    )


def user_prices(path: Path | None) -> Mapping[str, Price]:
    """Read the user's prices, by lower-case name. Raises UsageError."""
    if path is None:
        return {}
    try:
        tables = msgspec.toml.decode(path.read_bytes(), type=dict[str, _UserPrice])
    except OSError as error:
        raise UsageError(f"the prices in {path} (SNELLEN_PRICES) cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise UsageError(
            f"the prices in {path} (SNELLEN_PRICES) are off: {error}; expected tables such as "
            '["openai/gpt-4o"] with input and output in dollars per million tokens'
        ) from error
    return {name.lower(): _check_price(_to_price(table, str(path)), name) for name, table in tables.items()}


def parse_price(text: str) -> Price:
    """Parse `input=2.5,output=10,cached=1.25`, dollars per million tokens. Raises UsageError."""
    parts: dict[str, float] = {}
    for part in text.split(","):
        key, _, value = (word.strip() for word in part.partition("="))
        try:
            parts[key] = float(value)
        except ValueError:
            key = ""
        if key not in PARTS:
            raise _malformed_price(text)
    if not {"input", "output"} <= parts.keys():
        raise _malformed_price(text)
    price = Price(parts["input"], parts["output"], parts.get("cached"), source=TYPED_SOURCE)
    return _check_price(price, text)


def _malformed_price(text: str) -> UsageError:
    return UsageError(
        f"price {text!r}: expected input=2.5,output=10 in dollars per million tokens, and "
        "cached=1.25 where cached tokens cost less"
    )


def _to_price(own: _UserPrice, path: str) -> Price:
    return Price(own.input, own.output, own.cached, date=own.date, source=own.source or path)


def _check_price(price: Price, name: str) -> Price:
    for part in PARTS:
        value = getattr(price, part)
        if value is not None and not 0 <= value < float("inf"):
            raise UsageError(f"price {name!r}: {part} is {value}; expected 0 or more dollars")
    return price
