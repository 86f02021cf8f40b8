"""Death of the process, for real: nothing stored is asked again, nothing computed is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from snellen.cli import main
from snellen.store.runs import find_runs

MODEL = Path(__file__).with_name("slow_model.py")
SAMPLES = 60
IN_FLIGHT = 4


class Start:
    """`snellen run` of the slow model, in a process of its own."""

    def __init__(self, home: Path, seconds: float = 0.15) -> None:
        self.home = home
        self.log = home / "sent.log"
        self.data = home / "questions.tsv"
        self.seconds = seconds
        if not self.data.exists():
            rows = [f"{i}\tWhat is {i}?\tone\ttwo\tB" for i in range(SAMPLES)]
            self.data.write_text("\n".join(["index\tquestion\tA\tB\tanswer", *rows]) + "\n")

    def open(self, *more: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "snellen", "run", "--load", str(MODEL), "-m", "slow"]
        command += ["-b", str(self.data), "--out", str(self.home / "out"), "--no-html", *more]
        environment = os.environ | {"SLOW_MODEL_LOG": str(self.log), "SLOW_MODEL_SECONDS": str(self.seconds)}
        return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def sent(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []

    def wait_for(self, count: int, process: subprocess.Popen[str]) -> None:
        while len(self.sent()) < count:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.005)


def ids(home: Path) -> list[str]:
    (run,) = find_runs(home / "out")
    return [record.id for record in run.records()]


@pytest.mark.parametrize("after", [3, 20, 45])
def test_sigkill_costs_at_most_what_was_in_flight(tmp_path: Path, after: int) -> None:
    start = Start(tmp_path)
    process = start.open()
    start.wait_for(after, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL

    start.seconds = 0.0
    again = start.open()
    assert again.communicate()[0]
    assert again.returncode == 0
    assert sorted(ids(tmp_path)) == sorted(map(str, range(SAMPLES)))
    assert len(start.sent()) <= SAMPLES + IN_FLIGHT
    assert set(start.sent()) == {f"{i}/0" for i in range(SAMPLES)}


def test_ctrl_c_is_quick_keeps_finished_samples_and_prints_how_to_continue(tmp_path: Path) -> None:
    start = Start(tmp_path)
    process = start.open()
    start.wait_for(12, process)
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert time.monotonic() - pressed < 2.0
    assert process.returncode == 130
    assert "continue with: snellen run --load" in said
    assert "Traceback" not in said
    done = ids(tmp_path)
    assert 0 < len(done) < SAMPLES
    (run,) = find_runs(tmp_path / "out")
    assert run.info.status == "interrupted"
    assert run.report().summary.n == len(done)

    start.seconds = 0.0
    again = start.open()
    again.communicate()
    assert again.returncode == 0
    assert len(ids(tmp_path)) == SAMPLES
    assert len(start.sent()) <= SAMPLES + IN_FLIGHT


@pytest.mark.attack("a torn last line in samples.jsonl", "one sample is owed, the rest is kept")
def test_a_torn_line_is_recovered(tmp_path: Path) -> None:
    start = Start(tmp_path, seconds=0.0)
    start.open().communicate()
    (run,) = find_runs(tmp_path / "out")
    samples = run.path / "samples.jsonl"
    samples.write_bytes(samples.read_bytes()[:-40])
    again = start.open()
    again.communicate()
    assert again.returncode == 0
    assert sorted(ids(tmp_path)) == sorted(map(str, range(SAMPLES)))
    assert len(start.sent()) == SAMPLES


@pytest.mark.attack("two processes on one run folder", "the second one says so and ends")
def test_two_processes_on_one_run_do_not_corrupt_it(tmp_path: Path) -> None:
    start = Start(tmp_path, seconds=0.4)
    first = start.open()
    start.wait_for(4, first)
    # It holds the run however long the other one takes to start.
    first.send_signal(signal.SIGSTOP)
    second = start.open()
    _, said = second.communicate()
    first.send_signal(signal.SIGCONT)
    first.communicate()
    assert (first.returncode, second.returncode) == (0, 2)
    assert "another process or call is writing" in said
    assert sorted(ids(tmp_path)) == sorted(map(str, range(SAMPLES)))
    lines = (find_runs(tmp_path / "out")[0].path / "samples.jsonl").read_text().splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == len(lines) == SAMPLES


def test_a_killed_run_is_reported_from_what_it_has(tmp_path: Path, capsys) -> None:
    start = Start(tmp_path)
    process = start.open()
    start.wait_for(20, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert main(["report", str(tmp_path / "out"), "--format", "json"]) == 1
    (report,) = json.loads(capsys.readouterr().out)
    assert report["run"]["status"] == "running"
    assert report["summary"]["n"] == len(ids(tmp_path)) > 0
    assert main(["report", str(tmp_path / "out")]) == 1
    assert "continue" in capsys.readouterr().out


def test_sigterm_is_like_ctrl_c(tmp_path: Path) -> None:
    start = Start(tmp_path)
    process = start.open()
    start.wait_for(8, process)
    process.terminate()
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "continue with: snellen run" in said


def test_shards_that_are_killed_and_merged_ask_nothing_twice(tmp_path: Path) -> None:
    """Three processes write into one folder; one is killed and started again."""
    start = Start(tmp_path, seconds=0.05)
    processes = [start.open("--shard", f"{index}/3") for index in (1, 2, 3)]
    start.wait_for(SAMPLES // 3, processes[1])
    processes[1].send_signal(signal.SIGKILL)
    assert main(["merge", str(tmp_path / "out")]) == 1
    for process in (*processes, start.open("--shard", "2/3")):
        process.communicate()
    assert main(["merge", str(tmp_path / "out")]) == 0
    assert sorted(ids(tmp_path), key=int) == ids(tmp_path) == [str(number) for number in range(SAMPLES)]
    assert SAMPLES <= len(start.sent()) <= SAMPLES + IN_FLIGHT
