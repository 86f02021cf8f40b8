"""Phases of a competition: when a benchmark takes submissions, how many, and when it is final."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec
from msgspec.structs import replace
from sqlalchemy.orm import Session

from snellen.core.errors import UsageError
from snellen_hub.boards.changes import note_dates
from snellen_hub.database.tables import HostedBenchmark
from snellen_hub.errors import NotAllowed
from snellen_hub.moment_text import in_utc, iso_time, now
from snellen_hub.phase_text import MOST_PHASES, Phase
from snellen_hub.reveals import set_dates


class NoOpenPhase(NotAllowed):
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
    later = [f"{phase.name} opens at {iso_time(phase.opens)}" for phase in phases if phase.opens > moment]
    raise NoOpenPhase(f"{row.name} takes no submissions now: {later[0] if later else 'its last phase is over'}")


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
            raise UsageError(f"{other.name} opens at {iso_time(other.opens)}, while {phase.name} is open")
    if len({phase.name for phase in phases}) < len(phases):
        raise UsageError("two phases have the same name")
    over = {phase.closes for phase in read_phases(row) if phase.final and phase.closes <= now()}
    finals = [phase.closes for phase in phases if phase.final and phase.closes not in over]
    row.phases = msgspec.to_builtins(phases)
    note_dates(session, row, "phases")
    if row.is_hidden or finals:
        set_dates(session, row, finals)
