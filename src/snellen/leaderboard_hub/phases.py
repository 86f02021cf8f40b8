"""Phases of a competition: when a benchmark takes submissions, how many, and when it is final."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace
from sqlalchemy.orm import Session

from snellen.core.errors import UsageError
from snellen.leaderboard_hub.accounts.access import now
from snellen.leaderboard_hub.boards.changes import note_dates
from snellen.leaderboard_hub.boards.published import iso_time
from snellen.leaderboard_hub.database.tables import HostedBenchmark
from snellen.leaderboard_hub.moment_text import in_utc, parse_moment
from snellen.leaderboard_hub.reveals import set_dates

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


class NoOpenPhase(UsageError):
    """The benchmark takes no submissions at this time."""


def read_phases(row: HostedBenchmark) -> list[Phase]:
    """The phases of a benchmark, the earliest first."""
    return msgspec.convert(row.phases, list[Phase])


def find_open_phase(row: HostedBenchmark) -> Phase | None:
    """The phase that is open; None for a benchmark without phases, which is always open. Raises
    NoOpenPhase."""
    moment, phases = now(), read_phases(row)
    if not phases:
        return None
    for phase in phases:
        if phase.opens <= moment < phase.closes:
            return phase
    later = [f"{phase.name} opens at {iso_time(phase.opens)}" for phase in phases
             if phase.opens > moment]  # fmt: skip
    raise NoOpenPhase(
        f"{row.name} takes no submissions now: {later[0] if later else 'its last phase is over'}"
    )


def set_phases(session: Session, row: HostedBenchmark, phases: Sequence[Phase]) -> None:
    """Give a benchmark other phases: the ends of the final ones are the dates of its reveals.
    Raises UsageError for times that overlap or are past, and more final phases than there are
    private parts."""
    phases = sorted(
        (replace(each, opens=in_utc(each.opens), closes=in_utc(each.closes)) for each in phases),
        key=lambda phase: phase.opens,
    )
    if len(phases) > MOST_PHASES:
        raise UsageError(f"got {len(phases)} phases; expected at most {MOST_PHASES}")
    for phase in phases:
        if phase.closes <= phase.opens:
            raise UsageError(f"{phase.name} closes at {iso_time(phase.closes)}, before it opens")
    for phase, other in pairwise(phases):
        if other.opens < phase.closes:
            raise UsageError(
                f"{other.name} opens at {iso_time(other.opens)}, while {phase.name} is open"
            )
    if len({phase.name for phase in phases}) < len(phases):
        raise UsageError("two phases have the same name")
    over = {phase.closes for phase in read_phases(row) if phase.final and phase.closes <= now()}
    finals = [phase.closes for phase in phases if phase.final and phase.closes not in over]
    row.phases = msgspec.to_builtins(phases)
    note_dates(session, row, "phases")
    if row.is_hidden or finals:
        set_dates(session, row, finals)


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
    typed = {"name": name, "opens": opens, "closes": closes,
             "submissions": int(parts[2]) if parts[2:] else None, "final": final}  # fmt: skip
    return convert_phases([typed])[0]


def describe_phase(phase: Phase) -> str:
    """A phase on one line."""
    most = "" if phase.submissions is None else f", {phase.submissions:,} submissions of a team"
    final = ", then final scores" if phase.final else ""
    return f"{phase.name}: {iso_time(phase.opens)} to {iso_time(phase.closes)}{most}{final}"
