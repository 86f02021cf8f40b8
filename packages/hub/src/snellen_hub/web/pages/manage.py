"""Owner pages: overview, benchmarks, jobs that failed, audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response
from sqlalchemy import ColumnElement, func, select, true
from sqlalchemy.orm import joinedload

from snellen_hub.database.tables import Account, AuditEntry, HostedBenchmark, ScoringJob, Submission, WrongLabelFlag
from snellen_hub.web.access import note_request
from snellen_hub.web.pages.forms import FormState, render_form
from snellen_hub.web.pages.frame import redirect
from snellen_hub.web.parameters import Done, HubOf, OwnerBrowser, OwnerForm

router = APIRouter(include_in_schema=False)

Text = Annotated[str, Query(max_length=200)]
_ENTRIES = 100
_JOBS = 200


@router.get("/manage")
def manage_page(request: Request, hub: HubOf, browser: OwnerBrowser) -> Response:
    """What the hub holds, in numbers."""
    with hub.database.reading() as session:
        counts = {
            "accounts": session.scalar(select(func.count(Account.id)).where(Account.deleted.is_(None))),
            "benchmarks": session.scalar(select(func.count(HostedBenchmark.id))),
            "submissions": session.scalar(select(func.count(Submission.id))),
        }
        query = select(ScoringJob.status, func.count(ScoringJob.id)).group_by(ScoringJob.status)
        flags = session.scalar(select(func.count(WrongLabelFlag.id)).where(WrongLabelFlag.settled.is_(None)))
        jobs = {row[0]: row[1] for row in session.execute(query)}
    return render_form(request, "manage.html", title="Manage", counts=counts, jobs=jobs, flags=flags)


@router.get("/manage/benchmarks")
def benchmarks_page(request: Request, hub: HubOf, browser: OwnerBrowser) -> Response:
    """The benchmarks with the numbers of their submissions."""
    with hub.database.reading() as session:
        benchmarks = session.scalars(select(HostedBenchmark).order_by(HostedBenchmark.name)).all()
        query = select(Submission.benchmark_id, Submission.visibility, func.count(Submission.id)).group_by(
            Submission.benchmark_id, Submission.visibility
        )
        counts = {(row[0], row[1]): row[2] for row in session.execute(query)}
    return render_form(request, "manage_benchmarks.html", title="Benchmarks", benchmarks=benchmarks, counts=counts)


@router.get("/manage/jobs")
def jobs_page(request: Request, hub: HubOf, browser: OwnerBrowser, done: Done = "") -> Response:
    """The jobs that failed, with the problem that submitters of a hidden split do not see, and
    those that wait."""
    with hub.database.reading() as session:
        query = (
            select(ScoringJob)
            .where(ScoringJob.status != "done")
            .options(
                joinedload(ScoringJob.submission).joinedload(Submission.benchmark),
                joinedload(ScoringJob.submission).joinedload(Submission.account),
            )
            .order_by(ScoringJob.id.desc())
            .limit(_JOBS)
        )
        rows = session.scalars(query).all()
    return render_form(
        request, "manage_jobs.html", title="Jobs", rows=rows, done="The job waits for a worker again." if done else None
    )


@router.post("/manage/jobs/{number}/retry")
def retry_job(request: Request, hub: HubOf, browser: OwnerForm, number: int) -> Response:
    """Let workers try a failed job again."""
    with hub.database.writing() as session:
        job = session.get(ScoringJob, number, with_for_update=True) if number < 2**31 else None
        if job is None or job.status != "failed":
            raise HTTPException(409, "there is no such job that failed")
        if job.version != job.submission.benchmark.version:
            raise HTTPException(409, "the benchmark has changed since, and so has the job")
        job.status, job.attempts, job.problem, job.finished = "queued", 0, "", None
        job.submission.status, job.submission.problem = "queued", ""
        note_request(session, request, "job retried", browser.account_id, job.submission.public_id)
    return redirect("/manage/jobs?done=queued")


@router.get("/manage/audit")
def audit_page(
    request: Request,
    hub: HubOf,
    browser: OwnerBrowser,
    action: Text = "",
    account: Text = "",
    subject: Text = "",
    before: Annotated[int, Query(ge=0, lt=2**31)] = 0,
) -> Response:
    """Who did what and when, the latest first."""
    form = FormState({"action": action, "account": account, "subject": subject})
    wanted: ColumnElement[bool] = true()
    if form.value("action"):
        wanted &= AuditEntry.action == _plain(form.value("action"))
    if form.value("account"):
        wanted &= func.lower(Account.name) == _plain(form.value("account")).lower()
    if form.value("subject"):
        wanted &= AuditEntry.subject.contains(_plain(form.value("subject")), autoescape=True)
    if before:
        wanted &= AuditEntry.id < before
    with hub.database.reading() as session:
        query = (
            select(AuditEntry, Account.name)
            .outerjoin(Account, AuditEntry.account_id == Account.id)
            .where(wanted)
            .order_by(AuditEntry.id.desc())
            .limit(_ENTRIES + 1)
        )
        rows = [(row[0], row[1] or "") for row in session.execute(query)]
        actions = session.scalars(select(AuditEntry.action).distinct()).all()
    older = rows[_ENTRIES - 1][0].id if len(rows) > _ENTRIES else 0
    return render_form(
        request,
        "manage_audit.html",
        form,
        title="Audit log",
        rows=rows[:_ENTRIES],
        actions=sorted(actions),
        older=older,
    )


def _plain(text: str) -> str:
    # PostgreSQL takes no NUL in a text.
    return text.replace("\0", "")
