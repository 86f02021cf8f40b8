"""Choose models of the catalog by their facts: `open,size<10,modality=video,name~qwen`.

Conditions are separated by commas, and all must hold. An unknown fact fulfils none.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from snellen.core.errors import UnknownName, UsageError
from snellen.models.naming.catalog import CatalogEntry, facts_of
from snellen.models.naming.routes import routes_of

FactValues = tuple[str | float, ...]

_SIGNS = ("<=", ">=", "!=", "!~", "<", ">", "=", "~")
_CONDITION = re.compile(rf"([a-z_]+)\s*({'|'.join(map(re.escape, _SIGNS))})\s*(.+)")
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class FilterField(NamedTuple):
    """A fact that a filter can test. A model may have multiple values of it, or none."""

    meaning: str
    values: Callable[[CatalogEntry], FactValues]
    number: bool = False


def _as_values(value: str | float | None) -> FactValues:
    return () if value in (None, "") else (value,)


FILTER_FIELDS: dict[str, FilterField] = {
    "name": FilterField("name, aliases and spec", lambda entry: (entry.spec, *entry.names)),
    "provider": FilterField("hf, openai, ...", lambda entry: (entry.provider,)),
    "family": FilterField("file of the catalog, e.g. qwen", lambda entry: (entry.family,)),
    "modality": FilterField("text, image, video or audio that it takes", lambda entry: entry.inputs),
    "gives": FilterField("text or image that it gives", lambda entry: entry.outputs),
    "size": FilterField("parameters in billions", lambda entry: _as_values(entry.parameters), number=True),
    "context": FilterField("most tokens of a prompt", lambda entry: _as_values(entry.context), number=True),
    "price": FilterField(
        "dollars per million tokens of prompt",
        lambda entry: _as_values(entry.price.input if entry.price else None),
        number=True,
    ),
    "released": FilterField("date, e.g. released>=2025", lambda entry: _as_values(entry.released)),
    "licence": FilterField("licence", lambda entry: _as_values(entry.licence)),
    "route": FilterField(
        "its best route: transformers, twin, code, server, environment, api, pipeline or none",
        lambda entry: (routes_of(entry)[0].kind,),
    ),
    "server": FilterField(
        "vllm, sglang or lmdeploy, which load it",
        lambda entry: tuple(route.target for route in routes_of(entry) if route.kind == "server"),
    ),
    "language_model": FilterField("language model inside", lambda entry: _as_values(entry.language_model)),
    "vision_encoder": FilterField("vision encoder inside", lambda entry: _as_values(entry.vision_encoder)),
}
KEYWORDS = ("open", "closed", "all")
"""Conditions without a value: whether the weights are available, and every model."""


class FilterCondition(NamedTuple):
    """A comparison of a fact with a value."""

    fact: str
    sign: str
    value: str

    def holds(self, entry: CatalogEntry) -> bool:
        """Whether a model fulfils it."""
        fact = FILTER_FIELDS[self.fact]
        values = fact.values(entry)
        if not values:
            return False
        if fact.number:
            return all(_compare_numbers(float(value), self.sign, float(self.value)) for value in values)
        words = [str(value).lower() for value in values]
        expected = self.value.lower()
        if self.sign in _ORDERS:
            return any(_compare_dates(word, self.sign, expected) for word in words)
        matches = any(expected in word for word in words) if "~" in self.sign else expected in words
        return matches != self.sign.startswith("!")


def choose(entries: Iterable[CatalogEntry], text: str) -> list[CatalogEntry]:
    """Select the entries that fulfil a filter. Raises UsageError for a malformed filter."""
    tests = [_test(part.strip()) for part in text.split(",")]
    return [entry for entry in entries if all(test(entry) for test in tests)]


def model_filter(text: str) -> Callable[[str], bool]:
    """A test whether a model, by name or spec, fulfils a filter; unknown models do not.

    Raises UsageError for a malformed filter.
    """
    choose((), text)

    def matches(name: str) -> bool:
        entry = facts_of(name)
        return entry is not None and bool(choose([entry], text))

    return matches


def _test(part: str) -> Callable[[CatalogEntry], bool]:
    if part in KEYWORDS:
        return lambda entry: part in (entry.access, "all")
    return _condition(part).holds


def _condition(part: str) -> FilterCondition:
    """Parse a condition such as `size<10`. Raises UsageError."""
    match = _CONDITION.fullmatch(part)
    if match is None:
        raise UsageError(
            f"filter {part!r}: expected {' or '.join(KEYWORDS)}, or a fact, one of "
            f"{' '.join(_SIGNS)}, and a value, e.g. size<10"
        )
    condition = FilterCondition(*match.groups())
    if condition.fact not in FILTER_FIELDS:
        raise UnknownName("fact", condition.fact, FILTER_FIELDS, f"see the filter {part!r}.")
    number = FILTER_FIELDS[condition.fact].number
    if number and "~" in condition.sign:
        raise UsageError(f"filter {part!r}: {condition.fact} is a number; use <, <=, =, >= or >")
    if number and not re.fullmatch(r"\d+(\.\d+)?", condition.value):
        raise UsageError(
            f"filter {part!r}: {condition.value!r} is not a number; {condition.fact} is "
            f"{FILTER_FIELDS[condition.fact].meaning}, e.g. {condition.fact}{condition.sign}10"
        )
    if condition.sign in _ORDERS and not number and condition.fact != "released":
        raise UsageError(f"filter {part!r}: {condition.fact} has no order; use =, !=, ~ (contains) or !~")
    return condition


def _compare_numbers(value: float, sign: str, bound: float) -> bool:
    if sign in _ORDERS:
        return _ORDERS[sign](value, bound)
    return (value == bound) == (sign == "=")


def _compare_dates(date: str, sign: str, bound: str) -> bool:
    """Compare dates to the precision of the coarser one: 2025-03-01 <= 2025 holds."""
    length = min(len(date), len(bound))
    first, second = date[:length], bound[:length]
    return {"<": first < second, "<=": first <= second, ">": first > second, ">=": first >= second}[sign]
