"""A phase of a competition, as people and programs write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from snellen.core.errors import UsageError
from snellen_hub.moment_text import iso_time, parse_moment

MOST_PHASES = 20


class Phase(Struct, frozen=True, forbid_unknown_fields=True):
    """A time in which a benchmark takes submissions."""

    name: Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[^,]*$")]
    opens: datetime
    closes: datetime
    """In UTC; the first moment at which it is closed."""
    submissions: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    """Of a team, or an account without one, in the whole phase; None: as many as a day allows."""
    final: bool = False
    """Whether a private part is revealed when it closes."""


def convert_phases(values: Sequence[Mapping[str, Any]]) -> list[Phase]:
    """Phases as JSON or a form holds them. Raises UsageError."""
    try:
        return msgspec.convert(values, list[Phase])
    except msgspec.ValidationError as error:
        raise UsageError(f"the phases cannot be read: {error}") from error


def parse_phase(text: str) -> Phase:
    """Read `NAME,OPENS,CLOSES[,SUBMISSIONS][,final]`. Raises UsageError."""
    name, *parts = map(str.strip, text.split(","))
    final = len(parts) > 2 and parts[-1] == "final"
    parts = parts[:-1] if final else parts
    if not name or not 2 <= len(parts) <= 3 or not all(map(str.isdecimal, parts[2:])):
        raise UsageError(
            f"{text!r} is no phase; expected NAME,OPENS,CLOSES[,SUBMISSIONS][,final], such as "
            "Public,2027-03-01,2027-05-01,50"
        )
    opens, closes = map(parse_moment, parts[:2])
    typed = {
        "name": name,
        "opens": opens,
        "closes": closes,
        "submissions": int(parts[2]) if parts[2:] else None,
        "final": final,
    }
    return convert_phases([typed])[0]


def describe_phase(phase: Phase) -> str:
    """A phase on one line."""
    most = "" if phase.submissions is None else f", {phase.submissions:,} submissions of a team"
    final = ", then final scores" if phase.final else ""
    return f"{phase.name}: {iso_time(phase.opens)} to {iso_time(phase.closes)}{most}{final}"
