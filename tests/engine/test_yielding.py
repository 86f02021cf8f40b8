"""Workers whose flows never wait for a model."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise

from snellen.core.record import Flow, Record
from snellen.core.sample import Sample
from snellen.engine.loop.driving import drive_all
from snellen.engine.loop.request_broker import RequestBroker
from snellen.store.responses import ResponseStore


def busy(sample: Sample) -> Flow:
    """Takes 2 ms and asks nothing."""
    until = time.monotonic() + 0.002
    while time.monotonic() < until:
        pass
    return Record(sample.id, "open", "", "answered", 1.0)
    yield


def test_workers_that_never_wait_let_others_in_again_and_again() -> None:
    samples = [Sample(str(number), "open", "") for number in range(300)]
    seen: list[int] = []

    async def main() -> list[Record]:
        done: list[Record] = []

        async def other() -> None:
            while True:
                await asyncio.sleep(0)
                seen.append(len(done))

        beside = asyncio.create_task(other())
        with ResponseStore(None) as store:
            await drive_all(iter(samples), busy, RequestBroker({}, store), done.append, 8)
        beside.cancel()
        return done

    assert len(asyncio.run(main())) == 300
    # 20 ms of samples, and one of each other worker, at a time; 20 ms of each would be 80 samples.
    assert max(later - earlier for earlier, later in pairwise(seen)) < 50
