"""Jobs: each is done exactly once, whatever dies."""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen_hub.accounts.access import create_account, now
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import HostedBenchmark, ScoringJob, Submission, SubmissionScore
from snellen_hub.jobs import queue
from snellen_hub.jobs.queue import (
    MAX_ATTEMPTS,
    LeasedJob,
    LeaseLost,
    add_job,
    fail_job,
    finish_job,
    renew_lease,
    take_job,
)

SHORT = timedelta(milliseconds=50)


def add_jobs(database: Database, count: int) -> None:
    with database.writing() as session:
        owner = create_account(session, "owner", "owner", "a long password")
        benchmark = HostedBenchmark(
            name="signs",
            title="Signs",
            description="",
            spec="",
            protocol={},
            is_hidden=False,
            data="0" * 64,
            data_name="d.tsv",
            public_data=None,
            ids="1" * 64,
            rows=3,
            version=1,
            created=now(),
        )
        session.add(benchmark)
        session.flush()
        for number in range(count):
            submission = Submission(
                public_id=f"s{number}",
                account_id=owner.id,
                benchmark_id=benchmark.id,
                model="m",
                facts={},
                kind="submitted",
                status="queued",
                visibility="private",
                problem="",
                file=None,
                file_name="",
                digest="",
                size=0,
                run={},
                created=now(),
            )
            session.add(submission)
            session.flush()
            add_job(session, submission.id, 1)
            add_job(session, submission.id, 1)


def write_score(session: Session, job: LeasedJob) -> None:
    session.add(
        SubmissionScore(
            submission_id=job.submission_id, version=job.version, scored_by="x", samples=3, summary={}, created=now()
        )
    )


def count_scores(database: Database) -> int:
    with database.reading() as session:
        return len(session.scalars(select(SubmissionScore.id)).all())


def test_many_workers_do_each_job_once(database: Database) -> None:
    add_jobs(database, 40)
    done: Counter[int] = Counter()
    lock = threading.Lock()

    def work(name: str) -> None:
        while (job := take_job(database, name)) is not None:
            finish_job(database, job, lambda session, job=job: write_score(session, job))
            with lock:
                done[job.id] += 1

    workers = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(done) == 40
    assert set(done.values()) == {1}
    assert count_scores(database) == 40


def test_the_job_of_a_dead_worker_is_taken_over(database: Database) -> None:
    add_jobs(database, 1)
    dead = take_job(database, "dead", SHORT)
    assert dead is not None
    assert take_job(database, "other") is None
    time.sleep(0.1)
    other = take_job(database, "other")
    assert other is not None
    assert (other.id, other.attempt) == (dead.id, 2)
    # The first worker was only slow: what it brings now is not written.
    with pytest.raises(LeaseLost):
        renew_lease(database, dead)
    with pytest.raises(LeaseLost):
        finish_job(database, dead, lambda session: write_score(session, dead))
    assert count_scores(database) == 0
    finish_job(database, other, lambda session: write_score(session, other))
    with pytest.raises(LeaseLost):
        finish_job(database, other, lambda session: write_score(session, other))
    assert count_scores(database) == 1


def test_a_renewed_lease_holds(database: Database) -> None:
    add_jobs(database, 1)
    job = take_job(database, "slow", SHORT)
    assert job is not None
    renew_lease(database, job)
    time.sleep(0.1)
    assert take_job(database, "other") is None


def test_a_job_that_kills_its_workers_fails_for_good(database: Database) -> None:
    add_jobs(database, 1)
    told: list[str] = []
    for attempt in range(1, MAX_ATTEMPTS + 1):
        job = take_job(database, "w")
        assert job is not None
        assert job.attempt == attempt
        fail_job(database, job, "out of memory", lambda session: told.append("x"), may_retry=True)
    assert take_job(database, "w") is None
    assert told == ["x"]
    with database.reading() as session:
        row = session.scalars(select(ScoringJob)).one()
        assert (row.status, row.problem) == ("failed", "out of memory")


def test_a_submission_whose_workers_die_waits_longer_and_fails_at_last(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_jobs(database, 3)
    for _ in range(MAX_ATTEMPTS):
        job = take_job(database, "dies", timedelta(0))
        assert job is not None
    # The next worker does not try it at once, and goes on with another job.
    other = take_job(database, "w")
    assert other is not None
    assert other.id != job.id
    # Workers that were ended by their machines do not make it fail.
    monkeypatch.setattr(queue, "_PAUSE", timedelta(0))
    for attempt in range(MAX_ATTEMPTS + 1, queue._MAX_LEASES + 1):
        again = take_job(database, "dies", timedelta(0))
        assert again is not None
        assert (again.id, again.attempt) == (job.id, attempt)
    third = take_job(database, "w")
    assert third is not None
    assert third.id not in (job.id, other.id)
    with database.reading() as session:
        row = session.get_one(ScoringJob, job.id)
        assert (row.status, row.submission.status) == ("failed", "failed")
        assert "its worker died 20 times" in row.submission.problem


def test_failed_write_leaves_the_job_open(database: Database) -> None:
    add_jobs(database, 1)
    job = take_job(database, "w", SHORT)
    assert job is not None

    def write_twice(session: Session) -> None:
        write_score(session, job)
        raise ZeroDivisionError("a mistake while writing")

    with pytest.raises(ZeroDivisionError):
        finish_job(database, job, write_twice)
    assert count_scores(database) == 0
    time.sleep(0.1)
    assert take_job(database, "w") is not None
