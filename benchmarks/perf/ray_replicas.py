"""Replicas on a Ray cluster: two against one, what a request costs, and a killed replica."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.perf.figures import Figure, Part, Size, figure
from benchmarks.perf.large_model import build

from snellen.benchmarks.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.message import Text, user
from snellen.core.output import Generated
from snellen.core.request import Generate, Generation, Ref, Request
from snellen.engine.ray_cluster import Cluster, Spread, connect

METHOD = (
    "Ray on this machine, each replica an actor with one core; the driver shares the cores that "
    "are left. One replica is the reference for two. Replicas are loaded and have answered before "
    "the clock starts. The questions are those of the bundled benchmark with their pictures and "
    "all rotations, 16 new tokens. What a request costs is measured with a model that answers at "
    "once. Recovery is the time from the kill of the only replica to the next reply: another "
    "process starts, loads the model and answers. Time falls with the number of replicas as long "
    "as there is a core (or GPU) for each and requests for all; what one request costs does not "
    "grow with their number. A picture travels once to a replica, however many questions are "
    "asked about it."
)
BARS = {"tiny": 1.6, "large": 1.85}
"""How many times faster two replicas are than one."""
OVERHEAD_BAR, RECOVERY_BAR = 2.0, 10.0
_TOKENS = 16
_AT_ONCE = '''"""Answers without a look."""


class AtOnce:
    concurrency = 16

    def answer(self, request):
        return "B"
'''


def measure(size: Size) -> Part:
    ray, began = connect(None)
    try:
        with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
            figures = _all(size, Path(folder), ray)
    finally:
        if began:
            ray.shutdown()
    return Part("ray", "Replicas on Ray", METHOD, tuple(figures))


def _all(size: Size, folder: Path, ray: Any) -> list[Figure]:
    figures: list[Figure] = []
    sizes = {
        "tiny": ("snellen/tiny:batch_size=8", 8 * size.questions),
        "large": (f"{build(folder / 'large')}:batch_size=4", size.questions),
    }
    for label, (spec, questions) in sizes.items():
        asked = _questions(questions)
        repeats = range(min(size.repeats, 2))
        one = [_answered(spec, 1, asked) for _ in repeats]
        two = [_answered(spec, 2, asked) for _ in repeats]
        faster = [alone / both for alone, both in zip(one, two, strict=True)]
        figures += [
            figure(f"{label}: one replica", "s", one),
            figure(f"{label}: two replicas", "s", two, reference=f"{label}: one replica",
                   against=one),
            figure(f"{label}: two replicas, times as fast", "x", faster, bar=BARS[label],
                   at_least=True),
        ]  # fmt: skip
    each = [_overhead(folder, size.requests) for _ in range(min(size.repeats, 3))]
    killed = [_recovery(ray) for _ in range(min(size.repeats, 3))]
    return [
        *figures,
        figure("a request to a model that answers at once", "ms", each, bar=OVERHEAD_BAR),
        figure("from a kill to the next reply", "s", killed, bar=RECOVERY_BAR),
    ]


def _questions(count: int) -> list[Request]:
    """Every pass of the first questions that have one picture."""
    asked = open_benchmark("eyechart", Variant(circular="full", max_new_tokens=_TOKENS))
    samples = (one for one in asked.samples(asked.open()) if len(one.media) == 1)
    found: list[Request] = []
    for sample in islice(samples, count):
        flow = asked.flow(sample)
        request = next(flow)
        while True:
            found.append(request)
            try:
                request = flow.send(Generated("A"))
            except StopIteration:
                break
    return found


def _texts(count: int, about: str) -> list[Request]:
    settings = Generation(max_new_tokens=_TOKENS)
    return [
        Generate(messages=(user(Text(f"{about}: what is {number} and one?")),),
                 ref=Ref(f"{about} {number}"), settings=settings)
        for number in range(count)
    ]  # fmt: skip


async def _ask(spread: Spread, requests: Sequence[Request]) -> float:
    """Seconds until all are answered. Raises RuntimeError when one is not."""
    room = asyncio.Semaphore(spread.concurrency)

    async def one(request: Request) -> None:
        async with room:
            output = await spread.answer(request)
        if not isinstance(output, Generated):
            raise RuntimeError(f"a replica did not answer: {output}")

    started = perf_counter()
    await asyncio.gather(*map(one, requests))
    return perf_counter() - started


def _with(spread: Spread, replicas: int, work: Callable[[], Awaitable[float]]) -> float:
    """What `work` says, after every replica has started and answered."""

    async def main() -> float:
        while len(spread.actors) < replicas:
            await _ask(spread, _texts(1, f"warm-up {len(spread.actors)}"))
            await asyncio.sleep(0.1)
        await _ask(spread, _texts(2 * spread.concurrency, "warm-up"))
        return await work()

    try:
        return asyncio.run(main())
    finally:
        spread.shut()


def _answered(spec: str, replicas: int, requests: Sequence[Request]) -> float:
    spread = Spread(spec, Cluster(replicas=replicas))
    return _with(spread, replicas, lambda: _ask(spread, requests))


def _overhead(folder: Path, count: int) -> float:
    """Milliseconds a request."""
    file = folder / "at_once.py"
    file.write_text(_AT_ONCE, encoding="utf-8")
    spread = Spread("AtOnce", Cluster(), [file])
    requests = _texts(count, "at once")
    return 1000 * _with(spread, 1, lambda: _ask(spread, requests)) / count


def _recovery(ray: Any) -> float:
    spread = Spread("snellen/tiny", Cluster())

    async def killed() -> float:
        ray.kill(spread.actors[-1])
        return await _ask(spread, _texts(1, "after the kill"))

    return _with(spread, 1, killed)
