"""Runs that go on at the same time over one store."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from snellen.core.model import Capabilities, Identity
from snellen.core.output import Failure, Generated, Output
from snellen.core.request import Generate, Ref, Request, Text, user
from snellen.engine.loop import concurrent_runs
from snellen.engine.loop.concurrent_runs import ConcurrentRuns
from snellen.engine.loop.request_broker import RequestBroker
from snellen.store import in_flight
from snellen.store.in_flight import InFlightRequests, count_live_runs
from snellen.store.responses import ResponseStore

KEY = b"k" * 32


class Model:
    """Takes a while; `failing` times the server is down."""

    identity = Identity("test", "slow")
    capabilities = Capabilities()

    def __init__(self, failing: int = 0) -> None:
        self.sent: list[str] = []
        self.failing = failing

    async def answer(self, request: Request) -> Output:
        self.sent.append(request.ref.sample)
        await asyncio.sleep(0.05)
        if self.failing:
            self.failing -= 1
            return Failure("server", "down")
        return Generated("A")


def question(number: int) -> Generate:
    return Generate(messages=(user(Text(f"Which is {number}?")),), ref=Ref(str(number)))


async def ask_all(path: Path, model: Model, count: int, wait: float = 0.0) -> list[Output]:
    await asyncio.sleep(wait)
    with ResponseStore(path) as store:
        broker = RequestBroker({"model": model}, store)
        broker.concurrent_runs = ConcurrentRuns(store)
        await broker.concurrent_runs.start(broker.in_flight)
        try:
            asked = []
            for first in range(0, count, 4):
                four = (broker.ask(question(n)) for n in range(first, min(first + 4, count)))
                asked += await asyncio.gather(*four)
        finally:
            await broker.concurrent_runs.stop()
            broker.close()
    return [one.output for one in asked]


@pytest.mark.parametrize("wait", [0.0, 0.12])
@pytest.mark.attack("two runs that ask the same of one store at the same time", "each request is sent once")
def test_each_request_is_sent_by_one_of_two_runs(tmp_path: Path, wait: float) -> None:
    """Also where the second comes while the first is in the middle of its work."""

    async def both() -> None:
        path = tmp_path / "store.sqlite"
        first, second = await asyncio.gather(ask_all(path, one, 60), ask_all(path, other, 60, wait))
        assert first == second == [Generated("A")] * 60

    one, other = Model(), Model()
    asyncio.run(both())
    assert sorted([*one.sent, *other.sent], key=int) == list(map(str, range(60)))


def test_request_that_fails_in_one_run_is_asked_by_the_other(tmp_path: Path) -> None:
    async def both() -> None:
        path = tmp_path / "store.sqlite"
        first, second = await asyncio.gather(ask_all(path, one, 1), ask_all(path, other, 1))
        assert sorted(type(answer).__name__ for answer in (*first, *second)) == ["Failure", "Generated"]

    one, other = Model(failing=1), Model()
    asyncio.run(both())
    assert (len(one.sent), len(other.sent)) == (1, 1)


def test_a_run_that_is_alone_notes_no_request(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    noted: list[int] = []

    class Looking(Model):
        async def answer(self, request: Request) -> Output:
            with sqlite3.connect(path) as store:
                noted.extend(store.execute("SELECT count(*) FROM in_flight").fetchone())
            store.close()
            return await super().answer(request)

    asyncio.run(ask_all(path, Looking(), 4))
    assert noted == [0] * 4


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has a request in flight and never ends it."""
    program = (
        "import sys, time; from pathlib import Path\n"
        "from snellen.store.in_flight import InFlightRequests\n"
        "mine = InFlightRequests(Path(sys.argv[1])); mine.enter(); mine.renew(())\n"
        "assert mine.claim(b'k' * 32); print('there', flush=True)\n"
        "while True: time.sleep(0.05); mine.renew(())"
    )
    store = str(tmp_path / "store.sqlite")
    process = subprocess.Popen([sys.executable, "-c", program, store], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    yield process
    process.kill()
    process.communicate()


def test_claims_request_of_a_dead_process(
    tmp_path: Path, other: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = InFlightRequests(tmp_path / "store.sqlite")
    mine.enter()
    assert mine.sharing
    assert not mine.claim(KEY)
    monkeypatch.setattr(in_flight, "_is_running", lambda process: True)
    assert not mine.claim(KEY)
    monkeypatch.undo()
    other.kill()
    other.wait()
    assert mine.claim(KEY)
    mine.leave()


def test_claims_request_of_a_stopped_process(
    tmp_path: Path, other: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process is there, and its lease is not renewed."""
    mine = InFlightRequests(tmp_path / "store.sqlite")
    mine.enter()
    os.kill(other.pid, signal.SIGSTOP)
    assert not mine.claim(KEY)
    later = time.time() + in_flight.LEASE + 1
    monkeypatch.setattr(in_flight.time, "time", lambda: later)
    assert mine.claim(KEY)
    mine.leave()


def test_waiting_for_another_run_is_bounded(
    tmp_path: Path, other: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrent_runs, "MAX_WAIT", 0.2)

    async def wait() -> Output | None:
        with ResponseStore(tmp_path / "store.sqlite") as store:
            broker = RequestBroker({"model": Model()}, store)
            mine = ConcurrentRuns(store)
            await mine.start(tuple)
            assert mine.is_active
            started = time.monotonic()
            found = await mine.wait_for_reply(KEY, broker.abort_signal)
            assert 0.1 < time.monotonic() - started < 2.0
            await mine.stop()
            return found

    assert asyncio.run(wait()) is None


def test_a_run_that_left_is_forgotten(tmp_path: Path) -> None:
    one, two = (InFlightRequests(tmp_path / "store.sqlite") for _ in range(2))
    one.enter()
    two.enter()
    assert (one.sharing, two.sharing) == (False, True)
    assert not two.others_share
    one.renew([KEY])
    two.renew(())
    assert two.others_share
    assert not two.claim(KEY)
    one.leave()
    two.renew(())
    assert (two.sharing, two.claim(KEY)) == (False, True)
    with sqlite3.connect(tmp_path / "store.sqlite") as store:
        assert count_live_runs(store) == 1
    store.close()
    two.leave()


def test_locked_store_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with ResponseStore(path) as store:
        store.set_run_folder(tmp_path)
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        mine = InFlightRequests(path)
        mine.enter()
        assert mine.claim(KEY)
        mine.renew([KEY])
        mine.release(KEY)
        mine.leave()
        holder.execute("COMMIT")
        holder.close()
