"""Servers in simulated time, and how many questions a second a concurrency window gets out of them.

The window, the retries and asyncio are the real ones: only the clock of the event loop is another,
which jumps to the next timer as soon as nothing else is left to do. So a run of an hour takes a
second, and the same seeds give the same run.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

import pytest

from snellen.core.errors import ModelError
from snellen.core.model import Capabilities, Identity, RemoteModel
from snellen.core.output import Failure, FailureKind, Generated, Output
from snellen.core.request import Generate, Ref, Request, Text, user
from snellen.engine.limits import retrying
from snellen.engine.limits.abort import AbortSignal
from snellen.engine.limits.pacing import ConcurrencyWindow
from snellen.engine.limits.retrying import RetryingClient, RetryPolicy
from snellen.engine.limits.spending import UsageCounter

REFUSAL_SECONDS = 0.005
"""Seconds in which a server says that it takes no more."""


class _JumpingSelector(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Instead of waiting for the next timer, moves the clock there."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout:
            self.now += max(timeout, 1e-6)
        return super().select(0)


class SimulatedLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


@dataclass
class Server(RemoteModel):
    """Answers after `seconds`, spread by `spread` (coefficient of variation, log-normal); a share
    `faults` of the requests fails instead, each independently of all others: half with status 500
    and a quarter each by a reset and a timeout, which takes `timeout` seconds."""

    seconds: float = 1.0
    spread: float = 0.0
    faults: float = 0.0
    timeout: float = 1.0
    concurrency: int = 256
    seed: int = 1

    identity = Identity("test", "simulated")
    capabilities = Capabilities()
    account = "test"

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.active = 0
        self.faulty: list[tuple[float, bool]] = []
        """When each fault was drawn or its timeout ended, and whether it was one."""

    async def answer(self, request: Request) -> Output:
        await self.admit()
        self.active += 1
        try:
            drawn = self.chance.random()
            if drawn < self.faults:
                kinds: tuple[FailureKind, ...] = ("server", "server", "connection", "timeout")
                kind = kinds[int(4 * drawn / self.faults)]
                await asyncio.sleep(self.timeout if kind == "timeout" else self.service_seconds())
                self.faulty.append((asyncio.get_running_loop().time(), kind == "timeout"))
                raise ModelError(kind, kind)
            await self.serve()
            return Generated("A")
        finally:
            self.active -= 1

    async def admit(self) -> None:
        """Raises ModelError where the server takes no more."""

    async def serve(self) -> None:
        await asyncio.sleep(self.service_seconds())

    def service_seconds(self) -> float:
        if not self.spread:
            return self.seconds
        return self.seconds * self.chance.lognormvariate(-(self.spread**2) / 2, self.spread)

    def capacity(self) -> float:
        """Questions a second that the best fixed number of requests in flight gets answered."""
        charged = self.seconds + self.faults / 4 * (self.timeout - self.seconds)
        return self.concurrency * (1 - self.faults) / charged

    async def close(self) -> None:
        return


async def refuse(kind: FailureKind = "rate_limit", retry_after: float | None = None) -> None:
    await asyncio.sleep(REFUSAL_SECONDS)
    raise ModelError("no more", kind, retry_after)


@dataclass
class HardLimit(Server):
    """Refuses what goes beyond `limit` requests at a time."""

    limit: int = 40
    kind: FailureKind = "rate_limit"
    retry_after: float | None = None

    async def admit(self) -> None:
        if self.active >= self.limit:
            await refuse(self.kind, self.retry_after)

    def capacity(self) -> float:
        return super().capacity() * self.limit / self.concurrency


@dataclass
class RateLimit(Server):
    """A bucket of tokens, filled with `rate` a second up to `burst`; a request takes one."""

    rate: float = 50.0
    burst: float = 50.0
    retry_after: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._tokens, self._filled = self.burst, 0.0

    async def admit(self) -> None:
        now = asyncio.get_running_loop().time()
        self._tokens = min(self.burst, self._tokens + (now - self._filled) * self.rate)
        self._filled = now
        if self._tokens < 1:
            await refuse("rate_limit", self.retry_after)
        self._tokens -= 1

    def capacity(self) -> float:
        return self.rate * (1 - self.faults)


@dataclass
class Quota(Server):
    """Takes `quota` requests in each period of `period` seconds, and says when the next begins."""

    quota: int = 600
    period: float = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._period, self._taken = 0, 0

    async def admit(self) -> None:
        now = asyncio.get_running_loop().time()
        if int(now // self.period) != self._period:
            self._period, self._taken = int(now // self.period), 0
        if self._taken >= self.quota:
            await refuse("rate_limit", self.period - now % self.period)
        self._taken += 1

    def capacity(self) -> float:
        return self.quota / self.period


@dataclass
class Slots(Server):
    """Serves `slots` requests at a time; the others queue up, so that their latency rises."""

    slots: int = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        self._free = asyncio.Semaphore(self.slots)

    async def serve(self) -> None:
        async with self._free:
            await super().serve()

    def capacity(self) -> float:
        return min(super().capacity(), self.slots / self.seconds)


@dataclass
class Abandoned(Slots):
    """Slots whose clients wait for no longer than `patience` seconds. Requests that they gave up
    leave the queue, or are served all the same (`is_blind`)."""

    patience: float = 2.1
    is_blind: bool = False

    async def serve(self) -> None:
        serving = asyncio.ensure_future(super().serve())
        try:
            async with asyncio.timeout(self.patience):
                await (asyncio.shield(serving) if self.is_blind else serving)
        except TimeoutError as error:
            raise ModelError("timeout", "timeout") from error


@dataclass
class Thrashing(Server):
    """Gets slower than in proportion beyond `knee` requests at a time: it answers fewer a second
    the more it has."""

    knee: int = 40

    async def serve(self) -> None:
        await asyncio.sleep(self.service_seconds() * max(1.0, self.active / self.knee) ** 2)

    def capacity(self) -> float:
        return self.knee / self.seconds


@dataclass
class Recovering(Server):
    """From second `begin` to `end` it takes `slowness` times as long, or fails in one way."""

    begin: float = 20.0
    end: float = 40.0
    slowness: float = 1.0
    failing: FailureKind | None = None

    async def admit(self) -> None:
        if self.failing and self.begin <= asyncio.get_running_loop().time() < self.end:
            await refuse(self.failing)

    def service_seconds(self) -> float:
        slow = self.begin <= asyncio.get_running_loop().time() < self.end
        return super().service_seconds() * (self.slowness if slow else 1.0)


@dataclass
class Run:
    """What a simulated run came to."""

    seconds: float
    answered: list[float] = field(default_factory=list)
    """When each answer came, in seconds."""
    failed: int = 0
    """Questions without an answer after all retries."""
    sent: int = 0
    sizes: list[tuple[float, float]] = field(default_factory=list)
    """Time and size of the window, four times a second."""

    def rate(self, begin: float = 0.0, end: float = 1.0) -> float:
        """Questions a second between two shares of all answers; the whole run by default, with
        its beginning and its last retries."""
        first, last = int(begin * len(self.answered)), int(end * len(self.answered)) - 1
        since = self.answered[first] if begin else 0.0
        return (last - first + (not begin)) / (self.answered[last] - since)

    def variation(self) -> tuple[float, float]:
        """Least and greatest size of the window in the second half of the answers, as a share of
        its median."""
        half, end = self.answered[len(self.answered) // 2], self.answered[-1]
        sizes = [size for time, size in self.sizes if half <= time <= 0.95 * end]
        return min(sizes) / median(sizes), max(sizes) / median(sizes)


def simulate(server: Server, count: int, patch: pytest.MonkeyPatch, window: ConcurrencyWindow | None = None) -> Run:
    """Ask a server so many questions, over as many flows as the engine drives."""
    patch.setattr(retrying, "random", random.Random(2))
    window = window or ConcurrencyWindow(server.concurrency)
    usage, abort_signal = UsageCounter(), AbortSignal()
    client = RetryingClient(server, window, RetryPolicy(), usage, abort_signal)
    run = Run(0.0)

    async def flow(questions: Iterator[int]) -> None:
        for number in questions:
            request = Generate(messages=(user(Text("?")),), ref=Ref(str(number)))
            output = await client.send(request)
            if isinstance(output, Failure):
                run.failed += 1
            else:
                run.answered.append(loop.time())

    async def watch() -> None:
        while True:
            run.sizes.append((loop.time(), window.size))
            await asyncio.sleep(0.25)

    async def main() -> None:
        questions = iter(range(count))
        watching = asyncio.create_task(watch())
        flows = server.concurrency + max(1, server.concurrency // 4)
        await asyncio.gather(*(flow(questions) for _ in range(flows)))
        watching.cancel()

    loop = SimulatedLoop()
    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
    run.seconds, run.sent = loop.time(), usage.sent
    return run
