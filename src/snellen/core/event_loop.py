"""Run a coroutine to its end, also under an event loop that is already running."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from threading import Event
from typing import Any, TypeVar

_POLL_INTERVAL = 0.1
"""Seconds between two looks at whether Ctrl-C cancelled the task that waits."""

_START_TIMEOUT = 5.0
"""Seconds in which the thread has started its loop, unless Ctrl-C came before the thread."""

T = TypeVar("T")


def run_coroutine(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result, as `asyncio.run` does.

    `asyncio.run` refuses under a running event loop, as in a notebook. There the coroutine runs in
    a thread, under a loop of its own, while this thread waits. Ctrl-C cancels the coroutine and
    raises KeyboardInterrupt once it has ended.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main)
    return _run_in_thread(main)


def _run_in_thread(main: Coroutine[Any, Any, T]) -> T:
    ended = Event()
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = Future()

    async def supervise() -> T:
        task = asyncio.current_task()
        assert task is not None
        started.set_result((asyncio.get_running_loop(), task))
        return await main

    def run_loop() -> T:
        try:
            return asyncio.run(supervise())
        finally:
            ended.set()

    waiting = asyncio.current_task()
    cancels = waiting.cancelling() if waiting is not None else 0
    with ThreadPoolExecutor(1, "snellen-event-loop") as pool:
        try:
            future = pool.submit(copy_context().run, run_loop)
            while not wait([future], _POLL_INTERVAL).done:
                # Under `asyncio.run`, the first Ctrl-C raises nothing: it cancels the main task,
                # which cannot notice while this thread waits.
                if waiting is not None and waiting.cancelling() > cancels:
                    raise KeyboardInterrupt
            return future.result()
        except KeyboardInterrupt:
            with suppress(TimeoutError):
                loop, task = started.result(_START_TIMEOUT)
                loop.call_soon_threadsafe(task.cancel)
                # The pool does not know the thread if Ctrl-C came while it was started.
                ended.wait()
            raise
