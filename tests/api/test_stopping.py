"""Ctrl-C and cancelling: what is finished is kept, and the same call goes on from there."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest

import snellen

SAMPLES = 812
"""Of eyechart."""


class Slow:
    """Answers one question in 10 ms, or waits for ever."""

    identity = snellen.Identity("mine", "slow", {})
    capabilities = snellen.Capabilities()

    def __init__(self, waits_from: int = SAMPLES) -> None:
        self.asked, self.waits_from = 0, waits_from

    async def answer(self, request: snellen.Generate) -> snellen.Generated:
        self.asked += 1
        await asyncio.sleep(0.01 if self.asked <= self.waits_from else 60)
        return snellen.Generated("A")


def test_cancelling_keeps_finished_samples_and_the_same_call_resumes(tmp_path: Path) -> None:
    async def main() -> int:
        model = Slow(waits_from=30)
        call = snellen.aevaluate([model], "eyechart", out=tmp_path, limit=60, html=False)
        task = asyncio.create_task(call)
        while model.asked <= 30:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (run,) = snellen.open_runs(tmp_path)
        assert run.status == "interrupted"
        assert run.score is not None
        done = run.info.counts.done
        # The folder is free again.
        rest = Slow()
        results = await snellen.aevaluate([rest], "eyechart", out=tmp_path, limit=60, html=False)
        assert (results[0].status, results[0].n, rest.asked) == ("complete", 60, 60 - done)
        return done

    assert 0 < asyncio.run(main()) <= 30


def test_cancelling_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        task = asyncio.create_task(snellen.aevaluate("random", "eyechart", out=tmp_path))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_timeout_cancels(tmp_path: Path) -> None:
    async def main() -> None:
        call = snellen.aevaluate([Slow(5)], "eyechart", out=tmp_path, html=False)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(call, 1)

    asyncio.run(main())
    assert snellen.open_runs(tmp_path)[0].status == "interrupted"


def test_event_loop_stays_responsive_and_calls_run_concurrently(tmp_path: Path) -> None:
    async def main() -> tuple[int, list[int]]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        models = ("random", "random:seed=1")
        calls = [snellen.aevaluate(model, "eyechart", out=tmp_path, limit=100, html=False) for model in models]
        results = await asyncio.gather(*calls)
        ticking.cancel()
        return ticks, [each[0].n for each in results]

    ticks, counts = asyncio.run(main())
    assert counts == [100, 100]
    assert ticks > 3


def test_errors_come_through(tmp_path: Path) -> None:
    with pytest.raises(snellen.SnellenError, match="unknown benchmark 'eychart'"):
        asyncio.run(snellen.aevaluate("random", "eychart", out=tmp_path))


class Ended(NamedTuple):
    code: int
    err: str


def interrupted(code: str, out: Path, delay: float) -> Ended:
    """Run a program, send it SIGINT once its run has a sample and `delay` seconds later."""
    process = subprocess.Popen([sys.executable, "-c", dedent(code), str(out)], stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 90
    while not list(out.glob("*/samples.jsonl")):
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < limit
        time.sleep(0.02)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=90)
    return Ended(process.returncode, err)


OWN_MODEL = """
    import asyncio, sys
    import snellen

    class Slow:
        identity = snellen.Identity("mine", "slow", {})
        capabilities = snellen.Capabilities()
        async def answer(self, request):
            await asyncio.sleep(0.05)
            return snellen.Generated("A")

    def call():
        snellen.evaluate([Slow()], "eyechart", out=sys.argv[1], html=False)
"""
ENDINGS = {
    "script": "call()",
    "running loop": """
        async def main():
            call()
        asyncio.run(main())
    """,
    "async": """
        asyncio.run(snellen.aevaluate([Slow()], "eyechart", out=sys.argv[1], html=False))
    """,
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_ctrl_c_in_a_program(tmp_path: Path, ending: str) -> None:
    ended = interrupted(dedent(OWN_MODEL) + dedent(ENDINGS[ending]), tmp_path, 0.1)
    assert ended.code not in (0, -signal.SIGABRT)
    assert "KeyboardInterrupt" in ended.err or "RunInterrupted" in ended.err
    (run,) = snellen.open_runs(tmp_path)
    assert run.status == "interrupted"
    assert 0 < run.info.counts.done < SAMPLES
    if ending == "script":
        last = ended.err.strip().splitlines()[-1]
        assert f"{run.info.counts.done} of {SAMPLES} samples are kept in {run.path}" in last


def test_message_of_an_interrupted_run_explains_how_to_continue(tmp_path: Path) -> None:
    stopped = snellen.RunInterrupted(tmp_path / "run", 12, SAMPLES)
    assert issubclass(snellen.RunInterrupted, KeyboardInterrupt)
    assert str(stopped) == (
        f"stopped; 12 of 812 samples are kept in {tmp_path / 'run'}; the same call, with the same "
        "arguments, goes on there"
    )


TORCH_MODEL = """
    import sys
    import snellen
    import torch

    class Busy:
        identity = snellen.Identity("mine", "busy", {})
        capabilities = snellen.Capabilities()
        matrix = torch.ones(600, 600)
        def answer(self, request):
            for _ in range(5):
                torch.linalg.svd(self.matrix)
            return snellen.Generated("A")

    snellen.evaluate([Busy()], "eyechart", out=sys.argv[1], html=False)
"""
TINY = """
    import sys
    import snellen

    snellen.evaluate("snellen/tiny:device=cpu", "eyechart", out=sys.argv[1], html=False)
"""


@pytest.mark.parametrize("code", [TORCH_MODEL, pytest.param(TINY, marks=pytest.mark.release)], ids=["torch", "tiny"])
def test_ctrl_c_while_a_local_model_computes(tmp_path: Path, code: str) -> None:
    ended = interrupted(code, tmp_path, 0.15)
    # The interpreter ended without waiting for the model: torch then ends the process by SIGABRT.
    assert ended.code != -signal.SIGABRT, ended.err
    assert "terminate called" not in ended.err
    assert "samples are kept in" in ended.err
