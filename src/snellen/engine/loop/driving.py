"""Drive flows: the one inference loop."""

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
"""Seconds after which workers that never wait let Ctrl-C and the others in."""
_WAKE_INTERVAL = 0.25
"""Seconds after which a loop that waits for a model wakes: a signal that reached another thread
does not wake it."""


async def drive_all(
    samples: Iterator[Sample],
    flow: Callable[[Sample], Flow],
    broker: RequestBroker,
    on_record: Callable[[Record], None],
    concurrency: int,
    *,
    threaded: bool = False,
) -> None:
    """Drive the flow of every sample, `concurrency` at a time; samples are drawn late.

    `on_record` is called with each record, in the order they end. The first error ends all. Once
    the asker's run is halted no sample is begun, and what is in flight ends within the grace.
    `threaded`: flows are begun in threads, because their samples are made ready there (videos
    decoded, pictures drawn), which would hold up everything that waits for a model.
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
    for sample in samples:
        try:
            broker.abort_signal.raise_if_aborted()
            on_record(await _drive_flow(flow(sample), broker, start_flow))
        except RunAborted:
            return
        except asyncio.CancelledError:
            if not broker.abort_signal.grace_expired:
                raise
            return
        await yielder.yield_to_others()


class _Yielder:
    """Shared by all workers, each of which would else hold up the others as long."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    async def yield_to_others(self) -> None:
        """Let the others in, if that was not done lately."""
        last = self._last
        if time.monotonic() - last > _YIELD_INTERVAL:
            await asyncio.sleep(0)
            if self._last == last:
                # Of those that waited meanwhile, the first to go on.
                self._last = time.monotonic()


class _FlowResult(NamedTuple):
    """A flow that asked nothing more."""

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
    """A StopIteration would not leave a thread, so that it is told as a value."""
    try:
        return step()
    except StopIteration as stop:
        return _FlowResult(stop.value)


def reclassify_too_long(record: Record) -> Record:
    """A question that is longer than the model's context is beyond the model, not failed: to ask
    it again on the next start would change nothing."""
    last = record.passes[-1].output if record.passes else None
    # Of a repeated question each draw was looked at already.
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
