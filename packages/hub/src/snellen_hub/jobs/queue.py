"""The queue of jobs, in the database: any number of workers on any number of machines.

A worker takes a job with a lease, which it renews while it works. If it dies, the lease ends and
another worker takes the job. The result is written in one transaction together with the end of the
job, and only by the holder of the lease, so that each job is done exactly once.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from secrets import token_hex
from typing import NamedTuple

from sqlalchemy import ColumnElement, or_, select, update
from sqlalchemy.orm import Session

from snellen_hub.database.connection import Database
from snellen_hub.database.tables import ScoringJob
from snellen_hub.moment_text import now

LEASE = timedelta(seconds=60)
MAX_ATTEMPTS = 3
"""Attempts after which a job that fails does so for good."""
_MAX_LEASES = 20
"""Leases after which a job fails whose workers died: it may have ended them."""
_PAUSE = timedelta(minutes=10)
"""How long a job waits whose workers died `MAX_ATTEMPTS` times. Machines that are switched off end
workers too; a job that does so itself must not end them all."""
_WORKERS_DIED = f"its worker died {_MAX_LEASES} times while it scored; tell the owner of the hub"


class LeaseLost(Exception):
    """The lease ended before the job did, and another worker may have it."""


class LeasedJob(NamedTuple):
    """A job that this worker has."""

    id: int
    submission_id: int
    version: int
    lease: str
    attempt: int


def add_job(session: Session, submission_id: int, version: int) -> None:
    """Queue the scoring of a submission on a version of its benchmark, unless it is queued."""
    existing = select(ScoringJob.id).where(ScoringJob.submission_id == submission_id, ScoringJob.version == version)
    if session.scalar(existing) is None:
        session.add(ScoringJob(submission_id=submission_id, version=version))


def take_job(database: Database, worker: str, lease: timedelta = LEASE) -> LeasedJob | None:
    """Take the oldest job that waits, or whose worker has died; None if there is none.

    A job whose workers died `MAX_ATTEMPTS` times waits longer, and after `_MAX_LEASES` fails with
    its submission.
    """
    # On SQLite a transaction that may write keeps all others from writing; an empty queue is only
    # read.
    with database.reading() as session:
        if session.scalar(select(ScoringJob.id).where(_is_free()).limit(1)) is None:
            return None
    with database.writing() as session:
        query = select(ScoringJob).where(_is_free()).order_by(ScoringJob.id).limit(1)
        # PostgreSQL: two workers never wait for the same row. SQLite has one writer anyway.
        while (row := session.scalar(query.with_for_update(skip_locked=True))) is not None:
            if row.attempts < _MAX_LEASES:
                break
            row.status, row.problem, row.finished = "failed", _WORKERS_DIED, now()
            row.submission.status, row.submission.problem = "failed", _WORKERS_DIED
            session.flush()
        if row is None:
            return None
        row.status, row.worker, row.lease = "leased", worker[:128], token_hex(16)
        row.leased_until = now() + lease
        row.attempts += 1
        return LeasedJob(row.id, row.submission_id, row.version, row.lease, row.attempts)


def return_job(database: Database, job: LeasedJob, delay: timedelta, problem: str = "") -> None:
    """Give a job back that this worker could not do for reasons of its own, such as a stop or a
    storage that does not answer: it waits again, from `delay` on, and the attempt does not count.
    Raises LeaseLost."""
    with database.writing() as session:
        _change(session, job, status="queued", leased_until=now() + delay, problem=problem, attempts=job.attempt - 1)


def renew_lease(database: Database, job: LeasedJob, lease: timedelta = LEASE) -> None:
    """Extend a lease. Raises LeaseLost."""
    with database.writing() as session:
        _change(session, job, leased_until=now() + lease)


def finish_job(database: Database, job: LeasedJob, write: Callable[[Session], None]) -> None:
    """End a job; `write` adds its result in the same transaction. Raises LeaseLost, and then
    nothing is written."""
    with database.writing() as session:
        _change(session, job, status="done", finished=now(), leased_until=None, problem="")
        write(session)


def fail_job(
    database: Database, job: LeasedJob, problem: str, write: Callable[[Session], None], *, may_retry: bool
) -> None:
    """End an attempt that failed: the job waits again, or fails for good, and then `write` is
    called. Raises LeaseLost."""
    with database.writing() as session:
        if may_retry and job.attempt < MAX_ATTEMPTS:
            _change(session, job, status="queued", leased_until=None, problem=problem)
            return
        _change(session, job, status="failed", finished=now(), leased_until=None, problem=problem)
        write(session)


def _is_free() -> ColumnElement[bool]:
    """Whether a job can be taken: one that waits, from its time on if it was given back, or one
    whose lease has ended."""
    is_suspect = (ScoringJob.status == "leased") & (ScoringJob.attempts >= MAX_ATTEMPTS)
    waits = or_(
        ScoringJob.leased_until.is_(None),
        ScoringJob.leased_until < now() - _PAUSE,
        ~is_suspect & (ScoringJob.leased_until < now()),
    )
    return ScoringJob.status.in_(("queued", "leased")) & waits


def _change(session: Session, job: LeasedJob, **values: object) -> None:
    """Change a job that this worker has the lease of. Raises LeaseLost."""
    changed = session.execute(
        update(ScoringJob)
        .where(ScoringJob.id == job.id, ScoringJob.lease == job.lease, ScoringJob.status == "leased")
        .values(**values)
        .execution_options(synchronize_session=False)
    )
    if not getattr(changed, "rowcount", 0):
        raise LeaseLost(f"job {job.id} was taken by another worker")
