"""Run a coroutine to its end, also under an event loop that is already running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import ContextVar, copy_context
from threading import Event, Lock
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
    raises KeyboardInterrupt once it has ended. In a call of `run_in_thread`, CancelledError is
    raised if that was cancelled.
    """
    cancellation = _cancellation.get()
    if cancellation is not None:
        main = cancellation.supervise(main)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main)
    return _run_in_thread(main)


async def run_in_thread(call: Callable[[], T]) -> T:
    """Await a blocking call, in a thread of its own.

    Cancelling cancels the coroutines that the call runs by `run_coroutine`, those it would still
    run too, and waits until the call has ended, so that it leaves nothing half done.
    """
    cancellation = _Cancellation()
    context = copy_context()
    context.run(_cancellation.set, cancellation)
    pool = ThreadPoolExecutor(1, "snellen-call")
    future = asyncio.wrap_future(pool.submit(context.run, call))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        cancellation.cancel()
        # A second cancellation returns at once; the thread is then joined at exit only.
        await asyncio.wait([future])
        if not future.cancelled():
            future.exception()  # looked at, or asyncio warns: the caller gets the cancellation
        raise
    finally:
        pool.shutdown(wait=False)


class _Cancellation:
    """Cancels the coroutine that a call in another thread runs now, or will run."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_cancelled = False
        self._current: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None

    async def supervise(self, main: Coroutine[Any, Any, T]) -> T:
        """The result of `main`. Raises CancelledError if the call was cancelled."""
        task = asyncio.current_task()
        assert task is not None
        with self._lock:
            if self._is_cancelled:
                main.close()
                raise asyncio.CancelledError
            self._current = (asyncio.get_running_loop(), task)
        try:
            return await main
        finally:
            with self._lock:
                self._current = None

    def cancel(self) -> None:
        """Cancel, from any thread."""
        with self._lock:
            self._is_cancelled = True
            if self._current is not None:
                loop, task = self._current
                loop.call_soon_threadsafe(task.cancel)


_cancellation: ContextVar[_Cancellation | None] = ContextVar("_cancellation", default=None)
"""Cancellation of the `run_in_thread` call that runs this code."""


def _run_in_thread(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine under an event loop in another thread and wait for its result; cancel it on
    Ctrl-C and on cancellation of the caller."""
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
