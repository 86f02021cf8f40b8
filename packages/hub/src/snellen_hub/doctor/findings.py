"""Results of checks."""

from __future__ import annotations

from typing import Literal, NamedTuple

Level = Literal["ok", "warning", "problem"]


class HubFinding(NamedTuple):
    """The result of one check."""

    level: Level
    what: str
    detail: str
    """What is so, and for a warning or a problem how to fix it."""


def fine(what: str, detail: str) -> HubFinding:
    return HubFinding("ok", what, detail)


def warning(what: str, detail: str) -> HubFinding:
    return HubFinding("warning", what, detail)


def problem(what: str, detail: str) -> HubFinding:
    return HubFinding("problem", what, detail)


def first_case(what: str, *cases: tuple[object, Level, str]) -> HubFinding:
    """The result of a check by the first of its cases that holds: condition, level, detail."""
    return next(HubFinding(level, what, detail) for holds, level, detail in cases if holds)


def list_some(names: list[str], most: int = 3) -> str:
    """The first names, and how many there are beyond."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
