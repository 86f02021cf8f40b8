"""The inference loop: drives the flows of all samples, or any other jobs, some at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Iterator
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import msgspec

from snellen.core.output import Failure, Output
from snellen.core.record import Flow, Record
from snellen.core.request import Request
from snellen.core.sample import Sample
from snellen.engine.limits.abort import AbortSignal, RunAborted
from snellen.engine.loop.request_broker import RequestBroker

T = TypeVar("T")
JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")

_YIELD_INTERVAL = 0.02
"""Seconds after which workers that never wait (all replies are stored) yield to the event loop."""
_WAKE_INTERVAL = 0.25
"""Seconds after which an idle event loop wakes up: a signal delivered to another thread does not
interrupt its wait, so Ctrl-C would go unnoticed."""


async def drive_all(
    samples: Iterator[Sample],
    flow: Callable[[Sample], Flow],
    broker: RequestBroker,
    on_record: Callable[[Record], None],
    concurrency: int,
    *,
    threaded: bool = False,
) -> None:
    """Drive the flow of every sample, `concurrency` at a time.

    Samples are taken from the iterator only when a worker is free. `on_record` is called with each
    record, in the order they end. The first error ends all flows. Once the run is aborted no
    sample is started, and requests in flight end within the grace period.

    With `threaded`, flows are started in threads, because preparing a sample (decoding a video,
    composing images) takes long enough to delay everything that waits for a model.
    """
    drive = partial(_drive_flow, flow, broker, threaded)
    await drive_each(samples, drive, broker, on_record, concurrency)


async def drive_each(
    jobs: Iterator[JobT],
    drive: Callable[[JobT], Awaitable[ResultT]],
    broker: RequestBroker,
    on_result: Callable[[ResultT], None],
    concurrency: int,
) -> None:
    """Drive every job, `concurrency` at a time, by a coroutine that asks `broker`.

    As in `drive_all`: jobs are taken when a worker is free, the first error ends all, and once the
    broker's run is aborted no job is started.
    """
    yielder = _Yielder()
    workers = [_worker(jobs, drive, broker, on_result, yielder) for _ in range(concurrency)]
    tasks = [asyncio.ensure_future(worker) for worker in workers]

    broker.abort_signal.add_callback(partial(_cancel_after_grace, tasks, broker.abort_signal))
    waking = asyncio.ensure_future(_wake_regularly())
    try:
        await asyncio.gather(*tasks)
    finally:
        _cancel([waking, *tasks])
        await asyncio.gather(waking, *tasks, return_exceptions=True)


async def _wake_regularly() -> None:
    while True:
        await asyncio.sleep(_WAKE_INTERVAL)


async def _worker(
    jobs: Iterator[JobT],
    drive: Callable[[JobT], Awaitable[ResultT]],
    broker: RequestBroker,
    on_result: Callable[[ResultT], None],
    yielder: _Yielder,
) -> None:
    """Drive one job after the other; all workers take jobs from the same iterator."""
    for job in jobs:
        try:
            broker.abort_signal.raise_if_aborted()
            on_result(await drive(job))
        except RunAborted:
            return
        except asyncio.CancelledError:
            # Cancelled by `_cancel_after_grace`: the sample is asked again on the next start.
            if not broker.abort_signal.grace_expired:
                raise
            return
        if time.monotonic() - yielder.last > _YIELD_INTERVAL:
            await yielder.yield_to_others()


class _Yielder:
    """Lets workers yield to the event loop at most every 20 ms, all workers together."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    async def yield_to_others(self) -> None:
        """Let other tasks run."""
        last = self.last
        await asyncio.sleep(0)
        if self.last == last:
            # Several workers may have yielded at once: only the first to resume resets the clock,
            # so that the others do not each postpone the next yield.
            self.last = time.monotonic()


class StepsResult(NamedTuple, Generic[T]):
    """What steps returned."""

    value: T


async def _drive_flow(
    flow_of: Callable[[Sample], Flow], broker: RequestBroker, threaded: bool, sample: Sample
) -> Record:
    flow = flow_of(sample)
    digests: list[str] = []
    step = await asyncio.to_thread(start, flow) if threaded else start(flow)
    record: Record
    if isinstance(step, StepsResult):
        record = step.value
    else:
        try:
            while True:
                digest, output = await broker.ask(step)
                digests.append(digest.hex())
                step = flow.send(output)
        except StopIteration as stop:
            record = stop.value
    record = msgspec.structs.replace(record, requests=tuple(digests))
    return reclassify_too_long(record) if record.unscored == "failed" else record


def start(steps: Generator[Request, Output, T]) -> Request | StepsResult[T]:
    """Advance steps to their first request, or to their result."""
    try:
        return next(steps)
    except StopIteration as stop:
        return StepsResult(stop.value)


def advance(step: Callable[[], Request]) -> Request | StepsResult[T]:
    """Advance steps to the next request or to their result. A StopIteration cannot be raised out
    of a thread or a coroutine, so the result is returned as a value."""
    try:
        return step()
    except StopIteration as stop:
        return StepsResult(stop.value)


def reclassify_too_long(record: Record) -> Record:
    """Turn a failure because of the context length into `unsupported`: asking again on the next
    start would change nothing."""
    last = record.passes[-1].output if record.passes else None
    # The repeats of a repeated question were reclassified one by one.
    if record.repeats or record.unscored != "failed" or not isinstance(last, Failure) or last.kind != "too_long":
        return record
    return msgspec.structs.replace(record, outcome="unsupported", unscored="unsupported")


def _cancel_after_grace(tasks: list[asyncio.Task[None]], abort_signal: AbortSignal, grace: float | None) -> None:
    def expire() -> None:
        abort_signal.grace_expired = True
        _cancel(tasks)

    if grace is not None:
        asyncio.get_running_loop().call_later(grace, expire)


def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
