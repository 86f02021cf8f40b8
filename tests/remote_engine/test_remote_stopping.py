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
from remote_runs import Scripted, asked_about, questions
from standin_server import StandIn, chat_reply

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
@pytest.mark.attack(
    "kill -9 of a run with a server",
    "only what was in flight is asked again",
)
def test_a_kill_costs_at_most_what_was_in_flight(
    server: StandIn, tmp_path: Path, kill: int
) -> None:
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
