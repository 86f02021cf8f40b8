"""Conditions by which runs are chosen: `model=qwen* score<50 day>=2026-11-01 state=killed`.

A condition is a name, one of `= != < <= > >=`, and a value; all of them hold of a run that is chosen. Values of
texts are patterns with `*` and `?`, without regard to case, and `|` between alternatives; numbers may have a unit
(`bytes>2GB`, `tokens>=1.5M`). A value with blanks stands in quotes; a comma before a name separates conditions as a
blank does. There is no `or` and no code.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from datetime import date
from fnmatch import fnmatchcase
from typing import NamedTuple

from snellen.core.errors import UnknownName, UsageError

TEXTS = ("model", "benchmark", "version", "state", "status", "setting", "metric", "day", "currency", "run", "folder")
NUMBERS = ("score", "low", "high", "n", "samples", "done", "cost", "tokens", "hours", "bytes")
ENDED, KILLED, RUNNING, DAMAGED, GONE = STATES = ("ended", "killed", "running", "damaged", "gone")
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "%": 1.0}
_NONE = "none"
_SEPARATOR = re.compile(rf",\s*(?=(?:{'|'.join((*TEXTS, *NUMBERS))})\s*[=!<>])")
_CONDITION = re.compile(r"(\w+)\s*(!=|<=|>=|=|<|>)(.*)", re.DOTALL)
_NUMBER = re.compile(r"([-+]?[\d_,]*\.?\d+(?:[eE][-+]?\d+)?)\s*([KMGT%]?)B?", re.IGNORECASE)

Facts = Mapping[str, "str | float | None"]
_ORDERS: Mapping[str, Callable[[float | str, float | str], bool]] = {
    "<": lambda value, bound: value < bound,  # type: ignore[operator]
    "<=": lambda value, bound: value <= bound,  # type: ignore[operator]
    ">": lambda value, bound: value > bound,  # type: ignore[operator]
    ">=": lambda value, bound: value >= bound,  # type: ignore[operator]
}


class Condition(NamedTuple):
    """A condition on one fact of a run."""

    name: str
    operator: str
    value: str
    number: float | None
    """The value of a fact that is a number; None for one that is missing."""

    def holds(self, facts: Facts) -> bool:
        """Whether a run fulfils it. A number that a run does not have is only equal to `none`."""
        fact = facts[self.name]
        if self.operator in ("=", "!="):
            return self._equals(fact) == (self.operator == "=")
        if fact is None or fact == "":
            return False
        bound = self.value if self.number is None else self.number
        return _ORDERS[self.operator](fact, bound)

    def _equals(self, fact: str | float | None) -> bool:
        if self.name in NUMBERS:
            return fact == self.number
        patterns = self.value.lower().split("|")
        return any(fnmatchcase(str(fact or "").lower(), pattern) for pattern in patterns)


def parse_conditions(text: str) -> Callable[[Facts], bool]:
    """Read conditions. Raises UsageError that says what is wrong."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--where {text!r}: {error}; expected e.g. 'model=\"my model\" score<50'") from None
    parts = (part for word in words for part in _SEPARATOR.split(word.removesuffix(",")))
    conditions = [_parse_condition(part) for part in parts if part]
    if not conditions:
        raise UsageError("--where is empty; expected conditions such as 'model=qwen* state=killed'")
    return lambda facts: all(condition.holds(facts) for condition in conditions)


def _parse_condition(word: str) -> Condition:
    found = _CONDITION.fullmatch(word)
    if found is None:
        raise UsageError(
            f"--where: {word!r} is no condition; expected NAME=VALUE without blanks, or another of != < <= > >="
        )
    name, operator, value = found[1], found[2], found[3].strip()
    if name not in (*TEXTS, *NUMBERS):
        raise UnknownName("fact of runs", name, (*TEXTS, *NUMBERS), f"known: {', '.join((*TEXTS, *NUMBERS))}")
    if name not in NUMBERS:
        if operator not in ("=", "!=") and name != "day":
            raise UsageError(f"--where: {word!r}: {name} is a text, which has = and != alone")
        _check_text(word, name, operator, value)
        return Condition(name, operator, value, None)
    if value.lower() == _NONE and operator in ("=", "!="):
        return Condition(name, operator, value, None)
    return Condition(name, operator, value, _parse_number(word, value))


def _check_text(word: str, name: str, operator: str, value: str) -> None:
    """Raises UsageError for a state that no run can have and for what is no day: `!=` and `<` would hold of every
    run, and `--delete` would take them all."""
    patterns = value.lower().split("|")
    if name == "state" and (unknown := [one for one in patterns if not any(fnmatchcase(s, one) for s in STATES)]):
        raise UnknownName("state of runs", unknown[0], STATES, f"known: {', '.join(STATES)}")
    if name == "day":
        is_equality = operator in ("=", "!=")
        days = [one for one in patterns if not set("*?[") & set(one)] if is_equality else [value]
        if not all(map(_is_day, days)):
            pattern = ", or a pattern such as 2026-11-*" if is_equality else ""
            raise UsageError(f"--where: {word!r}: expected a day such as 2026-11-01{pattern}")


def _is_day(text: str) -> bool:
    """Whether it is a date as runs have it, YYYY-MM-DD, which is compared as a text."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _parse_number(word: str, value: str) -> float:
    found = _NUMBER.fullmatch(value)
    if found is None:
        raise UsageError(f"--where: {word!r}: {value!r} is no number; expected e.g. 50, 1.5M, 2GB, or none with =")
    return float(found[1].replace(",", "").replace("_", "")) * _UNITS[found[2].upper()]
