"""What the driver spends on a request with 10, 100 and 1,000 replicas: stubs, many to an actor."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import process_time
from typing import Any
from zlib import crc32

from benchmarks.perf.figures import Figure, Size, figure

from snellen.core.media import InlineSource
from snellen.core.output import Generated, Output
from snellen.core.request import Generate, Media, Ref, Request, Text, user
from snellen.engine.ray.cluster import RayActor
from snellen.engine.ray.replicas import ReplicaPool, ReplicaSlot
from snellen.engine.ray.worker import ReplicaReply

COUNTS = (10, 100, 1_000)
GROWTH_BAR = 1.5
"""How many times what a request costs with the fewest replicas it may cost with the most."""
_BATCH = 16
_BATCH_SECONDS = 1.0
"""What a stub takes for a batch, in the mean."""
_BATCHES = 4
"""Batches a replica."""
_ROTATIONS = 4
"""Requests about each picture."""
_PICTURE_BYTES = 10_000
_HOSTS = 4
"""Actors that hold the stubs."""


def many_replicas(size: Size, ray: Any) -> list[Figure]:
    """CPU time of this process a request, with Ray's threads in it."""
    spent = {count: [_spent(ray, count) for _ in range(min(size.repeats, 3))] for count in COUNTS}
    fewest, most = COUNTS[0], COUNTS[-1]
    names = {count: f"driver's CPU per request, {count:,} stub replicas" for count in COUNTS}
    return [
        *(figure(names[count], "ms", spent[count]) for count in COUNTS[:-1]),
        figure(names[most], "ms", spent[most], reference=names[fewest], against=spent[fewest], ratio_bar=GROWTH_BAR),
    ]


def _spent(ray: Any, count: int) -> float:
    hosts = [_host(ray) for _ in range(_HOSTS)]
    try:
        return 1000 * asyncio.run(_ask(ray, hosts, count))
    finally:
        for host in hosts:
            ray.kill(host)


def _host(ray: Any) -> Any:
    """An actor in which many stubs wait at once. Defined here, so that Ray sends the code along."""

    class StubHost:
        async def answer(self, requests: Sequence[Request], *_: object) -> ReplicaReply:
            # Between 0.5 and 1.5 times the mean, so that replicas do not go in step.
            await asyncio.sleep(_BATCH_SECONDS * (0.5 + crc32(requests[0].ref.sample.encode()) % 1000 / 1000))
            return ReplicaReply([Generated("B")] * len(requests), _BATCH, _BATCH)

    return ray.remote(StubHost).options(num_cpus=0, max_concurrency=2 * COUNTS[-1]).remote()


async def _ask(ray: Any, hosts: Sequence[Any], count: int) -> float:
    def start_on(host: Any) -> Callable[[], Awaitable[RayActor]]:
        async def start() -> RayActor:
            return RayActor(ray, host, _BATCH, lambda _: None)

        return start

    pool = ReplicaPool([ReplicaSlot(start_on(hosts[number % _HOSTS])) for number in range(count)])
    requests = iter([_request(number) for number in range(count * _BATCHES * _BATCH)])

    async def ask_in_turn() -> list[Output]:
        return [await pool.answer(request) for request in requests]

    await asyncio.gather(*(pool.answer(_request(-1 - number)) for number in range(_HOSTS)))
    began = process_time()
    outputs = await asyncio.gather(*(ask_in_turn() for _ in range(4 * _BATCH * count)))
    spent = process_time() - began
    pool.close()
    answered = [output for part in outputs for output in part if isinstance(output, Generated)]
    if len(answered) != count * _BATCHES * _BATCH:
        raise RuntimeError(f"{len(answered)} of {count * _BATCHES * _BATCH} requests were answered")
    return spent / len(answered)


def _request(number: int) -> Generate:
    """A request with a picture of `_PICTURE_BYTES`, which a few consecutive numbers share."""
    digest, text = f"picture {number // _ROTATIONS}", f"question {number}"
    picture = InlineSource(digest.encode().ljust(_PICTURE_BYTES))
    return Generate(messages=(user(Media("image", digest), Text(text)),), ref=Ref(text), media={digest: picture})
