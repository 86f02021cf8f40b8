"""Boards as they stood at a moment, from the changes that were noted.

Scores are kept for each version of a benchmark, so that who was visible and which version held is
all that has to be found. Submissions that were published before changes were noted count from the
time of their publication.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from snellen.core.errors import UsageError
from snellen.leaderboard_hub.database.tables import BoardChange, HostedBenchmark, Submission

_VISIBLE = {"published": True, "imported": True, "scored": True, "withdrawn": False}
"""Whether a submission is on the board after a change of each kind."""
_LARGEST = 2**31
"""Above the numbers that a database can hold."""
_ARRIVALS = ("published", "imported")


class BoardMoment(NamedTuple):
    """A moment in the history of the hub's boards."""

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
        return BoardMoment(row.at, row.id, _versions(session, row.id))
    at = _end_of(text)
    change = session.scalar(
        select(BoardChange.id).where(BoardChange.at <= at).order_by(BoardChange.id.desc()).limit(1)
    )
    return BoardMoment(at, change or 0, _versions(session, change or 0))


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


def visible_submissions(
    session: Session, benchmark: HostedBenchmark, moment: BoardMoment
) -> Sequence[int]:
    """Ids of the submissions that were on the board of a benchmark."""
    query = (
        select(BoardChange)
        .where(BoardChange.benchmark_id == benchmark.id, BoardChange.submission_id.is_not(None))
        .order_by(BoardChange.id)
    )
    changes = session.scalars(query).all()
    visible = {
        change.submission_id: _VISIBLE.get(change.kind, False)
        for change in changes
        if change.id <= moment.change
    }
    # A submission whose first noted change is not its publication was there before.
    first: dict[int | None, str] = {}
    for change in changes:
        first.setdefault(change.submission_id, change.kind)
    early = select(Submission.id).where(
        Submission.benchmark_id == benchmark.id,
        Submission.published <= moment.at,
        or_(Submission.visibility == "published", Submission.id.in_(first)),
    )
    unnoted = {
        submission
        for submission in session.scalars(early)
        if submission not in visible and first.get(submission) not in _ARRIVALS
    }
    return sorted({one for one, is_visible in visible.items() if is_visible and one} | unnoted)
