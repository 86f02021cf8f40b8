"""Questions a second under faults of single requests, beside a fixed pool of the best size."""

from __future__ import annotations

import asyncio
import itertools
import math
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from threading import Event, Thread
from typing import NamedTuple

from aiohttp import web
from benchmarks.perf.figures import Figure, Part, Size, figure
from benchmarks.perf.fixed_pool import FixedPool
from benchmarks.perf.settled import settle

from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.engine.limits.pacing import ConcurrencyWindow
from snellen.engine.loop import request_broker
from snellen.engine.loop.plan import RunPlan
from snellen.engine.loop.run import run
from snellen.models.naming.registry import open_model
from snellen.store.responses import ResponseStore

METHOD = (
    "A server on loopback answers after a second. A share of the requests, each drawn on its own, "
    "gets a fault instead after the same time: half of them status 500, a quarter a reset of the "
    "connection, a quarter silence until the client's timeout of 2 s (else 60 s). Where it has a "
    "limit, it answers 429 at once to what goes beyond that many requests in flight, or lets them "
    "wait in a queue. Snellen may have 32 requests in flight; the fixed pool has as many as the "
    "server takes throughout, so the best size. Answers come in batches of that size, so that a "
    "rate is told from the mean times, by the server's clock, of the first and of the last three "
    "batches between 30 and 90 % of a run; whole runs are with their start and the delays of the "
    "last retries. All runs are repeated in turn, each time with other faults; the smallest share "
    "is drawn three times as often. The bar is 1 - 1.5 times the share of faults that was drawn "
    "in that part, less what its timeouts took, and less the noise: the widest difference between "
    "two runs without faults. Where the server has a limit it is 90 %. (By the share that was to "
    "be drawn, a fixed pool misses the bar of 0.2 % in every second simulated run of this length: "
    "tests/remote_engine/test_pacing_simulation.py.)"
)
SHARES = (0.0, 0.002, 0.01, 0.02, 0.05, 0.1, 0.2)
WIDTH, LIMIT = 32, 12
SECONDS, TIMEOUT = 1.0, 2
MOST_QUESTIONS, MOST_REPEATS = 1_000, 3
RARE = 0.002
"""Share of faults up to which a run has three times as many questions."""
BATCHES = 3
"""Of answers at either end of the part that is measured."""


class Taken(NamedTuple):
    """What a run took."""

    rate: float
    """Answers a second between 30 and 90 % of the answers, at the server."""
    least: float
    """1 - 1.5 times the share of faults in that part, less what its timeouts took."""
    whole: float
    """Questions a second of the whole run."""


def measure(size: Size) -> Part:
    count = min(size.requests, MOST_QUESTIONS)
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        benchmarks: dict[int, Benchmark] = {}
        for questions in (count, 3 * count):
            data = Path(folder, f"{questions}.tsv")
            write_questions(data, questions)
            benchmarks[questions] = resolve_benchmark(str(data), Variant(), {})
        runs = itertools.count()

        def take(server: FaultyServer, window: Callable[[int], ConcurrencyWindow]) -> Taken:
            benchmark = benchmarks[3 * count if 0 < server.share <= RARE else count]
            return run_on(server, benchmark, window, Path(folder, str(next(runs))))

        windows = FixedPool, ConcurrencyWindow
        limits = {f"a limit of {LIMIT}, with {how}": how == "a queue" for how in ("429", "a queue")}
        shares: list[list[list[Taken]]] = []
        limited: list[list[list[Taken]]] = []
        for seed in range(min(size.repeats, MOST_REPEATS)):
            shares.append(
                [[take(FaultyServer(share, seed=seed), each) for each in windows] for share in (*SHARES, 0.0)]
            )
            limited.append(
                [
                    [
                        take(FaultyServer(limit=LIMIT, queues=queues), each)
                        for each in (lambda _: FixedPool(LIMIT), ConcurrencyWindow)
                    ]
                    for queues in limits.values()
                ]
            )
        figures = list(_figures(shares))
        for number, name in enumerate(limits):
            pool, ours = ([runs[number][side].rate for runs in limited] for side in (0, 1))
            figures += _beside(name, pool, ours, 0.9 * median(pool))
    return Part("faults", f"Questions a second under faults, {count:,} each", METHOD, tuple(figures))


def _figures(repeats: Sequence[list[list[Taken]]]) -> Iterator[Figure]:
    """Of repeats, in each of which every share of faults was taken with both windows."""

    def rates(number: int) -> tuple[list[float], list[float]]:
        pool, ours = ([runs[number][side].rate for runs in repeats] for side in (0, 1))
        return pool, ours

    def kept(number: int, taken: Callable[[Taken], float]) -> tuple[list[float], list[float]]:
        """Percent of what was taken without faults in the same repeat."""
        pool, ours = ([100 * taken(runs[number][side]) / taken(runs[0][side]) for runs in repeats] for side in (0, 1))
        return pool, ours

    yield from _beside("no faults", *rates(0))
    again = kept(len(SHARES), lambda taken: taken.rate)
    yield from _beside("no faults again: share of its rate without", *again, unit="%")
    noise = max(abs(value - 100) for values in again for value in values)
    for number, share in enumerate(SHARES[1:], 1):
        bar = 100 * median(runs[number][1].least for runs in repeats) - noise
        name = f"{100 * share:g} % faults: share of its rate without"
        yield from _beside(name, *kept(number, lambda taken: taken.rate), bar, "%")
    name = f"whole run with {100 * SHARES[-1]:g} % faults: share of its rate without"
    yield from _beside(name, *kept(len(SHARES) - 1, lambda taken: taken.whole), 50.0, "%")


