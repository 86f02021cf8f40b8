"""Who takes part in a benchmark: teams, and accounts without one, with what they sent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen_hub.database.tables import Account, FinalScore, HostedBenchmark, Submission, Team
from snellen_hub.phases import read_phases
from snellen_hub.teams import read_founders


class BoardEntry(NamedTuple):
    """A team, or an account without one, that submitted to a benchmark."""

    name: str
    members: Sequence[str]
    counts: Sequence[int]
    """Its submissions in each phase; without phases, in all."""
    chosen: str
    """Public id of what it chose for the next reveal; empty: nothing yet."""


def read_entries(session: Session, benchmark: HostedBenchmark) -> list[BoardEntry]:
    """Every team, and every account without one that submitted to a benchmark, by name."""
    founders = read_founders(session, benchmark.id)
    teams = session.scalars(select(Team).where(Team.benchmark_id == benchmark.id))
    found: dict[int, tuple[str, list[str], list[datetime]]] = {
        team.founder_id: (team.name, [each.account.name for each in team.members], []) for team in teams
    }
    sent = select(Submission.account_id, Account.name, Submission.created).where(
        Submission.benchmark_id == benchmark.id, Submission.kind == "submitted"
    )
    for account, name, created in session.execute(sent.join(Submission.account)):
        _, _, times = found.setdefault(founders.get(account, account), (name, [name], []))
        times.append(created)
    finals = select(FinalScore.account_id, Submission.public_id).join(FinalScore.submission)
    chosen = {
        row[0]: row[1]
        for row in session.execute(
            finals.where(FinalScore.benchmark_id == benchmark.id, FinalScore.part == benchmark.revealed + 1)
        )
    }
    phases = read_phases(benchmark)
    entries = []
    for entry, (name, members, times) in found.items():
        counts = [sum(phase.opens <= at < phase.closes for at in times) for phase in phases]
        counts = counts if phases else [len(times)]
        entries.append(BoardEntry(name, members, counts, chosen.get(entry, "")))
    return sorted(entries, key=lambda each: each.name.lower())
