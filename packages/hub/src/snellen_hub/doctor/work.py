"""Checks of the queue and of the workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from sqlalchemy import func, select, update

from snellen import __version__
from snellen_hub.database.tables import ScoringJob, Submission, SubmissionScore
from snellen_hub.doctor.findings import HubFinding, fine, first_case, list_some, problem, warning
from snellen_hub.hub import Hub
from snellen_hub.jobs.heartbeat import is_alive, read_workers
from snellen_hub.jobs.queue import add_job
from snellen_hub.moment_text import now

_LONG = timedelta(minutes=10)
"""How long a job may wait before that is strange."""


def check_workers(hub: Hub) -> Iterator[HubFinding]:
    """Which workers live, and whether jobs wait for one."""
    with hub.database.reading() as session:
        workers = read_workers(session)
        queued = session.scalars(select(ScoringJob.created).where(ScoringJob.status == "queued")).all()
    alive = [worker for worker in workers if is_alive(worker)]
    dead = [worker.name for worker in workers if not is_alive(worker)]
    start = f"start one with: snellen hub worker {hub.folder}"
    yield first_case(
        "workers",
        (alive, "ok", f"{len(alive):,}: {list_some([worker.name for worker in alive])}"),
        (queued, "problem", f"none lives, and {len(queued):,} submissions wait; {start}"),
        (True, "warning", f"none lives; {start}"),
    )
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
    yield from _check_queue(hub, queued, is_served=bool(alive))


def _check_queue(hub: Hub, queued: Sequence[datetime], *, is_served: bool) -> Iterator[HubFinding]:
    """Jobs that wait too long, by their times, and jobs that failed."""
    with hub.database.reading() as session:
        failed = session.scalar(select(func.count()).where(ScoringJob.status == "failed")) or 0
        troubles = select(ScoringJob.problem).where(ScoringJob.problem != "")
        last = session.scalar(troubles.order_by(ScoringJob.id.desc()).limit(1))
    longest = max((now() - created for created in queued), default=_LONG)
    if is_served and longest > _LONG:
        trouble = f" (last trouble: {last})" if last else ""
        minutes = longest.total_seconds() / 60
        yield warning(
            "queue",
            f"{len(queued):,} submissions wait, the oldest for {minutes:.0f} minutes; start more workers{trouble}",
        )
    if failed:
        yield warning("queue", f"{failed:,} jobs failed; the last trouble: {last}")
    elif not queued:
        yield fine("queue", "nothing waits")


def check_stuck_jobs(hub: Hub, *, fix: bool) -> Iterator[HubFinding]:
    """Submissions that wait without a job, as a restored or edited database may have, and leases
    that end too late because a clock was wrong."""
    with hub.database.reading() as session:
        stuck = session.scalars(
            select(Submission.public_id).where(
                Submission.status == "queued",
                Submission.visibility != "withdrawn",
                Submission.id.not_in(select(ScoringJob.submission_id)),
            )
        ).all()
        unscored = session.scalars(
            select(Submission.public_id).where(
                Submission.status == "scored", Submission.id.not_in(select(SubmissionScore.submission_id))
            )
        ).all()
        late = session.scalars(select(ScoringJob.id).where(ScoringJob.leased_until > now() + timedelta(hours=1))).all()
    if unscored:
        yield problem(
            "submissions", f"{list_some(list(unscored))} are said to be scored and have no score; restore a backup"
        )
    if fix and (stuck or late):
        with hub.database.writing() as session:
            for row in session.scalars(select(Submission).where(Submission.public_id.in_(stuck))):
                add_job(session, row.id, row.benchmark.version)
            jobs = update(ScoringJob).where(ScoringJob.id.in_(late))
            session.execute(jobs.values(status="queued", lease="", leased_until=None))
    clock = f"{len(late):,} leases end more than an hour from now, as if a clock was wrong"
    yield first_case(
        "leases",
        (not stuck and not late, "ok", "none is stuck"),
        (fix, "ok", f"queued {len(stuck) + len(late):,} submissions again"),
        (
            True,
            "problem",
            f"{len(stuck):,} submissions wait without a job, and {clock}; queue them again with --repair",
        ),
    )
