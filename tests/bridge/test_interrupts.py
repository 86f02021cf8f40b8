"""Ctrl-C while another tool's code runs, and a Snellen that is killed: its worker ends too, replies stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = """
import sys
from pathlib import Path
import snellen
from snellen.bridge import benchmark
from snellen.core.model import Capabilities, Identity
from tests.bridge.conftest import COMMAND

class Painter:
    identity, capabilities = Identity("tests", "painter"), Capabilities()
    def answer(self, request):
        print("asked", flush=True)
        return "A"

benchmark.worker_command = lambda peer, place: COMMAND
snellen.evaluate({"painter": Painter()}, f"vlmevalkit/{sys.argv[1]}", out=sys.argv[2], progress=False)
"""
ROOT = Path(__file__).parents[2]


def start(task: str, folder: Path) -> subprocess.Popen[str]:
    of_folder = {"SNELLEN_CACHE": str(folder / "cache"), "SNELLEN_VLMEVALKIT_CHECKOUT": "/"}
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, task, str(folder / "runs")],
        env={**os.environ, **of_folder, "PYTHONPATH": str(ROOT)},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def worker_of(process: subprocess.Popen[str]) -> int | None:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for pid in map(int, children):
        if b"worker/main.py" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    return None


def wait_for(found: Callable[[], object], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < until
        time.sleep(0.1)


def is_gone(pid: int) -> bool:
    try:
        return "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_worker_ends_with_snellen(tmp_path: Path, number: signal.Signals) -> None:
    process = start("hangs", tmp_path)
    assert process.stdout is not None
    # Four questions; replies are stored before the worker is asked for a score, the second of which hangs.
    assert [process.stdout.readline() for _ in range(4)] == ["asked\n"] * 4
    marker = tmp_path / "cache"
    wait_for(lambda: list(marker.rglob("hangs")))
    time.sleep(0.5)
    worker = worker_of(process)
    assert worker is not None
    process.send_signal(number)
    process.communicate(timeout=60)
    wait_for(lambda: is_gone(worker))
    again = start("plain", tmp_path)
    said, errors = again.communicate(timeout=120)
    assert again.returncode == 0, errors
    assert not said, "the same questions were answered before the interruption"
