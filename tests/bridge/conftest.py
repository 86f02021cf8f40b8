"""Workers of a small tool, as real processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from snellen.bridge import benchmark
from snellen.bridge.process import Session, WorkerCommand

ADAPTER = Path(__file__).with_name("colours.py")
COMMAND = WorkerCommand("colours", sys.executable, {"module": str(ADAPTER)})


@pytest.fixture
def open_session(tmp_path: Path) -> Iterator[Callable[[str], Session]]:
    """Opens a task of the small tool."""
    opened: list[Session] = []

    def open_one(task: str) -> Session:
        opened.append(Session(COMMAND, task, {}, tmp_path / task))
        return opened[-1]

    yield open_one
    for session in opened:
        session.close()


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Lets the names of VLMEvalKit's tasks mean those of the small tool."""
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    # A checkout of the user's own may have tasks that the list of the pinned one lacks.
    monkeypatch.setenv("SNELLEN_VLMEVALKIT_CHECKOUT", str(tmp_path))
    monkeypatch.setattr(benchmark, "worker_command", lambda peer, place: COMMAND)
    benchmark.open_task.cache_clear()
    yield
    benchmark.open_task.cache_clear()
