"""Drive flows: the one inference loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

import msgspec

from snellen.core.flow import Flow
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.engine.asking import Asker

_BREATH = 0.02
"""Seconds after which a worker that never waits lets Ctrl-C and the others in."""


async def drive_all(
    samples: Iterator[Sample],
    flow: Callable[[Sample], Flow],
    asker: Asker,
    finished: Callable[[Record], None],
    concurrency: int,
) -> None:
    """Drive the flow of every sample, `concurrency` at a time; samples are drawn late.

    `finished` is called with each record, in the order they end. The first error ends all.
    """
    workers = [_worker(samples, flow, asker, finished) for _ in range(concurrency)]
    tasks = [asyncio.ensure_future(worker) for worker in workers]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _worker(
    samples: Iterator[Sample],
    flow: Callable[[Sample], Flow],
    asker: Asker,
    finished: Callable[[Record], None],
) -> None:
    last = time.monotonic()
    for sample in samples:
        finished(await _driven(flow(sample), asker))
        now = time.monotonic()
        if now - last > _BREATH:
            await asyncio.sleep(0)
            last = time.monotonic()


async def _driven(flow: Flow, asker: Asker) -> Record:
    digests: list[str] = []
    try:
        request = next(flow)
        while True:
            asked = await asker.ask(request)
            digests.append(asked.digest.hex())
            request = flow.send(asked.output)
    except StopIteration as stop:
        record: Record = stop.value
        return msgspec.structs.replace(record, requests=tuple(digests))
