"""Boards as they stood at a moment, from the changes that were noted.

Scores are kept for each version of a benchmark, so that who was visible and which version held is
all that has to be found.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen.core.errors import UsageError
from snellen_hub.database.tables import BoardChange, HostedBenchmark

_VISIBLE = {"published": True, "imported": True, "scored": True, "withdrawn": False}
"""Whether a submission is on the board after a change of each kind."""
_LARGEST = 2**31
"""Above the numbers that a database can hold."""


class BoardMoment(NamedTuple):
    """A moment in the history of the hub's boards."""

    text: str
    """As it was asked for."""
    at: datetime
    change: int
    """The latest change that is included."""
    versions: dict[int, int]
    """The version that each benchmark had, by its id, if it has changed since."""


def find_moment(session: Session, text: str) -> BoardMoment:
    """The moment that `as-of` names: a date (its end), a time in UTC, or `@` and a change.

    Raises UsageError for a date that does not exist, or a change that was never made.
    """
    if text.startswith("@"):
        number = int(text[1:])
        row = session.get(BoardChange, number) if number < _LARGEST else None
        if row is None:
            raise UsageError(f"as-of={text}: this hub has no change of that number")
        return BoardMoment(text, row.at, row.id, _versions(session, row.id))
    at = _end_of(text)
    change = session.scalar(select(BoardChange.id).where(BoardChange.at <= at).order_by(BoardChange.id.desc()).limit(1))
    return BoardMoment(text, at, change or 0, _versions(session, change or 0))


def _end_of(text: str) -> datetime:
    """The end of a year, month, day, minute or second in UTC."""
    try:
        if "T" in text:
            return datetime.fromisoformat(text.replace("Z", "+00:00"))
        year, month, day = (*(int(part) for part in text.split("-")), 0, 0)[:3]
        if day:
            last = date(year, month, day)
        elif month:
            last = date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)
        else:
            last = date(year, 12, 31)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"as-of={text[:40]}: there is no such date") from error
    return datetime(last.year, last.month, last.day, 23, 59, 59, 999_999, UTC)


def _versions(session: Session, change: int) -> dict[int, int]:
    """The versions that held before the first later change of data, by benchmark."""
    query = (
        select(BoardChange)
        .where(BoardChange.kind == "data-replaced", BoardChange.id > change)
        .order_by(BoardChange.id.desc())
    )
    return {
        row.benchmark_id: int(row.before["version"])
        for row in session.scalars(query)
        if row.benchmark_id is not None and "version" in row.before
    }


def version_at(benchmark: HostedBenchmark, moment: BoardMoment | None) -> int:
    """The version of a benchmark, now or at a moment."""
    versions = {} if moment is None else moment.versions
    return versions.get(benchmark.id, benchmark.version)


def visible_submissions(session: Session, benchmark: HostedBenchmark, moment: BoardMoment) -> Sequence[int]:
    """Ids of the submissions that were on the board of a benchmark."""
    query = select(BoardChange.submission_id, BoardChange.kind).where(
        BoardChange.benchmark_id == benchmark.id,
        BoardChange.submission_id.is_not(None),
        BoardChange.id <= moment.change,
    )
    latest = {row[0]: row[1] for row in session.execute(query.order_by(BoardChange.id))}
    return [row for row, kind in latest.items() if row is not None and _VISIBLE.get(kind)]
