"""Replicas on a Ray cluster: two against one, what a request costs, and a killed replica."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.perf.figures import Figure, Part, Size, figure
from benchmarks.perf.large_model import build
from benchmarks.perf.many_replicas import many_replicas
from benchmarks.perf.questions import TOKENS, passes
from benchmarks.perf.side_by_side import cores, times_as_fast

from snellen.core.output import Generated
from snellen.core.request import Generate, Generation, Ref, Request, Text, user
from snellen.engine.ray.cluster import RayCluster, ReplicatedModel, connect

METHOD = (
    "Ray on this machine, each replica an actor that is held to one core; the driver has the other "
    "cores beside one replica, and shares them beside two. One replica is the reference for two. "
    "What the machine gives is measured with two plain processes without Ray, each with all the "
    "requests in the same batches on a core of its own, against one with the other core idle. "
    "Replicas and plain processes are loaded and have answered about pictures before the clock "
    "starts. The larger model has so few batches that one more or less for a replica shows. The "
    "questions are those of the bundled benchmark with their pictures and "
    "all rotations, 16 new tokens. What a request costs is measured with a model that answers at "
    "once. Recovery is the time from the kill of the only replica to the next reply: another "
    "process starts, loads the model and answers. Time falls with the number of replicas as long "
    "as there is a core (or GPU) for each and requests for all; what one request costs does not "
    "grow with their number. A picture of more than 64 kB travels once to a node, however many "
    "questions are asked about it. What the driver spends with many replicas, its CPU time with Ray's threads in "
    "it, is measured with stubs that wait 0.5 to 1.5 s for 16 requests with pictures of 10 kB, four "
    "about each; four actors hold all stubs, each of which is a replica of its own to the driver."
)
BARS = {"tiny": 1.6, "large": 1.85}
"""How many times faster two replicas are than one."""
OVERHEAD_BAR, RECOVERY_BAR = 2.0, 10.0
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
        "tiny": ("snellen/tiny", 8, 8 * size.questions),
        "large": (str(build(folder / "large")), 4, size.questions),
    }
    for label, (model, batch, questions) in sizes.items():
        spec = f"{model}:batch_size={batch}"
        one, two, plain = [], [], []
        for _ in range(min(size.repeats, 2)):
            one.append(_answered(spec, 1, questions))
            two.append(_answered(spec, 2, questions))
            plain.append(times_as_fast(model, questions, batch))
        faster = [alone / both for alone, both in zip(one, two, strict=True)]
        share = [100 * mine / most for mine, most in zip(faster, plain, strict=True)]
        figures += [
            figure(f"{label}: two plain processes, times as fast as one", "x", plain),
            figure(f"{label}: one replica", "s", one),
            figure(f"{label}: two replicas", "s", two, reference=f"{label}: one replica", against=one),
            figure(f"{label}: two replicas, times as fast", "x", faster, bar=BARS[label], at_least=True),
            figure(
                f"{label}: two replicas, of what two plain processes reach",
                "%",
                share,
                reference=f"{label}: two plain processes, times as fast as one",
            ),
        ]
    each = [_overhead(folder, size.requests) for _ in range(min(size.repeats, 3))]
    killed = [_recovery(ray) for _ in range(min(size.repeats, 3))]
    return [
        *figures,
        figure("a request to a model that answers at once", "ms", each, bar=OVERHEAD_BAR),
        figure("from a kill to the next reply", "s", killed, bar=RECOVERY_BAR),
        *many_replicas(size, ray),
    ]


def _texts(count: int, about: str) -> list[Request]:
    settings = Generation(max_new_tokens=TOKENS)
    return [
        Generate(
            messages=(user(Text(f"{about}: what is {number} and one?")),),
            ref=Ref(f"{about} {number}"),
            settings=settings,
        )
        for number in range(count)
    ]


async def _ask(spread: ReplicatedModel, requests: Sequence[Request]) -> float:
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


def _with(spread: ReplicatedModel, replicas: int, work: Callable[[], Awaitable[float]]) -> float:
    """What `work` says, after every replica has started and answered."""

    async def main() -> float:
        while len(spread.actors) < replicas:
            await _ask(spread, _texts(1, f"warm-up {len(spread.actors)}"))
            await asyncio.sleep(0.1)
        await _ask(spread, _texts(2 * spread.concurrency, "warm-up"))
        await _held(spread)
        return await work()

    try:
        return asyncio.run(main())
    finally:
        spread.shut_down()


async def _held(spread: ReplicatedModel) -> None:
    """Each replica on a core of its own: Ray counts cores, and lets processes use them all."""
    free = cores()
    for number, actor in enumerate(spread.actors):
        if free:
            await actor.__ray_call__.remote(_hold, free[number % len(free)])


def _hold(_: object, core: int) -> None:
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})


def _answered(spec: str, replicas: int, questions: int) -> float:
    spread = ReplicatedModel(spec, RayCluster(replicas=replicas))
    asked = passes(questions)

    async def work() -> float:
        await _ask(spread, passes(questions + 2 * replicas)[len(asked) :])
        return await _ask(spread, asked)

    return _with(spread, replicas, work)


def _overhead(folder: Path, count: int) -> float:
    """Milliseconds a request."""
    file = folder / "at_once.py"
    file.write_text(_AT_ONCE, encoding="utf-8")
    spread = ReplicatedModel("AtOnce", RayCluster(), [file])
    requests = _texts(count, "at once")
    return 1000 * _with(spread, 1, lambda: _ask(spread, requests)) / count


def _recovery(ray: Any) -> float:
    spread = ReplicatedModel("snellen/tiny", RayCluster())

    async def killed() -> float:
        ray.kill(spread.actors[-1])
        return await _ask(spread, _texts(1, "after the kill"))

    return _with(spread, 1, killed)
