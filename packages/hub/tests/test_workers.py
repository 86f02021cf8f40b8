"""Workers: idle ones leave the database alone, hostile files and outages end none of them."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import event, select
from test_api import HUB, command, environment
from test_scoring import predictions, submit, write_data

from snellen.core.errors import UsageError
from snellen.core.secret import Secret
from snellen_hub.accounts.access import create_account
from snellen_hub.config import HubConfig, ScoringLimits, SubmissionLimits
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import ScoringJob, Submission, SubmissionScore, WorkerHeartbeat
from snellen_hub.errors import HubUnavailable
from snellen_hub.hosting import NewBenchmark, Protocol, add_benchmark
from snellen_hub.hub import Hub
from snellen_hub.jobs import heartbeat, scoring_process, worker
from snellen_hub.jobs.scoring_process import ScoringAbandoned, ScoringDied, ScoringTask, score_in_process
from snellen_hub.jobs.supervisor import WorkerGroup
from snellen_hub.jobs.worker import Worker
from snellen_hub.storage import Storage

SECONDS = 60
T = TypeVar("T")
WIDE = ScoringLimits()


def make_hub(database: Database, folder: Path) -> Hub:
    storage = Storage(str(folder / "storage"), Secret("a key of the tests"))
    hub = Hub(folder, HubConfig(submissions=SubmissionLimits(per_day=50)), database, storage)
    with database.writing() as session:
        create_account(session, "ann", "submitter", "a long password")
        data = write_data(folder / "signs.tsv")
        add_benchmark(session, storage, NewBenchmark(name="signs", title="S", data=data))
    return hub


@pytest.fixture
def hub(database: Database, tmp_path: Path) -> Hub:
    return make_hub(database, tmp_path)


def wait_for(condition: Callable[[], T], what: str) -> T:
    end = time.monotonic() + SECONDS
    while not (value := condition()):
        assert time.monotonic() < end, f"{what}: not within {SECONDS} seconds"
        time.sleep(0.05)
    return value


def jobs_with(database: Database, status: str) -> int:
    with database.reading() as session:
        return len(session.scalars(select(ScoringJob.id).where(ScoringJob.status == status)).all())


@pytest.fixture
def background(hub: Hub) -> Iterator[Worker]:
    """A worker in a thread."""
    started = Worker(hub, print)
    thread = threading.Thread(target=started.work)
    thread.start()
    yield started
    started.stop()
    thread.join(SECONDS)
    assert not thread.is_alive()


def test_an_idle_worker_only_reads(hub: Hub, background: Worker) -> None:
    """Its heartbeat of every half minute excepted."""
    begun: list[str] = []

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        begun.append(statement)

    wait_for(lambda: heartbeats(hub.database), "a heartbeat")
    event.listen(hub.database.engine, "before_cursor_execute", note)
    time.sleep(5)
    event.remove(hub.database.engine, "before_cursor_execute", note)
    looks = [each for each in begun if "FROM jobs" in each]
    assert 2 <= len(looks) <= 20, begun
    assert all(each.startswith("SELECT") and "FOR UPDATE" not in each for each in looks)
    assert not any("IMMEDIATE" in each or each.startswith(("UPDATE", "INSERT")) for each in begun)
    # And it wakes up for a job.
    submit(hub, "signs", predictions(30))
    wait_for(lambda: jobs_with(hub.database, "done"), "the job")


def heartbeats(database: Database) -> list[str]:
    with database.reading() as session:
        return list(session.scalars(select(WorkerHeartbeat.name)))


def test_a_worker_is_seen_until_it_stops(hub: Hub) -> None:
    started = Worker(hub, print)
    thread = threading.Thread(target=started.work)
    thread.start()
    wait_for(lambda: heartbeats(hub.database), "a heartbeat")
    with hub.database.reading() as session:
        (row,) = heartbeat.read_workers(session)
        assert row.name == started.name
        assert heartbeat.is_alive(row)
    started.stop()
    thread.join(SECONDS)
    assert heartbeats(hub.database) == []


def task_in(folder: Path, rows: int = 0) -> ScoringTask:
    write_data(folder / "data.tsv")
    (folder / "predictions.jsonl").write_bytes(predictions(45))
    if rows:
        with (folder / "predictions.jsonl").open("ab") as file:
            line = b'{"index": 1, "prediction": "' + b"A " * 500 + b'"}\n'
            file.writelines([line] * rows)
    return ScoringTask("", Protocol(), "data.tsv", "predictions.jsonl", "m")


def test_scoring_apart_gives_the_numbers(tmp_path: Path) -> None:
    result = score_in_process(tmp_path, task_in(tmp_path), WIDE, lambda: False)
    headline = result.summary["headline"]
    assert (headline["value"], headline["n"], len(result.samples.ids)) == (75.0, 60, 60)
    assert sum(result.samples.scores) == 45


@pytest.mark.attack("a submission brings grades of its own", "they do not count")
def test_verdicts_in_a_submission_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "data.tsv").write_text("index\tquestion\tanswer\n1\tWhat is it?\ta hill\n")
    (tmp_path / "predictions.jsonl").write_text('{"index": 1, "prediction": "a lake", "grade_1run": [1.0]}\n')
    task = ScoringTask("mm-vet", Protocol(), "data.tsv", "predictions.jsonl", "m")
    result = score_in_process(tmp_path, task, WIDE, lambda: False)
    assert (result.summary["headline"]["value"], result.problem) == (None, "")


@pytest.mark.attack("a submission whose scoring needs too much memory", "it fails, the worker does not")
def test_a_file_that_needs_too_much_memory_is_a_sentence(tmp_path: Path) -> None:
    task = task_in(tmp_path, rows=60_000)
    with pytest.raises((UsageError, ScoringDied), match="memory"):
        score_in_process(tmp_path, task, ScoringLimits(memory_mb=30), lambda: False)


@pytest.mark.attack("a submission whose scoring takes too long", "it fails, with a sentence")
def test_scoring_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    task = task_in(tmp_path, rows=100_000)
    started = time.monotonic()
    with pytest.raises(UsageError, match=r"took longer than the 0.001 minutes"):
        score_in_process(tmp_path, task, ScoringLimits(minutes=0.001), lambda: False)
    assert time.monotonic() - started < 10


def test_abandoned_scoring_is_ended(tmp_path: Path) -> None:
    with pytest.raises(ScoringAbandoned):
        score_in_process(tmp_path, task_in(tmp_path, rows=100_000), WIDE, lambda: True)


def test_paths_of_the_worker_are_in_no_sentence(tmp_path: Path) -> None:
    task = task_in(tmp_path)
    (tmp_path / "data.tsv").write_text("nothing\n")
    with pytest.raises(UsageError) as error:
        score_in_process(tmp_path, task, WIDE, lambda: False)
    assert str(tmp_path) not in str(error.value)


def test_a_stopped_worker_gives_its_job_back(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(worker, "_STOP_SECONDS", 0.0)
    # Scoring that does not end by itself.
    monkeypatch.setattr(scoring_process, "_score_folder", _sleep)
    submit(hub, "signs", predictions(30))
    lines: list[str] = []
    started = Worker(hub, lines.append)
    thread = threading.Thread(target=started.work)
    thread.start()
    wait_for(lambda: jobs_with(hub.database, "leased"), "the lease")
    started.stop()
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert lines == ["job 1 was given back"]
    monkeypatch.undo()
    with hub.database.reading() as session:
        row = session.scalars(select(ScoringJob)).one()
        # The attempt does not count.
        assert (row.status, row.attempts) == ("queued", 0)
    assert Worker(hub, print).work(until_empty=True) == 1


def _sleep(name: str, memory_mb: int) -> None:
    time.sleep(SECONDS)


def test_an_outage_of_the_storage_loses_nothing(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However long it lasts: more attempts than a job has."""
    monkeypatch.setattr(worker, "_OUTAGE_PAUSE", 0.05)
    monkeypatch.setattr(worker, "_RETURNED_FOR", type(worker._RETURNED_FOR)(0))
    submission = submit(hub, "signs", predictions(30))
    away = tmp_path / "away"
    (tmp_path / "storage").rename(away)
    (tmp_path / "storage").write_text("no folder")
    lines: list[str] = []
    started = Worker(hub, lines.append)
    thread = threading.Thread(target=started.work)
    thread.start()
    wait_for(lambda: len(lines) > 10, "attempts")
    (tmp_path / "storage").unlink()
    away.rename(tmp_path / "storage")
    wait_for(lambda: jobs_with(hub.database, "done"), "the job")
    started.stop()
    thread.join(SECONDS)
    assert any("the storage cannot be read" in line and "given back" in line for line in lines)
    with hub.database.reading() as session:
        assert session.get_one(Submission, submission).status == "scored"
        assert session.scalars(select(SubmissionScore.headline)).all() == [50.0]


