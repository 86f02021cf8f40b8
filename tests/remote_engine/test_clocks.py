"""A clock that is set back, and files from the future: waits, leases and what is read of files."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from remote_runs import Scripted, asked_about, measured
from standin_server import StandIn, chat_reply

from snellen import evaluate
from snellen.store.in_flight import InFlightRequests

HOUR = 3600.0


class Clock:
    """Set back by an hour, again and again."""

    def __init__(self) -> None:
        self.true = time.time
        self.asked = 0

    def time(self) -> float:
        self.asked += 1
        return self.true() - HOUR * (self.asked // 3)


@pytest.mark.attack(
    "the clock is set back while a run waits, is rate limited and shares its store",
    "no wait is longer for it, and the run ends as with a clock that is right",
)
def test_run_completes_when_the_clock_is_set_back(
    server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = measured(server, tmp_path / "straight", 40)
    server.handler = Scripted()
    clock = Clock()
    monkeypatch.setattr(time, "time", clock.time)
    began = time.monotonic()
    run = measured(server, tmp_path / "back", 40)
    assert time.monotonic() - began < 30
    assert clock.asked > 3
    assert run.info.status in ("complete", "incomplete")
    assert run.info.counts.seconds >= 0
    assert run.info.counts.samples == straight.info.counts.samples == 40
    while run.info.status != "complete":
        server.handler = Scripted(trouble=False)
        run = measured(server, tmp_path / "back", 40)
    assert run.info.counts.done == 40


@pytest.mark.attack(
    "the clock is set back after another run on the store died", "its lease, which now ends in an hour, holds nothing"
)
def test_a_lease_from_the_future_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.sqlite"
    # On another machine, of whose processes nothing is known.
    monkeypatch.setattr("snellen.store.in_flight._machine", lambda: "elsewhere")
    monkeypatch.setattr(time, "time", lambda true=time.time: true() + HOUR)
    dead = InFlightRequests(path)
    dead.enter()
    mine = InFlightRequests(path)
    mine.enter()
    dead.renew([b"request"])
    mine.renew([])
    assert not mine.claim(b"request")
    monkeypatch.undo()
    assert mine.claim(b"request")
    mine.leave()
    dead.leave()


@pytest.mark.attack(
    "data with a time in the future are replaced by others of the same size and time", "they are read anew"
)
def test_files_from_the_future(server: StandIn, tmp_path: Path) -> None:
    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(0)
        number = asked_about(body) if "What is" in str(body) else 0
        return web.json_response(chat_reply("AB"[number % 2]))

    server.handler = answer
    data = tmp_path / "q.tsv"
    later = time.time() + 1000 * 24 * HOUR
    scores = []
    for gold in ("A", "B"):
        rows = "".join(f"{i}\tWhat is {i}?\tone\ttwo\t{gold}\n" for i in range(0, 8, 2))
        data.write_text("index\tquestion\tA\tB\tanswer\n" + rows)
        os.utime(data, (later, later))
        results = evaluate(f"{server.url}#tiny", str(data), out=tmp_path / "out", html=False)
        (run,) = results.runs
        assert run.info.status == "complete"
        scores.append(run.report().summary.headline.value)
    assert scores == [100.0, 0.0]
