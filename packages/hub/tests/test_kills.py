"""Workers and servers are killed: what was accepted is kept, and gets one score."""

from __future__ import annotations

import multiprocessing
import subprocess
import threading
import time
from datetime import timedelta
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select
from test_api import HUB, command, environment, free_port
from test_scoring import LIMITS, predictions, write_data

from snellen.core.secret import Secret
from snellen_hub.accounts.access import create_account
from snellen_hub.config import HubConfig
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import Account, HostedBenchmark, ScoringJob, Submission, SubmissionScore
from snellen_hub.hosting import NewBenchmark, add_benchmark
from snellen_hub.hub import Hub, open_hub
from snellen_hub.intake import NewSubmission, take_submission
from snellen_hub.jobs import queue
from snellen_hub.jobs.scoring_process import start_server
from snellen_hub.jobs.worker import Worker
from snellen_hub.storage import Storage

KEY = "a key of the tests, long enough"
SUBMISSIONS, KILLS = 40, 20
PATIENCE = 1_800
"""Seconds. Every kill is followed by a start, which takes as long as the machine lets it."""
PRELOADED = ("httpx", "pytest", "snellen.cli.main", "snellen_hub.jobs.scoring_process", "snellen_hub.jobs.worker")


def work_until_killed(url: str, folder: str, ready: Event) -> None:
    # A job may lose as many workers as this test kills.
    queue.MAX_ATTEMPTS = 1000
    hub = Hub(Path(folder), HubConfig(), Database(url), Storage(f"{folder}/storage", Secret(KEY)))
    start_server()
    ready.set()
    Worker(hub, print, timedelta(seconds=1)).work()


def start_worker(url: str, folder: Path) -> BaseProcess:
    """A worker as a process, forked from one that has imported everything: on a busy machine the
    imports of dozens of workers take longer than all else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    ready = context.Event()
    worker = context.Process(target=work_until_killed, args=(url, str(folder), ready))
    worker.start()
    assert ready.wait(120)
    return worker


def end_worker(worker: BaseProcess) -> None:
    worker.kill()
    worker.join()


@pytest.mark.timeout(PATIENCE)
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
            new = NewSubmission(model=f"m{number}", file_name="p.jsonl", content=predictions(number))
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
        per_submission = select(func.count(SubmissionScore.id)).group_by(SubmissionScore.submission_id)
        assert set(session.scalars(per_submission)) == {1}
        assert set(session.scalars(select(ScoringJob.status))) == {"done"}
        assert session.scalars(select(Account.name)).all() == ["ann"]
        assert session.scalars(select(HostedBenchmark.version)).one() == 1
    database.close()


def scores(database: Database) -> int:
    with database.reading() as session:
        return session.scalar(select(func.count()).select_from(SubmissionScore)) or 0


class Uploads:
    """Sends submissions until it is stopped, and notes which were accepted."""

    def __init__(self, url: str, token: str) -> None:
        self._url = f"{url}/api/v1/benchmarks/signs/submissions"
        self._headers = {"Authorization": f"Bearer {token}"}
        self._stopped = threading.Event()
        self.accepted: list[str] = []
        self.lost = 0
        self._threads = [threading.Thread(target=self._send, args=(n,)) for n in range(3)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _send(self, number: int) -> None:
        count = 0
        while not self._stopped.wait(0.3):
            count += 1
            files = {"predictions": ("p.jsonl", predictions(count % 60))}
            try:
                answer = httpx.post(
                    self._url, headers=self._headers, files=files, timeout=20, data={"model": f"m-{number}-{count}"}
                )
            except httpx.HTTPError:
                self.lost += 1
                continue
            assert answer.status_code == 201, answer.text
            self.accepted.append(answer.json()["id"])


@pytest.mark.timeout(PATIENCE)
@pytest.mark.release
def test_uploads_accepted_by_a_killed_server_are_scored_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Server and worker are killed in turns while three clients upload."""
    folder, port = tmp_path / "hub", free_port()
    url = f"http://127.0.0.1:{port}"
    command("hub", "init", folder, "--owner", "olga", stdin="a long password\n")
    with (folder / "hub.toml").open("a") as file:
        file.write("[submissions]\nper_day = 100000\n")
    command("hub", "benchmark", folder, "signs", "--data", write_data(tmp_path / "signs.tsv"))
    command("hub", "account", folder, "ann", stdin="another password\n")
    token = command("hub", "account", folder, "ann", "--token").strip()
    words = {"serve": ["serve", str(folder), "--port", str(port)], "worker": ["worker", str(folder)]}
    processes = {name: start_hub(words[name]) for name in words}
    wait_until_alive(url)
    uploads = Uploads(url, token)
    try:
        for kill in range(KILLS):
            time.sleep(1)
            name = ("serve", "worker")[kill % 2]
            processes[name].kill()
            processes[name].wait()
            processes[name] = start_hub(words[name])
            wait_until_alive(url)
        uploads.stop()
        assert len(uploads.accepted) > KILLS
        assert uploads.lost > 0
        monkeypatch.setenv("SNELLEN_HUB_KEY", environment()["SNELLEN_HUB_KEY"])
        hub = open_hub(folder)
        end = time.monotonic() + 300
        while unscored(hub.database):
            assert time.monotonic() < end, "the submissions were not scored"
            time.sleep(0.5)
    finally:
        uploads.stop()
        for process in processes.values():
            process.kill()
            process.wait()
    with hub.database.reading() as session:
        names = set(session.scalars(select(Submission.public_id)))
        per_submission = select(func.count(SubmissionScore.id)).group_by(SubmissionScore.submission_id)
        assert set(uploads.accepted) <= names
        assert set(session.scalars(per_submission)) == {1}
        assert set(session.scalars(select(Submission.status))) == {"scored"}
    hub.close()


def start_hub(words: list[str]) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.Popen([*HUB, *words], stdout=quiet, stderr=quiet, env=environment())


def wait_until_alive(url: str) -> None:
    end = time.monotonic() + 300
    while time.monotonic() < end:
        try:
            if httpx.get(f"{url}/health/live", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.1)
    raise AssertionError("the server does not start")


def unscored(database: Database) -> int:
    with database.reading() as session:
        query = select(func.count()).select_from(Submission).where(Submission.status != "scored")
        return session.scalar(query) or 0
