"""Ctrl-C and SIGKILL with many requests on their way."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from remote_runs import Scripted, asked_about, measured, questions
from standin_server import StandIn, chat_reply

from snellen.engine.loop.request_broker import RequestLimits
from snellen.models.naming.registry import open_model
from snellen.models.remote.model import ServerModel
from snellen.report.progress import PlainProgress
from snellen.store.runs import find_runs

WIDTH = 64
KILLS = int(os.environ.get("SNELLEN_DRILL_KILLS", "2"))
"""More of them when asked for: each takes about two seconds."""
STOPPED_WITHIN = 2.0
"""Seconds from Ctrl-C to the end of the process, writing what is there included."""


def start(server: StandIn, folder: Path, count: int) -> subprocess.Popen[str]:
    data = questions(folder, count)
    words = ["run", "-m", f"{server.url}#tiny:concurrency={WIDTH}", "-b", str(data), "-q"]
    return subprocess.Popen(
        [sys.executable, "-m", "snellen", *words, "--no-html"],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for(server: StandIn, count: int, process: subprocess.Popen[str]) -> None:
    while len(server.asked) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


@pytest.mark.parametrize("options", [":timeout=1", ":timeout=30,first_timeout=2"])
@pytest.mark.attack(
    "a server that takes every request and never answers", "the run ends within two timeouts, or within `first_timeout`"
)
def test_silent_server_ends_the_run(server: StandIn, tmp_path: Path, options: str) -> None:
    async def mute(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(5)
        return web.Response()

    server.handler = mute
    lines: list[str] = []
    run = measured(server, tmp_path / "run", 60, RequestLimits(), options=options, progress=PlainProgress(lines.append))
    spent = run.info.spent["model"]
    assert spent.sent > 0
    assert f"requests: {spent.sent} sent" in lines[-1]
    assert 1.5 < run.info.counts.seconds < 3.5
    assert run.info.status == "interrupted"
    assert "did not reply at all" in run.info.stopped
    assert "first_timeout" in run.info.stopped


def test_the_look_at_a_mute_server_takes_half_of_the_time(server: StandIn) -> None:
    async def mute(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(3)
        return web.Response()

    server.handler = mute
    model = open_model(f"{server.url}#tiny:timeout=30,first_timeout=1")
    assert isinstance(model, ServerModel)
    started = time.monotonic()
    asyncio.run(model.check())
    assert 0.4 < time.monotonic() - started < 1.5
    assert model.first_timeout == 0.5


def test_a_server_that_is_slow_at_first_is_waited_for(server: StandIn, tmp_path: Path) -> None:
    """Its first replies come after the timeout of a request, and in time for the run."""

    async def slow(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if len(server.asked) <= 8:
            await asyncio.sleep(3)
        return web.json_response(chat_reply("A"))

    server.handler = slow
    found = measured(server, tmp_path / "run", 20, options=":timeout=1,first_timeout=20")
    assert (found.info.status, found.info.counts.done) == ("complete", 20)


def test_ctrl_c_waits_for_no_server(server: StandIn, tmp_path: Path) -> None:
    """Half of the requests hang, half fail and wait to be sent again."""

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        number = asked_about(body)
        if number < 10:
            return web.json_response(chat_reply("A"))
        if number % 2:
            return web.json_response({"error": {"message": "slow down"}}, status=503)
        await asyncio.sleep(600)
        raise AssertionError

    server.handler = handler
    process = start(server, tmp_path, 300)
    wait_for(server, 40, process)
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - pressed < STOPPED_WITHIN
    assert process.returncode == 130, said
    assert "continue with: snellen run" in said
    (run,) = find_runs(tmp_path / "snellen-results")
    assert run.info.status == "interrupted"
    assert run.info.counts.done == 10


@pytest.mark.parametrize("kill", range(KILLS))
@pytest.mark.attack("kill -9 of a run with a server", "only what was in flight is asked again")
def test_a_kill_costs_at_most_what_was_in_flight(server: StandIn, tmp_path: Path, kill: int) -> None:
    count = 400
    script = Scripted(trouble=False)
    server.handler = script
    process = start(server, tmp_path, count)
    wait_for(server, random.Random(kill).randrange(10, count - 80), process)
    process.kill()
    process.communicate()
    process = start(server, tmp_path, count)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    (run,) = find_runs(tmp_path / "snellen-results")
    assert sorted(int(one.id) for one in run.records()) == list(range(count))
    assert all(one.score == 1.0 for one in run.records())
    assert sum(script.answered.values()) - count <= WIDTH