def test_a_worker_that_shall_end_says_what_fails(hub: Hub, tmp_path: Path) -> None:
    submit(hub, "signs", predictions(30))
    (tmp_path / "storage").rename(tmp_path / "away")
    (tmp_path / "storage").write_text("no folder")
    with pytest.raises(HubUnavailable, match="the storage cannot be read"):
        Worker(hub, print).work(until_empty=True)
    assert jobs_with(hub.database, "queued") == 1


def test_a_group_starts_dead_workers_again(tmp_path: Path) -> None:
    """One that is killed, and not one that ends by itself."""
    code = (
        "import os, pathlib, signal, sys, time\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "first = not list(folder.iterdir())\n"
        "(folder / str(os.getpid())).touch()\n"
        "os.kill(os.getpid(), signal.SIGKILL) if first else None"
    )
    lines: list[str] = []
    assert WorkerGroup([sys.executable, "-c", code], 1, lines.append).run() == 0
    assert len(list(tmp_path.iterdir())) == 2
    assert [line.split(" ", 2)[2] for line in lines] == ["ended with code -9; another one starts"]
    mistake = [sys.executable, "-c", "raise SystemExit(2)"]
    assert WorkerGroup(mistake, 2, lines.append).run() == 2


@pytest.mark.release
@pytest.mark.parametrize("flags", [(), ("--processes", "2")])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_stop_workers(tmp_path: Path, flags: tuple[str, ...], number: int) -> None:
    place = tmp_path / "hub"
    command("hub", "init", place, stdin="a long password\n")
    started = subprocess.Popen(
        [*HUB, "worker", str(place), *flags], env=environment(), stdout=subprocess.PIPE, text=True
    )
    database = Database(f"sqlite:///{place / 'hub.sqlite'}")
    wait_for(lambda: len(heartbeats(database)) == (2 if flags else 1), "the workers")
    started.send_signal(number)
    assert started.wait(SECONDS) == 0
    started.communicate()
    assert heartbeats(database) == []
    database.close()


