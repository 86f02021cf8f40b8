"""Workers are killed while they score: every submission gets one score, whatever happens."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select
from test_scoring import LIMITS, predictions, write_data

from snellen.core.secret import Secret
from snellen.leaderboard_hub.accounts.access import create_account
from snellen.leaderboard_hub.config import HubConfig
from snellen.leaderboard_hub.database.connection import Database
from snellen.leaderboard_hub.database.tables import (
    Account,
    HostedBenchmark,
    ScoringJob,
    SubmissionScore,
)
from snellen.leaderboard_hub.hosting import NewBenchmark, add_benchmark
from snellen.leaderboard_hub.hub import Hub
from snellen.leaderboard_hub.intake import NewSubmission, take_submission
from snellen.leaderboard_hub.storage import Storage

KEY = "a key of the tests, long enough"
SUBMISSIONS, KILLS = 40, 20
WORKER = (
    f"KEY = {KEY!r}"
    + """
import sys
from datetime import timedelta
from pathlib import Path
from snellen.core.secret import Secret
from snellen.leaderboard_hub.config import HubConfig
from snellen.leaderboard_hub.database.connection import Database
from snellen.leaderboard_hub.hub import Hub
from snellen.leaderboard_hub.jobs import queue
from snellen.leaderboard_hub.jobs.scoring_process import start_server
from snellen.leaderboard_hub.jobs.worker import Worker
from snellen.leaderboard_hub.storage import Storage

# A job may lose as many workers as this test kills.
queue.MAX_ATTEMPTS = 1000
url, folder = sys.argv[1:]
hub = Hub(Path(folder), HubConfig(), Database(url), Storage(f"{folder}/storage", Secret(KEY)))
start_server()
print("ready", flush=True)
Worker(hub, print, timedelta(seconds=1)).work()
"""
)


def start_worker(url: str, folder: Path) -> subprocess.Popen[str]:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, url, str(folder)], stdout=subprocess.PIPE, text=True,
        env=dict(os.environ))  # fmt: skip
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    return worker


def end_worker(worker: subprocess.Popen[str]) -> None:
    worker.kill()
    worker.communicate()


@pytest.mark.release
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_each_job_is_done_once(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"sqlite:///{tmp_path / 'hub.sqlite'}"
    if kind == "postgresql":
        url = request.getfixturevalue("postgres_database_url")
    database = Database(url)
    database.upgrade()
    hub = Hub(tmp_path, HubConfig(), database, Storage(str(tmp_path / "storage"), Secret(KEY)))
    data = write_data(tmp_path / "signs.tsv")
    many = type(LIMITS)(per_day=1000)
    with database.writing() as session:
        account = create_account(session, "ann", "submitter", "a long password")
        benchmark = add_benchmark(
            session, hub.storage, NewBenchmark(name="signs", title="S", data=data, is_hidden=True)
        )
        for number in range(SUBMISSIONS):
            new = NewSubmission(model=f"m{number}", file_name="p.jsonl",
                                content=predictions(number))  # fmt: skip
            take_submission(session, hub.storage, benchmark, account.id, new, many)
    workers = [start_worker(url, tmp_path) for _ in range(2)]
    try:
        for kill in range(KILLS):
            time.sleep(0.15)
            end_worker(workers[kill % 2])
            workers[kill % 2] = start_worker(url, tmp_path)
        end = time.monotonic() + 240
        while scores(database) < SUBMISSIONS:
            assert time.monotonic() < end, "the submissions were not scored"
            time.sleep(0.2)
    finally:
        for worker in workers:
            end_worker(worker)
    with database.reading() as session:
        per_submission = select(func.count(SubmissionScore.id)).group_by(
            SubmissionScore.submission_id
        )
        assert set(session.scalars(per_submission)) == {1}
        assert set(session.scalars(select(ScoringJob.status))) == {"done"}
        assert session.scalars(select(Account.name)).all() == ["ann"]
        assert session.scalars(select(HostedBenchmark.version)).one() == 1
    database.close()


def scores(database: Database) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(SubmissionScore)) or 0
