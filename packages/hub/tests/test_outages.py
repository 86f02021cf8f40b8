"""What stops, is full or is wrong: one sentence each, nothing lost, and it goes on by itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drill import AS_A_USER
from postgres_server import MISSING, PostgresServer, find_programs
from sqlalchemy import select, text
from test_api import HUB, command, environment, free_port
from test_scoring import predictions, write_data

from snellen_hub.accounts.attempts import AttemptLimit, count_attempt
from snellen_hub.database.tables import Attempt, ScoringJob, Submission, SubmissionScore
from snellen_hub.errors import HubUnavailable
from snellen_hub.hub import open_hub

PATIENCE = 120.0


def wait_for(condition: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {PATIENCE:.0f} seconds"
        time.sleep(0.2)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A hub with an open and a hidden benchmark, and a file of predictions."""
    command("hub", "init", tmp_path / "hub", "--owner", "olga", stdin="a long password\n")
    data = write_data(tmp_path / "signs.tsv")
    command("hub", "benchmark", tmp_path / "hub", "open-signs", "--data", data)
    (tmp_path / "p.jsonl").write_bytes(predictions(45))
    return tmp_path


@pytest.mark.release
@pytest.mark.attack("a server or worker of a hub with a wrong key", "it does not start")
def test_wrong_key_fails_no_submission(place: Path) -> None:
    hub = place / "hub"
    command("hub", "benchmark", hub, "signs", "--data", place / "signs.tsv", "--hidden")
    for action in ("serve", "worker"):
        said = command("hub", action, hub, code=2, SNELLEN_HUB_KEY="another key, and long enough")
        assert f"does not open the hidden answers of {hub}" in said
    said = command("hub", "worker", hub, "--until-empty", code=2, SNELLEN_HUB_KEY="")
    assert "SNELLEN_HUB_KEY is not set" in said
    said = command(
        "hub", "benchmark", hub, "more", "--data", place / "signs.tsv", "--hidden", code=2, SNELLEN_HUB_KEY=""
    )
    assert "SNELLEN_HUB_KEY is not set" in said


@pytest.mark.release
@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("SNELLEN_HUB_DATABASE", "postgresql://ann:secret@127.0.0.1:9/hub", "cannot be used"),
        ("SNELLEN_HUB_DATABASE", "sqlite:////nowhere/at/all.sqlite", "unable to open database"),
        ("SNELLEN_HUB_DATABASE", "nonsense", "the URL of the database cannot be read"),
        ("SNELLEN_HUB_STORAGE", "/dev/null/files", "the storage cannot be"),
    ],
)
def test_every_command_says_what_cannot_be_reached(
    place: Path, tmp_path: Path, variable: str, value: str, sentence: str
) -> None:
    hub = place / "hub"
    changed = {variable: value}
    if variable == "SNELLEN_HUB_DATABASE":
        assert "has a database of its own, hub.sqlite, and SNELLEN_HUB_DATABASE" in command(
            "hub", "account", hub, "olga", "--token", code=2, **changed
        )
        hub = tmp_path / "moved"
        hub.mkdir()
        (hub / "hub.toml").write_bytes((place / "hub" / "hub.toml").read_bytes())
    backup = str(place / "backup.zip")
    actions: list[tuple[str, ...]] = [("init", str(place / "other"))]
    if value.startswith("postgresql:"):
        actions += [
            ("serve", str(hub)),
            ("worker", str(hub)),
            ("account", str(hub)),
            ("doctor", str(hub), "--upgrade"),
            ("backup", str(hub), backup),
        ]
    for action in actions:
        said = command("hub", *action, stdin="a long password\n", code=2, **changed)
        assert sentence in said, action
        assert "secret" not in said
    assert not (place / "other" / "hub.toml").exists()
    assert not Path(backup).exists()
    assert sentence in command("hub", "doctor", hub, code=2 if value == "nonsense" else 1, **changed)


def test_an_init_that_fails_leaves_nothing(tmp_path: Path) -> None:
    place = tmp_path / "hub"
    assert "10 to 200" in command("hub", "init", place, stdin="short\n", code=2)
    assert "cannot be called" in command("hub", "init", place, "--owner", "x/y", code=2, stdin="a long password\n")
    command("hub", "init", place, stdin="a long password\n")
    assert "holds a hub already" in command("hub", "init", place, stdin="a long password\n", code=2)


def test_a_folder_that_cannot_be_written(place: Path) -> None:
    hub = place / "hub"
    for path in (hub, *hub.rglob("*")):
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        for action, sentence in (
            (("account", hub, "olga", "--token"), "cannot be used"),
            (("init", hub / "new"), "cannot be written"),
        ):
            said = as_a_user("hub", *action)
            assert (said.returncode, "Traceback" in said.stderr) == (2, False), said.stderr
            assert sentence in said.stderr
        said = as_a_user("hub", "doctor", hub)
        assert "cannot be written by this user" in said.stdout
        assert said.returncode == 1
    finally:
        for path in (hub, *hub.rglob("*")):
            path.chmod(0o700)


