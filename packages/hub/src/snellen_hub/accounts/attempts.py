"""Events that are limited per time: failed sign-ins, new accounts, unknown tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from snellen_hub.database.tables import Attempt

MAX_FAILURES = 10
"""Failed sign-ins to an account from one address after which further ones are refused."""
MAX_FAILURES_OF_ADDRESS = 50
"""The same from an address to any account: there may be many people behind it."""
FAILURE_WINDOW = timedelta(minutes=15)
MAX_FAILURES_OF_ACCOUNT = 100
"""The same to an account from all addresses at which it is not signed in, in a day."""


class AttemptLimit(NamedTuple):
    """How often an event may happen within a time."""

    key: str
    most: int
    window: timedelta = FAILURE_WINDOW


def count_attempt(session: Session, *limits: AttemptLimit) -> Sequence[int] | None:
    """Count an event under each of its limits; returns the ids of the entries, or None if one of
    the limits was reached before. Events at the same time count each other."""
    if session.get_bind().dialect.name == "postgresql":
        # SQLite has one writer at a time. In one order, so that two requests never wait for each
        # other.
        for key in sorted(limit.key for limit in limits):
            session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(key, 0))))
    if any(is_reached(session, limit) for limit in limits):
        return None
    now = datetime.now(UTC)
    entries = [Attempt(key=limit.key[:200], at=now) for limit in limits]
    session.add_all(entries)
    session.flush()
    return [entry.id for entry in entries]


def is_reached(session: Session, limit: AttemptLimit) -> bool:
    """Whether an event has happened as often as it may."""
    query = select(func.count()).where(Attempt.key == limit.key[:200], Attempt.at > datetime.now(UTC) - limit.window)
    return (session.scalar(query) or 0) >= limit.most
