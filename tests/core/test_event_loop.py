"""Coroutines and whole runs under an event loop that is already running, as in a notebook."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from contextvars import ContextVar
from pathlib import Path

import pytest

from snellen import evaluate
from snellen.core.event_loop import run_coroutine

NAME: ContextVar[str] = ContextVar("NAME", default="")


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


def test_without_a_loop_it_is_asyncio_run() -> None:
    assert run_coroutine(double(2)) == 4


def test_under_a_running_loop() -> None:
    async def notebook() -> tuple[int, str]:
        NAME.set("cell")

        async def name() -> str:
            return NAME.get()

        return run_coroutine(double(2)), run_coroutine(name())

    assert asyncio.run(notebook()) == (4, "cell")


def test_errors_come_through() -> None:
    async def fail() -> None:
        raise TimeoutError("no answer")

    async def notebook() -> None:
        run_coroutine(fail())

    with pytest.raises(TimeoutError, match="no answer"):
        asyncio.run(notebook())


@pytest.mark.parametrize("handler", ["default", "of asyncio.run"])
def test_ctrl_c_cancels_the_coroutine(handler: str) -> None:
    ended = threading.Event()
    started = threading.Event()

    async def wait() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    def press_ctrl_c() -> None:
        started.wait(10)
        os.kill(os.getpid(), signal.SIGINT)

    async def notebook() -> None:
        if handler == "default":
            signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=press_ctrl_c).start()
        with pytest.raises(KeyboardInterrupt):
            run_coroutine(wait())
        assert ended.is_set()

    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        asyncio.run(notebook())
    except (asyncio.CancelledError, KeyboardInterrupt):
        assert handler == "of asyncio.run"
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.is_set()


def test_evaluate_in_a_notebook(tmp_path: Path) -> None:
    async def notebook() -> str:
        (run,) = evaluate("random", "eyechart", limit=4, out=tmp_path, html=False).runs
        return run.info.status

    assert asyncio.run(notebook()) == "complete"
