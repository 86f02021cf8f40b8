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
from snellen.engine.limits.abort import Halt, Halted
from snellen.engine.loop.request_broker import Asker

_BREATH = 0.02
"""Seconds after which workers that never wait let Ctrl-C and the others in."""
_BEAT = 0.25
"""Seconds after which a loop that waits for a model wakes: a signal that reached another thread
does not wake it."""


async def drive_all(
    samples: Iterator[Sample],
    flow: Callable[[Sample], Flow],
    asker: Asker,
    finished: Callable[[Record], None],
    concurrency: int,
    *,
    threaded: bool = False,
) -> None:
    """Drive the flow of every sample, `concurrency` at a time; samples are drawn late.

    `finished` is called with each record, in the order they end. The first error ends all. Once
    the asker's run is halted no sample is begun, and what is in flight ends within the grace.
    `threaded`: flows are begun in threads, because their samples are made ready there (videos
    decoded, pictures drawn), which would hold up everything that waits for a model.
    """
    begin, breath = _in_thread if threaded else _at_once, _Breath()
    workers = [_worker(samples, flow, asker, finished, begin, breath) for _ in range(concurrency)]
    tasks = [asyncio.ensure_future(worker) for worker in workers]

    asker.halt.tell(partial(_end, tasks, asker.halt))
    beating = asyncio.ensure_future(_beat())
    try:
        await asyncio.gather(*tasks)
    finally:
        _cancel([beating, *tasks])
        await asyncio.gather(beating, *tasks, return_exceptions=True)


async def _beat() -> None:
    while True:
        await asyncio.sleep(_BEAT)


async def _worker(
    samples: Iterator[Sample],
    flow: Callable[[Sample], Flow],
    asker: Asker,
    finished: Callable[[Record], None],
    begin: Begin,
    breath: _Breath,
) -> None:
    for sample in samples:
        try:
            asker.halt.check()
            finished(await _driven(flow(sample), asker, begin))
        except Halted:
            return
        except asyncio.CancelledError:
            if not asker.halt.out_of_grace:
                raise
            return
        await breath.take()


class _Breath:
    """Shared by all workers, each of which would else hold up the others as long."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    async def take(self) -> None:
        """Let the others in, if that was not done lately."""
        last = self._last
        if time.monotonic() - last > _BREATH:
            await asyncio.sleep(0)
            if self._last == last:
                # Of those that waited meanwhile, the first to go on.
                self._last = time.monotonic()


class _Ended(NamedTuple):
    """A flow that asked nothing more."""

    record: Record


Begin = Callable[[Flow], Awaitable[Request | _Ended]]


async def _driven(flow: Flow, asker: Asker, begin: Begin) -> Record:
    digests: list[str] = []
    step = await begin(flow)
    while not isinstance(step, _Ended):
        asked = await asker.ask(step)
        digests.append(asked.digest.hex())
        step = _next(partial(flow.send, asked.output))
    return settled(msgspec.structs.replace(step.record, requests=tuple(digests)))


async def _at_once(flow: Flow) -> Request | _Ended:
    return _next(partial(next, flow))


async def _in_thread(flow: Flow) -> Request | _Ended:
    return await asyncio.to_thread(_next, partial(next, flow))


def _next(step: Callable[[], Request]) -> Request | _Ended:
    """A StopIteration would not leave a thread, so that it is told as a value."""
    try:
        return step()
    except StopIteration as stop:
        return _Ended(stop.value)


def settled(record: Record) -> Record:
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


def _end(tasks: list[asyncio.Task[None]], halt: Halt, grace: float | None) -> None:
    def late() -> None:
        halt.out_of_grace = True
        _cancel(tasks)

    if grace is not None:
        asyncio.get_running_loop().call_later(grace, late)


def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
