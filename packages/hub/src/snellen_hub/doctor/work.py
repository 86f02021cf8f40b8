"""Checks of the queue and of the workers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from sqlalchemy import func, select

from snellen import __version__
from snellen_hub.accounts.access import now
from snellen_hub.database.tables import ScoringJob, Submission, SubmissionScore
from snellen_hub.doctor.findings import HubFinding, fine, list_some, problem, warning
from snellen_hub.hub import Hub
from snellen_hub.jobs.heartbeat import is_alive, read_workers
from snellen_hub.jobs.queue import add_job

_LONG = timedelta(minutes=10)
"""How long a job may wait before that is strange."""


def check_workers(hub: Hub) -> Iterator[HubFinding]:
    """Which workers live, and whether jobs wait for one."""
    with hub.database.reading() as session:
        workers = read_workers(session)
        waiting = session.scalar(select(func.min(ScoringJob.created)).where(ScoringJob.status == "queued"))
        count = session.scalar(select(func.count()).where(ScoringJob.status == "queued")) or 0
        failed = session.scalar(select(func.count()).where(ScoringJob.status == "failed")) or 0
        last = session.scalar(
            select(ScoringJob.problem).where(ScoringJob.problem != "").order_by(ScoringJob.id.desc()).limit(1)
        )
    alive = [worker for worker in workers if is_alive(worker)]
    dead = [worker.name for worker in workers if not is_alive(worker)]
    if alive:
        yield fine("workers", f"{len(alive):,}: {list_some([worker.name for worker in alive])}")
    elif count:
        yield problem(
            "workers", f"none lives, and {count:,} submissions wait; start one with: snellen hub worker {hub.folder}"
        )
    else:
        yield warning("workers", f"none lives; start one with: snellen hub worker {hub.folder}")
    if dead:
        yield warning(
            "workers",
            f"{list_some(dead)} died within a day without a stop; look at their logs, and at the machine's memory",
        )
    other = sorted({worker.version for worker in alive} - {__version__})
    if other:
        yield warning(
            "workers",
            f"some run Snellen {', '.join(other)}, and this is {__version__}; start them again after an upgrade",
        )
    if alive and waiting is not None and now() - waiting > _LONG:
        minutes = (now() - waiting).total_seconds() / 60
        yield warning(
            "queue",
            f"{count:,} submissions wait, the oldest for {minutes:.0f} minutes; "
            "start more workers" + (f" (last trouble: {last})" if last else ""),
        )
    if failed:
        yield warning("queue", f"{failed:,} jobs failed; the last trouble: {last}")
    elif count == 0:
        yield fine("queue", "nothing waits")


def check_stuck_jobs(hub: Hub, *, fix: bool) -> Iterator[HubFinding]:
    """Submissions that wait without a job, as a restored or edited database may have, and leases
    that end too late because a clock was wrong."""
    with hub.database.reading() as session:
        jobs = select(ScoringJob.submission_id)
        scores = select(SubmissionScore.submission_id)
        waiting = session.scalars(
            select(Submission.public_id).where(
                Submission.status == "queued", Submission.visibility != "withdrawn", Submission.id.not_in(jobs)
            )
        ).all()
        unscored = session.scalars(
            select(Submission.public_id).where(Submission.status == "scored", Submission.id.not_in(scores))
        ).all()
        late = session.scalars(select(ScoringJob.id).where(ScoringJob.leased_until > now() + timedelta(hours=1))).all()
    if unscored:
        yield problem(
            "submissions", f"{list_some(list(unscored))} are said to be scored and have no score; restore a backup"
        )
    stuck = list(waiting)
    if not stuck and not late:
        yield fine("leases", "none is stuck")
    elif fix:
        _queue_again(hub, stuck, list(late))
        yield fine("leases", f"queued {len(stuck) + len(late):,} submissions again")
    else:
        yield problem(
            "leases",
            f"{len(stuck):,} submissions wait without a job, and {len(late):,} "
            "leases end more than an hour from now, as if a clock was wrong; "
            "queue them again with --repair",
        )


def _queue_again(hub: Hub, public_ids: list[str], jobs: list[int]) -> None:
    with hub.database.writing() as session:
        for public_id in public_ids:
            row = session.scalars(select(Submission).where(Submission.public_id == public_id)).one()
            add_job(session, row.id, row.benchmark.version)
        for number in jobs:
            job = session.get_one(ScoringJob, number)
            job.status, job.lease, job.leased_until = "queued", "", None