def test_idle_workers_leave_the_write_lock_to_others(tmp_path: Path) -> None:
    place = tmp_path / "hub"
    command("hub", "init", place, stdin="a long password\n")
    # The lock of SQLite is held elsewhere for longer than a worker waits for it: workers that only
    # look do not notice.
    holder = sqlite3.connect(place / "hub.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    database = Database(f"sqlite:///{place / 'hub.sqlite'}")
    from snellen_hub.jobs.queue import take_job

    started = time.monotonic()
    for _ in range(20):
        assert take_job(database, "w") is None
    assert time.monotonic() - started < 2
    holder.execute("ROLLBACK")
    holder.close()
    database.close()


def test_processes_is_a_number(tmp_path: Path) -> None:
    assert "from 1 to 256" in command("hub", "worker", tmp_path, "--processes", "0", code=2)


def test_scoring_ends_with_its_worker(tmp_path: Path) -> None:
    """kill -9 of a worker leaves no process behind that reads answers."""
    folder = tmp_path / "task"
    folder.mkdir()
    code = (
        "import sys, pathlib, time\n"
        "from snellen_hub.jobs import scoring_process as s\n"
        "from snellen_hub.config import ScoringLimits\n"
        "from snellen_hub.hosting import Protocol\n"
        "f = pathlib.Path(sys.argv[1])\n"
        "t = s.ScoringTask('', Protocol(), 'data.tsv', 'predictions.jsonl', 'm')\n"
        "s.score_in_process(f, t, ScoringLimits(), lambda: False)\n"
    )
    (folder / "predictions.jsonl").write_bytes(predictions(3))
    # A pipe that nobody writes to: reading the data does not end. Snellen refuses pipes, but here.
    os.mkfifo(folder / "data.tsv")
    allows_pipes = "from snellen.core import errors as m\nm.refuse_pipe = lambda *_: None\n"
    (folder / "sitecustomize.py").write_text(allows_pipes)
    started = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)], env={**environment(), "PYTHONPATH": str(folder)}
    )
    wait_for(lambda: len(children(started.pid)) >= 3, "the scoring")
    # Opened until the end: without a writer the scoring would come to the end of the pipe.
    writer = wait_for(lambda: open_for_writing(folder / "data.tsv"), "the reading")
    family = children(started.pid)
    assert len(family) >= 3
    started.kill()
    started.wait()
    wait_for(lambda: not any(is_running(pid) for pid in family), "the end of the scoring")
    os.close(writer)


def open_for_writing(pipe: Path) -> int | None:
    """A descriptor of the pipe; None while nobody reads it."""
    try:
        return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def children(pid: int) -> list[int]:
    """All descendants of a process."""
    found = []
    for path in Path("/proc").glob(f"{pid}/task/*/children"):
        for each in map(int, path.read_text().split()):
            found += [each, *children(each)]
    return found


def is_running(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
