"""From a publication with answers kept back to a hidden score: publish, host, submit, score."""

from __future__ import annotations

import base64
import io
import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import pyarrow.parquet
import pytest
from PIL import Image
from sqlalchemy import select
from test_api import HUB, Served, command, environment, free_port

from snellen_hub.database.tables import HostedBenchmark, HostedItem, SubmissionScore
from snellen_hub.hub import open_hub
from snellen_hub.uploaded_replies import decode_questions

QUESTIONS = 60
KILLED = """
import os, signal, sys
from snellen.cli.main import main
from snellen_hub import benchmark_data, hosting

calls, last = 0, int(sys.argv[1])

def open_or_die(*words, _open=benchmark_data.open_hosted):
    global calls
    calls += 1
    if calls == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return _open(*words)

benchmark_data.open_hosted = hosting.open_hosted = open_or_die
main(sys.argv[2:])
"""
"""A command that is killed at a time at which it opens data."""


def write_questions(path: Path) -> dict[str, str]:
    """Questions about pictures; returns their answers."""
    answers: dict[str, str] = {}
    lines = ["index\tquestion\tA\tB\tC\tD\tanswer\tcategory\timage"]
    for number in range(QUESTIONS):
        file = io.BytesIO()
        Image.new("RGB", (16, 16), (number * 4, 90, 120)).save(file, "PNG")
        answer = answers[str(number)] = "ABCD"[number * 7 % 4]
        cell = base64.b64encode(file.getvalue()).decode()
        lines.append(
            f"{number}\tWhich of {number}?\tone\ttwo\tthree\tfour\t{answer}\t"
            f"{'even' if number % 2 == 0 else 'odd'}\t{cell}"
        )
    path.write_text("\n".join(lines) + "\n")
    return answers


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with questions, a publication of them, its private folder and its key."""
    place = tmp_path_factory.mktemp("published")
    write_questions(place / "signs.tsv")
    command(
        "curate",
        "publish",
        place / "signs.tsv",
        "--out",
        place / "public",
        "--name",
        "Signs",
        "--hold-out",
        "0.5",
        "--seal-key",
        place / "key",
        "--facts",
        "licence=CC-BY-4.0",
        "--private",
        place / "private",
        code=1,
    )
    return place


@pytest.mark.release
def test_publish_host_submit_score(published: Path, tmp_path: Path) -> None:
    answers = write_questions(tmp_path / "signs.tsv")
    public, key = published / "public", published / "key"
    sealed = published / "private" / "answers.sealed"
    hub = Served(tmp_path / "hub", free_port())
    command("hub", "init", hub.folder, "--owner", "olga", stdin="a long password\n")
    add = ("hub", "benchmark", hub.folder, "signs", "--data", public, "--hidden", f"answers={sealed}")
    # The key is that of the environment, or a file; without it nothing is hosted.
    assert "is encrypted" in command(*add, code=2)
    other = "A" * 85 + "AAA="
    assert "holds no key" in command(*add, code=2, SNELLEN_SEAL_KEY=other)
    assert "30 items" in command(*add, SNELLEN_SEAL_KEY=key.read_text().strip())
    assert "30 items" in command(
        "hub",
        "benchmark",
        hub.folder,
        "signs-again",
        "--data",
        public / "data" / "test.parquet",
        "--hidden",
        f"answers={sealed}",
        "--seal-key",
        key,
    )
    hub.token = command("hub", "account", hub.folder, "olga", "--token").strip()
    processes = [
        subprocess.Popen([*HUB, "serve", str(hub.folder), "--port", hub.url.rpartition(":")[2]], env=environment()),
        subprocess.Popen([*HUB, "worker", str(hub.folder)], env=environment()),
    ]
    try:
        wait_for(hub)
        questions = download(hub, tmp_path / "downloaded.parquet")
        rows = pyarrow.parquet.read_table(questions).to_pylist()
        assert len(rows) == 30
        assert not any(row["answer"] for row in rows)
        replies = [
            {"index": row["index"], "prediction": answers[row["index"]] if n < 21 else "no idea"}
            for n, row in enumerate(rows)
        ]
        file = tmp_path / "predictions.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in replies))
        sent = command(
            "submit",
            file,
            "--hub",
            hub.url,
            "--benchmark",
            "signs",
            "--name",
            "m",
            "--publish",
            "--json",
            SNELLEN_HUB_TOKEN=hub.token,
        )
        state = json.loads(sent)
        assert (state["status"], state["visibility"]) == ("scored", "published")
        # Of the public part alone.
        assert state["score"]["headline"]["n"] == 9
        assert hub.get("/api/v1/benchmarks/signs/samples") == (
            404,
            "the answers of signs are hidden, and so are its samples",
        )
        assert hub.get("/api/v1/benchmarks/signs")[1]["hidden"] is True
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
        assert [process.wait(30) for process in processes] == [0, 0]
    check_stored(hub.folder, answers)


@pytest.mark.attack(
    "commands that read hidden answers are killed in the middle: hosting kept back answers, taking "
    "their pictures out, attacking a copy of the board",
    "what they leave is named by the doctor at once, and deleted by it or the next worker",
)
def test_answers_left_by_killed_commands_are_found(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
    (tmp_path / "temp").mkdir()
    hub, key = tmp_path / "hub", (published / "key").read_text().strip()
    command("hub", "init", hub, "--owner", "olga", stdin="a long password\n")
    sealed = published / "private" / "answers.sealed"
    add = ("hub", "benchmark", hub, "signs", "--data", published / "public", "--hidden", f"answers={sealed}")
    own = ("hub", "benchmark", hub, "own", "--data", published / "signs.tsv", "--hidden")
    command(*own)
    for last, words in ((1, add), (2, (*own[:3], "other", *own[4:])), (1, ("hub", "attack", hub, "own"))):
        ended = subprocess.run(
            [sys.executable, "-c", KILLED, str(last), *map(str, words)],
            env=environment(TMPDIR=tempfile.gettempdir(), SNELLEN_SEAL_KEY=key),
            check=False,
        )
        assert ended.returncode == -signal.SIGKILL
        (left,) = [path for path in Path(tempfile.gettempdir()).iterdir() if any(path.rglob("*"))]
        assert f"left {left}, with answers" in command("hub", "doctor", hub)
        command("hub", "doctor", hub, "--repair")
        assert not left.exists()


def check_stored(folder: Path, answers: dict[str, str]) -> None:
    """The score is that of the public part, and no answer stands in the storage."""
    hub = open_hub(folder)
    with hub.database.reading() as session:
        score = session.scalars(select(SubmissionScore)).one()
        ids = session.scalars(select(HostedBenchmark.ids).where(HostedBenchmark.name == "signs")).one()
        questions = decode_questions(hub.storage.get(ids))
        right = [n < 21 for n, each in enumerate(questions) if each.part == 0]
        assert score.headline == pytest.approx(100 * sum(right) / 9)
        assert session.scalars(select(HostedItem)).all() == []
        assert all(row.is_hidden for row in session.scalars(select(HostedBenchmark)))
    stored = [path.read_bytes() for path in (folder / "storage").rglob("*") if path.is_file()]
    for name in answers:
        assert not any(f'"index":"{name}","answer'.encode() in each for each in stored)
        assert not any(f'"answer":"{answers[name]}"'.encode() in each for each in stored)
    hub.close()


def wait_for(hub: Served) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            if hub.get("/health")[0] == 200:
                return
        except OSError:
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.1)


def download(hub: Served, path: Path) -> Path:
    with urllib.request.urlopen(f"{hub.url}/api/v1/benchmarks/signs/data", timeout=30) as response:
        assert "test.parquet" in response.headers["Content-Disposition"]
        path.write_bytes(response.read())
    return path


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ("public/Signs_DEV.tsv", "has an answer, so these are not the questions"),
        ("public/Signs_TEST.tsv", ""),
        ("signs-blank.tsv", "is not of these questions: 60 questions and 30 answers"),
        ("private", "is no publication with held-out questions"),
    ],
)
def test_answers_of_other_questions_are_refused(published: Path, tmp_path: Path, changed: str, sentence: str) -> None:
    if changed == "signs-blank.tsv":
        header, *rows = (published / "signs.tsv").read_text().splitlines()
        cells = [row.split("\t") for row in rows]
        blank = ["\t".join([*row[:6], "", *row[7:]]) for row in cells]
        (published / changed).write_text("\n".join([header, *blank]) + "\n")
    command("hub", "init", tmp_path / "hub", stdin="a long password\n")
    said = command(
        "hub",
        "benchmark",
        tmp_path / "hub",
        "signs",
        "--data",
        published / changed,
        "--hidden",
        f"answers={published}/private/answers.sealed",
        "--seal-key",
        published / "key",
        code=2 if sentence else 0,
    )
    assert sentence in said