def _beside(
    name: str, pool: Sequence[float], ours: Sequence[float], bar: float | None = None, unit: str = "/s"
) -> Iterator[Figure]:
    """A figure of the fixed pool, and Snellen's beside it."""
    reference = f"fixed pool, {name}"
    yield figure(reference, unit, pool)
    yield figure(f"Snellen, {name}", unit, ours, reference=reference, against=pool, bar=bar, at_least=True)


def run_on(server: FaultyServer, benchmark: Benchmark, window: Callable[[int], ConcurrencyWindow], out: Path) -> Taken:
    server.answered.clear()
    with server.serving() as url:
        name = f"{url}#faults"
        plan = RunPlan(
            model=open_model(f"{name}:concurrency={WIDTH},timeout={server.timeout}"),
            model_name=name,
            benchmark=benchmark,
            out=out,
        )
        ours, request_broker.ConcurrencyWindow = request_broker.ConcurrencyWindow, window
        try:
            began = time.perf_counter()
            with ResponseStore(out / "store.sqlite") as store:
                folder = run(plan, store)
            took = time.perf_counter() - began
        finally:
            request_broker.ConcurrencyWindow = ours
    counts = folder.info.counts
    if folder.info.status != "complete" or counts.failed:
        raise RuntimeError(f"{folder.info.status}: {counts}")
    batch = min(WIDTH, server.limit)
    rate, least = measured(server.answered, server.faults, batch)
    return Taken(rate, least, counts.samples / took)


def measured(answered: Sequence[float], faults: Sequence[tuple[float, bool]], batch: int) -> tuple[float, float]:
    """Answers a second in the middle of a run, and which share of the faultless rate they are to
    reach. `faults` are times, and whether it was a timeout; `batch` is how many answers come at
    once: the mean time of whole batches does not depend on where in a batch it begins."""
    middle = answered[int(0.3 * len(answered)) : int(0.9 * len(answered))]
    ends = min(BATCHES * batch, len(middle) // 2)
    took = mean(middle[-ends:]) - mean(middle[:ends])
    drawn = [is_late for time, is_late in faults if middle[0] <= time <= middle[-1]]
    requests = len(middle) + len(drawn)
    charged = 1 + sum(drawn) / requests * (TIMEOUT / SECONDS - 1)
    return (len(middle) - ends) / took, (1 - 1.5 * len(drawn) / requests) / charged


def write_questions(path: Path, count: int) -> None:
    rows = [f"{number}\tWhat is {number}?\tone\ttwo\tA" for number in range(count)]
    path.write_text("\n".join(["index\tquestion\tA\tB\tanswer", *rows]) + "\n", encoding="utf-8")
    settle(path)


class FaultyServer:
    """A chat server that draws a fault for a `share` of its requests, and takes `limit` of them at
    a time: others are refused, or wait where it `queues`."""

    def __init__(self, share: float = 0.0, limit: int = 1 << 20, queues: bool = False, seed: int = 0) -> None:
        self.share, self.limit, self.queues = share, limit, queues
        self.timeout = TIMEOUT if share else 60
        """That of the client, in seconds."""
        self.answered: list[float] = []
        """When each answer was sent."""
        self.faults: list[tuple[float, bool]] = []
        """When each fault reached the client, and whether it was its timeout."""
        self._draw = random.Random(seed)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        if self._places.locked() and not self.queues:
            return web.json_response({"error": {"message": "too many"}}, status=429)
        async with self._places:
            return await self._answer(request)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        kind = self._draw.random() / self.share if self.share else math.inf
        is_late = 0.75 <= kind < 1
        if kind < 1:
            seconds = TIMEOUT if is_late else SECONDS
            self.faults.append((time.perf_counter() + seconds, is_late))
        await asyncio.sleep(2 * TIMEOUT if is_late else SECONDS)
        if kind < 0.5:
            return web.json_response({"error": {"message": "a fault"}}, status=500)
        if kind < 0.75 and request.transport is not None:
            request.transport.abort()
        if kind >= 1:
            self.answered.append(time.perf_counter())
        return web.json_response({"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]})

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Its URL, while it serves in a thread of this process."""
        at: list[tuple[int, asyncio.AbstractEventLoop]] = []
        started, ended = Event(), asyncio.Event()

        async def serve() -> None:
            self._places = asyncio.Semaphore(self.limit)
            app = web.Application()
            app.router.add_post("/v1/chat/completions", self._chat)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024)
            await site.start()
            at.append((runner.addresses[0][1], asyncio.get_running_loop()))
            started.set()
            await ended.wait()
            await runner.cleanup()

        thread = Thread(target=lambda: asyncio.run(serve()))
        thread.start()
        started.wait()
        try:
            yield f"http://127.0.0.1:{at[0][0]}/v1"
        finally:
            at[0][1].call_soon_threadsafe(ended.set)
            thread.join()
