"""A worker is a real process: what it answers, and what becomes of one that misbehaves."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.bridge.conftest import ADAPTER, COMMAND

from snellen.bridge.process import PeerFault, PeerLost, PeerWorker, Session, WorkerCommand, WorkerLimits
from snellen.bridge.protocol import Aggregated, JudgeQuestion, ListedTask, SampleData, SampleScore
from snellen.core.errors import UsageError

Open = Callable[[str], Session]


def score(session: Session, index: int = 1, reply: str = "B", seconds: float = 60) -> SampleScore:
    return session.call(SampleScore, "score", seconds=seconds, index=index, replies=[reply])


def test_a_task_is_asked_and_scored(open_session: Open) -> None:
    session = open_session("plain")
    assert session.facts.count == 4
    sample = session.call(SampleData, "sample", index=2)
    assert sample.gold == ("C",)
    shown = sample.messages[0].parts[0]
    assert Path(shown.path).stem.isalnum()
    assert Path(shown.path).read_bytes().startswith(b"\x89PNG")
    assert score(session, 2, "C").correct is True
    assert score(session, 2, "D").correct is False
    records = [{"index": one, "replies": ["A"], "state": [one == 0, one]} for one in range(4)]
    assert session.call(Aggregated, "aggregate", records=records).metrics["colour sense"] == 0.25


@pytest.mark.parametrize(
    ("task", "kind", "says"),
    [("absent", "data", "colours.tsv"), ("lacking", "needs", "prism"), ("unknown", "usage", "no task")],
)
def test_a_task_that_cannot_be_opened_says_why(open_session: Open, task: str, kind: str, says: str) -> None:
    with pytest.raises(PeerFault, match=says) as caught:
        _ = open_session(task).facts
    assert caught.value.fault.kind == kind


@pytest.mark.parametrize("task", ["raises", "grouped"])
def test_an_error_of_the_tool_is_one_sentence_and_ends_nothing(open_session: Open, task: str) -> None:
    session = open_session(task)
    with pytest.raises(PeerFault, match="ValueError: a colour out of space") as caught:
        score(session)
    assert "colours.py" in caught.value.fault.trace
    assert score(session, 0, "A").correct is True


def test_hashes_are_the_same_in_each_worker(open_session: Open) -> None:
    first, second = open_session("hashes"), open_session("hashes")
    assert score(first).values == score(second).values


def test_a_worker_that_exits_is_lost_with_its_last_lines(open_session: Open) -> None:
    session = open_session("exits")
    with pytest.raises(PeerLost, match=r"has ended \(exit code 7\); its last lines: .*no more colours"):
        score(session)
    assert score(session, 0, "A").correct is True, "another one is started"


def test_a_worker_that_is_lost_once_is_started_again(open_session: Open) -> None:
    assert score(open_session("once")).correct is True


def test_a_worker_that_hangs_is_ended_in_time(open_session: Open) -> None:
    session = open_session("hangs")
    assert session.facts.count == 4
    before = time.monotonic()
    with pytest.raises(PeerLost, match="did not answer in time"):
        score(session, seconds=1)
    assert time.monotonic() - before < 30


def test_a_message_that_is_none_ends_the_worker(open_session: Open) -> None:
    with pytest.raises(PeerLost, match="'hello there', which is no message of the exchange"):
        score(open_session("chatters"))


def test_it_sees_no_key_and_no_network(open_session: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-123456789")
    monkeypatch.setenv("HF_TOKEN", "hf_123456789")
    with pytest.raises(PeerFault, match=r"keys \[\], network Network is unreachable"):
        score(open_session("looks"))


def test_a_judge_is_asked_and_its_answer_awaited(open_session: Open) -> None:
    session = open_session("judged")
    with pytest.raises(PeerFault) as caught:
        score(session, 0, "crimson")
    assert caught.value.fault.kind == "judge"
    asked: list[JudgeQuestion] = []

    def answer(one: JudgeQuestion) -> str:
        asked.append(one)
        return "Yes."

    scored = session.call(SampleScore, "score", judge=answer, index=0, replies=["crimson"])
    assert scored.correct is True
    assert asked[0] == caught.value.fault.asks[0]
    assert asked[0].messages[0].parts[0].text == "Is 'crimson' red?"


def test_its_processes_end_with_it(tmp_path: Path) -> None:
    worker = PeerWorker(COMMAND, tmp_path)
    pid = worker._process.pid
    assert worker.call(dict[str, list[ListedTask]], "tasks")["tasks"][0].name == "plain"
    worker.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(PeerLost, match="has been ended"):
        worker.call(dict, "tasks")


def test_stopping_from_another_thread_ends_what_it_does(open_session: Open) -> None:
    session = open_session("hangs")
    assert session.facts.count == 4
    threading.Timer(1.0, session.stop).start()
    with pytest.raises(PeerLost):
        score(session)


def test_a_killed_worker_is_named_by_its_signal(tmp_path: Path) -> None:
    worker = PeerWorker(COMMAND, tmp_path)
    os.kill(worker._process.pid, signal.SIGKILL)
    with pytest.raises(PeerLost, match=r"SIGKILL"):
        worker.call(dict, "tasks")


def test_the_memory_is_limited(tmp_path: Path) -> None:
    hungry = tmp_path / "hungry.py"
    text = ADAPTER.read_text().replace("keys = {", "b = bytearray(1 << 31); keys = {")
    hungry.write_text(text)
    command = WorkerCommand("colours", sys.executable, {"module": str(hungry)})
    worker = PeerWorker(command, tmp_path, WorkerLimits(memory_mb=1024))
    worker.call(dict, "open", task="looks", folder=str(tmp_path / "media"))
    with pytest.raises(PeerFault, match="MemoryError"):
        worker.call(SampleScore, "score", index=1, replies=["B"])
    worker.close()


def test_a_python_that_is_not_there_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="/nowhere/python does not start"):
        PeerWorker(WorkerCommand("colours", "/nowhere/python", {}), tmp_path)
