"""What is said and noted when Ray ends the process of a run, without a cluster: its parts are
sockets here."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from snellen import evaluate
from snellen.engine.ray import watchdog
from snellen.engine.ray.lost_runs import LOST_REASON
from snellen.store.runs import RunWriter, open_run

SCRIPT = Path(watchdog.__file__)


@pytest.fixture
def raylet(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "raylet"))
        listening.listen()
        yield listening


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that goes on, by its folder, and the last of which is a note of what it spent."""
    results = evaluate("random", "eyechart", limit=4, out=tmp_path / "out", html=False, command="snellen run ...")
    return results.runs[0].path


def going_on(run: Path) -> None:
    with RunWriter(run) as writer:
        info = replace(open_run(run).info, status="running")
        writer.write_info(info)
        writer.record_spending({"model": replace(info.spent["model"], sent=99)})


def watched(run: Path, raylet: Path, says: bytes) -> str:
    watcher = subprocess.Popen(
        [sys.executable, "-I", "-S", str(SCRIPT), str(run.parent), str(raylet), ""],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(0.3)
    going_on(run)
    return watcher.communicate(says, timeout=60)[1].decode()


def test_the_node_is_gone(run: Path, raylet: socket.socket, tmp_path: Path) -> None:
    raylet.close()
    assert watched(run, tmp_path / "raylet", b"") == (
        f"snellen: {LOST_REASON}\nstopped; what was finished is kept in {run}\ncontinue with: snellen run ...\n"
    )
    info = open_run(run).info
    assert (info.status, info.stopped) == ("interrupted", LOST_REASON)
    assert info.spent["model"].sent == 99
    assert len(list(open_run(run).records())) == 4


def test_the_command_ended_by_itself(run: Path, raylet: socket.socket, tmp_path: Path) -> None:
    raylet.close()
    assert watched(run, tmp_path / "raylet", b"ended\n") == ""
    assert open_run(run).info.status == "running"


def test_killed_command_on_a_live_node_prints_nothing(run: Path, raylet: socket.socket, tmp_path: Path) -> None:
    assert watched(run, tmp_path / "raylet", b"") == ""
    assert open_run(run).info.status == "running"


def test_a_run_that_another_process_writes_is_left_alone(run: Path, raylet: socket.socket, tmp_path: Path) -> None:
    raylet.close()
    going_on(run)
    with RunWriter(run):
        done = subprocess.run(
            [sys.executable, "-m", "snellen.engine.ray.lost_runs", str(run.parent), "0"],
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stderr == f"snellen: {LOST_REASON}\n"
    assert open_run(run).info.status == "running"
