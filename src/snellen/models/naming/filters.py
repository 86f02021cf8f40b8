"""Choose models of the catalog by their facts: `open,size<10,modality=video,name~qwen`.

Conditions are joined by commas and all must hold. A fact that is not known fulfils none.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from snellen.core.errors import UnknownName, UsageError
from snellen.models.naming.catalog import CatalogEntry, facts_of

FactValues = tuple[str | float, ...]

_SIGNS = ("<=", ">=", "!=", "!~", "<", ">", "=", "~")
_CONDITION = re.compile(rf"([a-z_]+)\s*({'|'.join(map(re.escape, _SIGNS))})\s*(.+)")
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class FilterField(NamedTuple):
    """Something a filter can ask about. A model may have several values of it, or none."""

    meaning: str
    values: Callable[[CatalogEntry], FactValues]
    number: bool = False


def _as_values(value: str | float | None) -> FactValues:
    return () if value in (None, "") else (value,)


FILTER_FIELDS: dict[str, FilterField] = {
    "name": FilterField("name, aliases and spec", lambda one: (one.spec, *one.names)),
    "provider": FilterField("hf, openai, ...", lambda one: (one.provider,)),
    "family": FilterField("file of the catalog, e.g. qwen", lambda one: (one.family,)),
    "modality": FilterField("text, image, video or audio that it takes", lambda one: one.inputs),
    "gives": FilterField("text or image that it gives", lambda one: one.outputs),
    "size": FilterField(
        "parameters in billions", lambda one: _as_values(one.parameters), number=True
    ),
    "context": FilterField(
        "most tokens of a prompt", lambda one: _as_values(one.context), number=True
    ),
    "price": FilterField(
        "dollars per million tokens of prompt",
        lambda one: _as_values(one.price.input if one.price else None),
        number=True,
    ),
    "released": FilterField("date, e.g. released>=2025", lambda one: _as_values(one.released)),
    "licence": FilterField("licence", lambda one: _as_values(one.licence)),
    "language_model": FilterField(
        "language model inside", lambda one: _as_values(one.language_model)
    ),
    "vision_encoder": FilterField(
        "vision encoder inside", lambda one: _as_values(one.vision_encoder)
    ),
}
KEYWORDS = ("open", "closed", "all")
"""Conditions that stand alone: whether the weights can be had, and every model."""


class FilterCondition(NamedTuple):
    fact: str
    sign: str
    value: str

    def holds(self, entry: CatalogEntry) -> bool:
        fact = FILTER_FIELDS[self.fact]
        values = fact.values(entry)
        if not values:
            return False
        if fact.number:
            return all(_compare_numbers(float(one), self.sign, float(self.value)) for one in values)
        words = [str(one).lower() for one in values]
        expected = self.value.lower()
        if self.sign in _ORDERS:
            return any(_compare_dates(word, self.sign, expected) for word in words)
        matches = any(expected in word for word in words) if "~" in self.sign else expected in words
        return matches != self.sign.startswith("!")


def choose(entries: Iterable[CatalogEntry], text: str) -> list[CatalogEntry]:
    """The entries that fulfil a filter. Raises UsageError for a filter that is off."""
    tests = [_test(part.strip()) for part in text.split(",")]
    return [entry for entry in entries if all(test(entry) for test in tests)]


def model_filter(text: str) -> Callable[[str], bool]:
    """Whether a model of that name or spec fulfils a filter; one the catalog lacks does not.

    Raises UsageError for a filter that is off.
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
            f"filter {part!r}: {condition.value!r} is no number; {condition.fact} is "
            f"{FILTER_FIELDS[condition.fact].meaning}, e.g. {condition.fact}{condition.sign}10"
        )
    if condition.sign in _ORDERS and not number and condition.fact != "released":
        raise UsageError(
            f"filter {part!r}: {condition.fact} has no order; use =, !=, ~ (contains) or !~"
        )
    return condition


def _compare_numbers(one: float, sign: str, other: float) -> bool:
    if sign in _ORDERS:
        return _ORDERS[sign](one, other)
    return (one == other) == (sign == "=")


def _compare_dates(date: str, sign: str, bound: str) -> bool:
    """Dates compare as far as the coarser of them goes: 2025-03-01 <= 2025 holds."""
    length = min(len(date), len(bound))
    one, other = date[:length], bound[:length]
    return {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[sign]
