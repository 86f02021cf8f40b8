"""Choose models of the catalog by their facts: `open,size<10,modality=video,name~qwen`.

Conditions are joined by commas and all must hold. A fact that is not known fulfils none.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from snellen.core.errors import UnknownName, UsageError
from snellen.models.naming.catalog import Entry, facts_of

Values = tuple[str | float, ...]

_SIGNS = ("<=", ">=", "!=", "!~", "<", ">", "=", "~")
_CONDITION = re.compile(rf"([a-z_]+)\s*({'|'.join(map(re.escape, _SIGNS))})\s*(.+)")
_ORDERS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Fact(NamedTuple):
    """Something a filter can ask about. A model may have several values of it, or none."""

    meaning: str
    values: Callable[[Entry], Values]
    number: bool = False


def _known(value: str | float | None) -> Values:
    return () if value in (None, "") else (value,)


FACTS: dict[str, Fact] = {
    "name": Fact("name, aliases and spec", lambda one: (one.spec, *one.names)),
    "provider": Fact("hf, openai, ...", lambda one: (one.provider,)),
    "family": Fact("file of the catalog, e.g. qwen", lambda one: (one.family,)),
    "modality": Fact("text, image, video or audio that it takes", lambda one: one.inputs),
    "gives": Fact("text or image that it gives", lambda one: one.outputs),
    "size": Fact("parameters in billions", lambda one: _known(one.parameters), number=True),
    "context": Fact("most tokens of a prompt", lambda one: _known(one.context), number=True),
    "price": Fact(
        "dollars per million tokens of prompt",
        lambda one: _known(one.price.input if one.price else None),
        number=True,
    ),
    "released": Fact("date, e.g. released>=2025", lambda one: _known(one.released)),
    "licence": Fact("licence", lambda one: _known(one.licence)),
    "language_model": Fact("language model inside", lambda one: _known(one.language_model)),
    "vision_encoder": Fact("vision encoder inside", lambda one: _known(one.vision_encoder)),
}
WORDS = ("open", "closed", "all")
"""Conditions that stand alone: whether the weights can be had, and every model."""


class Condition(NamedTuple):
    fact: str
    sign: str
    value: str

    def holds(self, entry: Entry) -> bool:
        fact = FACTS[self.fact]
        values = fact.values(entry)
        if not values:
            return False
        if fact.number:
            return all(_compares(float(one), self.sign, float(self.value)) for one in values)
        words = [str(one).lower() for one in values]
        wanted = self.value.lower()
        if self.sign in _ORDERS:
            return any(_ordered(word, self.sign, wanted) for word in words)
        found = any(wanted in word for word in words) if "~" in self.sign else wanted in words
        return found != self.sign.startswith("!")


def choose(entries: Iterable[Entry], text: str) -> list[Entry]:
    """The entries that fulfil a filter. Raises UsageError for a filter that is off."""
    tests = [_test(part.strip()) for part in text.split(",")]
    return [entry for entry in entries if all(test(entry) for test in tests)]


def fulfils(text: str) -> Callable[[str], bool]:
    """Whether a model of that name or spec fulfils a filter; one the catalog lacks does not.

    Raises UsageError for a filter that is off.
    """
    choose((), text)

    def fits(name: str) -> bool:
        entry = facts_of(name)
        return entry is not None and bool(choose([entry], text))

    return fits


def _test(part: str) -> Callable[[Entry], bool]:
    if part in WORDS:
        return lambda entry: part in (entry.access, "all")
    return _condition(part).holds


def _condition(part: str) -> Condition:
    match = _CONDITION.fullmatch(part)
    if match is None:
        raise UsageError(
            f"filter {part!r}: expected {' or '.join(WORDS)}, or a fact, one of "
            f"{' '.join(_SIGNS)}, and a value, e.g. size<10"
        )
    condition = Condition(*match.groups())
    if condition.fact not in FACTS:
        raise UnknownName("fact", condition.fact, FACTS, f"see the filter {part!r}.")
    number = FACTS[condition.fact].number
    if number and "~" in condition.sign:
        raise UsageError(f"filter {part!r}: {condition.fact} is a number; use <, <=, =, >= or >")
    if number and not re.fullmatch(r"\d+(\.\d+)?", condition.value):
        raise UsageError(
            f"filter {part!r}: {condition.value!r} is no number; {condition.fact} is "
            f"{FACTS[condition.fact].meaning}, e.g. {condition.fact}{condition.sign}10"
        )
    if condition.sign in _ORDERS and not number and condition.fact != "released":
        raise UsageError(
            f"filter {part!r}: {condition.fact} has no order; use =, !=, ~ (contains) or !~"
        )
    return condition


def _compares(one: float, sign: str, other: float) -> bool:
    if sign in _ORDERS:
        return _ORDERS[sign](one, other)
    return (one == other) == (sign == "=")


def _ordered(date: str, sign: str, wanted: str) -> bool:
    """Dates compare as far as the coarser of them goes: 2025-03-01 <= 2025 holds."""
    length = min(len(date), len(wanted))
    one, other = date[:length], wanted[:length]
    return {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[sign]