def as_a_user(*arguments: object) -> subprocess.CompletedProcess[str]:
    """A command to which files without rights are closed, also if the tests run as root."""
    prefix = AS_A_USER if os.geteuid() == 0 else ()
    return subprocess.run(
        [*prefix, sys.executable, "-m", "snellen", *map(str, arguments)],
        text=True,
        input="a long password\n",
        capture_output=True,
        env=environment(),
        check=False,
    )


@pytest.mark.attack("the disk of a hub's database is full", "a sentence, and nothing half written")
def test_a_full_disk_loses_nothing(place: Path) -> None:
    """A SQLite file that may not grow any more, as on a full disk."""
    hub = open_hub(place / "hub")

    def fill() -> None:
        with hub.database.writing() as session:
            pages = session.scalar(text("PRAGMA page_count"))
            session.execute(text(f"PRAGMA max_page_count={pages}"))
            for number in range(5_000):
                count_attempt(session, AttemptLimit(f"{number} {'x' * 190}", 1))
                session.flush()

    with pytest.raises(HubUnavailable, match="full"):
        fill()
    with hub.database.reading() as session:
        assert session.scalars(select(Attempt.id)).all() == []
    hub.close()


STOPS = 3


@pytest.mark.release
@pytest.mark.attack("PostgreSQL stops under a hub", "503 meanwhile; every upload that was taken is scored once")
def test_postgresql_may_stop_and_start(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """During uploads, reads and scoring: requests get a sentence meanwhile, what was taken is
    scored once, and nobody has to start anything again."""
    programs = find_programs()
    if programs is None:
        pytest.skip(MISSING)
    database = PostgresServer(programs)
    database.start()
    monkeypatch.setenv("SNELLEN_HUB_DATABASE", database.url)
    folder = place / "shared"
    command("hub", "init", folder, "--owner", "olga", stdin="a long password\n")
    (folder / "hub.toml").write_text("[submissions]\nper_day = 100000\n")
    command("hub", "benchmark", folder, "signs", "--data", place / "signs.tsv")
    token = command("hub", "account", folder, "olga", "--token").strip()
    port = free_port()
    processes = [
        subprocess.Popen(
            [*HUB, "serve", str(folder), "--port", str(port)], env=environment(), stderr=subprocess.DEVNULL
        ),
        subprocess.Popen([*HUB, "worker", str(folder), "--processes", "2"], env=environment()),
    ]
    url = f"http://127.0.0.1:{port}"
    taken: list[str] = []
    answers: set[int] = set()
    stopped = threading.Event()

    def upload() -> None:
        while not stopped.is_set():
            status, body = ask(f"{url}/api/v1/benchmarks/signs/submissions", token)
            answers.add(status)
            if status == 201:
                taken.append(body["id"])
            elif status:
                assert status == 503, body
                assert body["detail"].startswith("the database of this hub cannot be used"), body
            stopped.wait(0.5)

    try:
        wait_for(lambda: ask(f"{url}/health")[0] == 200, "the server")
        uploading = threading.Thread(target=upload)
        uploading.start()
        for number in range(STOPS):
            wait_for(lambda number=number: len(taken) > 3 * (number + 1), "uploads")
            database.stop()
            wait_for(lambda: ask(f"{url}/health")[0] == 503, "the outage")
            assert ask(f"{url}/health/live")[0] == 200
            time.sleep(1)
            database.start()
        wait_for(lambda: len(taken) > 3 * (STOPS + 1), "uploads")
        stopped.set()
        uploading.join()
        hub = open_hub(folder)

        def is_done() -> bool:
            with hub.database.reading() as session:
                return set(session.scalars(select(ScoringJob.status))) == {"done"}

        wait_for(is_done, "scoring")
        with hub.database.reading() as session:
            stored = session.scalars(select(Submission.public_id)).all()
            scores = session.scalars(select(SubmissionScore.headline)).all()
        hub.close()
        # Every upload that was answered is there. One whose answer was lost may be there, too.
        assert set(taken) <= set(stored)
        assert len(stored) - len(taken) <= STOPS
        assert scores == [75.0] * len(stored)
        assert answers >= {201, 503}
        assert [process.poll() for process in processes] == [None, None]
    finally:
        stopped.set()
        for process in processes:
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(60) for process in processes]
        database.stop()
        database.delete()
    assert codes == [0, 0]


def ask(url: str, token: str = "") -> tuple[int, Any]:
    """The answer to a GET, or with a token to an upload; 0 if there is none."""
    body = None
    headers = {}
    if token:
        body = (
            b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n'
            b'--b\r\nContent-Disposition: form-data; name="predictions"; filename="p.jsonl"'
            b"\r\n\r\n" + predictions(45) + b"\r\n--b--\r\n"
        )
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "multipart/form-data; boundary=b"}
    request = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)
    except OSError:
        return 0, None
