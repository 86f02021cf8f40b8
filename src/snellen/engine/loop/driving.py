"""The inference loop: drives the flows of all samples, some at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import NamedTuple

import msgspec

from snellen.core.flow import Flow
from snellen.core.output import Failure
from snellen.core.record import Record
from snellen.core.request import Request
from snellen.core.sample import Sample
from snellen.engine.limits.abort import AbortSignal, RunAborted
from snellen.engine.loop.request_broker import RequestBroker

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
    start_flow, yielder = _start_in_thread if threaded else _start_inline, _Yielder()
    workers = [
        _worker(samples, flow, broker, on_record, start_flow, yielder) for _ in range(concurrency)
    ]
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
    samples: Iterator[Sample],
    flow: Callable[[Sample], Flow],
    broker: RequestBroker,
    on_record: Callable[[Record], None],
    start_flow: StartFlow,
    yielder: _Yielder,
) -> None:
    """Drive one flow after the other; all workers take samples from the same iterator."""
    for sample in samples:
        try:
            broker.abort_signal.raise_if_aborted()
            on_record(await _drive_flow(flow(sample), broker, start_flow))
        except RunAborted:
            return
        except asyncio.CancelledError:
            # Cancelled by `_cancel_after_grace`: the sample is asked again on the next start.
            if not broker.abort_signal.grace_expired:
                raise
            return
        await yielder.yield_to_others()


class _Yielder:
    """Lets workers yield to the event loop at most every 20 ms, all workers together."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    async def yield_to_others(self) -> None:
        """Let other tasks run if nobody has yielded recently."""
        last = self._last
        if time.monotonic() - last > _YIELD_INTERVAL:
            await asyncio.sleep(0)
            if self._last == last:
                # Several workers may have yielded at once: only the first to resume resets the
                # clock, so that the others do not each postpone the next yield.
                self._last = time.monotonic()


class _FlowResult(NamedTuple):
    """The record that a flow returned."""

    record: Record


StartFlow = Callable[[Flow], Awaitable[Request | _FlowResult]]


async def _drive_flow(flow: Flow, broker: RequestBroker, start_flow: StartFlow) -> Record:
    digests: list[str] = []
    step = await start_flow(flow)
    while not isinstance(step, _FlowResult):
        keyed_output = await broker.ask(step)
        digests.append(keyed_output.digest.hex())
        step = _advance(partial(flow.send, keyed_output.output))
    return reclassify_too_long(msgspec.structs.replace(step.record, requests=tuple(digests)))


async def _start_inline(flow: Flow) -> Request | _FlowResult:
    return _advance(partial(next, flow))


async def _start_in_thread(flow: Flow) -> Request | _FlowResult:
    return await asyncio.to_thread(_advance, partial(next, flow))


def _advance(step: Callable[[], Request]) -> Request | _FlowResult:
    """Advance a flow to its next request or its record. A StopIteration cannot be raised out of a
    thread or a coroutine, so the record is returned as a value."""
    try:
        return step()
    except StopIteration as stop:
        return _FlowResult(stop.value)


def reclassify_too_long(record: Record) -> Record:
    """Turn a failure because of the context length into `unsupported`: asking again on the next
    start would change nothing."""
    last = record.passes[-1].output if record.passes else None
    # The repeats of a repeated question were reclassified one by one.
    if (
        record.repeats
        or record.unscored != "failed"
        or not isinstance(last, Failure)
        or last.kind != "too_long"
    ):
        return record
    return msgspec.structs.replace(record, outcome="unsupported", unscored="unsupported")


def _cancel_after_grace(
    tasks: list[asyncio.Task[None]], abort_signal: AbortSignal, grace: float | None
) -> None:
    def expire() -> None:
        abort_signal.grace_expired = True
        _cancel(tasks)

    if grace is not None:
        asyncio.get_running_loop().call_later(grace, expire)


def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
