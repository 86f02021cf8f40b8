"""Which workers live: each says so in the database every half minute."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from snellen import __version__
from snellen_hub.database.tables import WorkerHeartbeat
from snellen_hub.moment_text import now

BEAT = timedelta(seconds=30)
ALIVE = timedelta(seconds=100)
"""A worker that was not seen for this long is taken for dead: it has missed three beats."""
_FORGOTTEN = timedelta(days=1)


def note_worker(session: Session, name: str, started: datetime, jobs: int, job: int | None) -> None:
    """Say that a worker lives, and forget those that died long ago."""
    row = session.get(WorkerHeartbeat, name)
    if row is None:
        row = WorkerHeartbeat(name=name, started=started)
        session.add(row)
    row.version, row.seen, row.jobs, row.job_id = __version__, now(), jobs, job
    session.execute(delete(WorkerHeartbeat).where(WorkerHeartbeat.seen < now() - _FORGOTTEN))


def forget_worker(session: Session, name: str) -> None:
    """Say that a worker has stopped."""
    session.execute(delete(WorkerHeartbeat).where(WorkerHeartbeat.name == name))


def read_workers(session: Session) -> list[WorkerHeartbeat]:
    """The workers that live, and those that died within a day, in the order of their names."""
    return list(session.scalars(select(WorkerHeartbeat).order_by(WorkerHeartbeat.name)))


def is_alive(worker: WorkerHeartbeat) -> bool:
    return now() - worker.seen < ALIVE
