"""Several copies of a model that pull requests as they become free.

Nothing here knows where a replica lives. Each takes the batch that fits best from what is waiting,
and has the next one at hand while it works. A replica that is lost gives its batch back, which
another takes; outputs reach the caller once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from snellen.core.errors import UsageError
from snellen.core.output import Failure, Output
from snellen.core.request import Request
from snellen.engine.batch import Waiting, nearest, waiting

AT_HAND = 2
"""Batches a replica holds: one it works on and one that is ready."""
MOST_LOSSES = 3
"""Replicas a request may lose before it is taken for the reason."""

MOST_STARTS = 5
"""Times a replica may die while it starts before its place is given up."""
PAUSE = 0.5
"""Seconds before the second start, more before each further one."""


class ReplicaLost(Exception):
    """The process or machine of a replica is gone."""


class Replica(Protocol):
    batch_size: int

    async def answer(self, requests: Sequence[Request]) -> Sequence[Output]:
        """Outputs in the order of the requests. Raises ReplicaLost, and UsageError where no
        replica could ever answer."""
        ...


class Slot:
    """A place for a replica, which is started when it is first needed and again when lost."""

    def __init__(self, start: Callable[[], Awaitable[Replica]]) -> None:
        self._start = start
        self._replica: Replica | None = None
        self.losses = 0
        """Replicas lost at this place; shown to whoever watches."""

    async def replica(self, lock: asyncio.Lock) -> Replica:
        """The replica, started if there is none. Raises UsageError where none can be had."""
        async with lock:
            failed = 0
            while self._replica is None:
                try:
                    self._replica = await self._start()
                except ReplicaLost as error:
                    failed += 1
                    if failed == MOST_STARTS:
                        raise UsageError(
                            f"a replica died {failed} times as it started: {error}"
                        ) from error
                    await asyncio.sleep(PAUSE * failed)
            return self._replica

    def lost(self, replica: Replica) -> None:
        if self._replica is replica:
            self._replica = None
            self.losses += 1


class Pool:
    """Requests and the replicas that answer them, inside one event loop."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        self._pending: list[Waiting] = []
        self._losses: dict[int, int] = {}
        self._asked = 0
        self._refused: UsageError | None = None
        self._more = asyncio.Condition()
        self._tasks = []
        for slot in slots:
            lock = asyncio.Lock()
            self._tasks += [asyncio.ensure_future(self._pull(slot, lock)) for _ in range(AT_HAND)]

    async def answer(self, request: Request) -> Output:
        if self._refused is not None:
            raise self._refused
        future: asyncio.Future[Output] = asyncio.get_running_loop().create_future()
        self._asked += 1
        await self._wait(waiting(self._asked, request, future))
        return await future

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _wait(self, *several: Waiting) -> None:
        async with self._more:
            self._pending.extend(several)
            self._more.notify_all()

    async def _pull(self, slot: Slot, lock: asyncio.Lock) -> None:
        while True:
            try:
                replica = await slot.replica(lock)
                batch = await self._batch(replica.batch_size)
            except UsageError as error:
                self._refuse(error)
                return
            await self._answered(slot, replica, batch)

    async def _batch(self, size: int) -> list[Waiting]:
        async with self._more:
            while True:
                self._pending = [one for one in self._pending if not one.future.done()]
                if self._pending:
                    break
                await self._more.wait()
            self._pending.sort(key=lambda one: one.order)
            batch = nearest(self._pending, size)
            taken = {one.order for one in batch}
            self._pending = [one for one in self._pending if one.order not in taken]
            return batch

    async def _answered(self, slot: Slot, replica: Replica, batch: Sequence[Waiting]) -> None:
        try:
            outputs = await replica.answer([one.request for one in batch])
        except ReplicaLost as error:
            slot.lost(replica)
            await self._give_back(batch, error)
        except UsageError as error:
            for one in batch:
                if not one.future.done():
                    one.future.set_exception(error)
        else:
            for one, output in zip(batch, outputs, strict=True):
                if not one.future.done():
                    one.future.set_result(output)

    async def _give_back(self, batch: Sequence[Waiting], error: ReplicaLost) -> None:
        again = []
        for one in batch:
            losses = self._losses[one.order] = self._losses.get(one.order, 0) + 1
            if losses < MOST_LOSSES:
                again.append(one)
            elif not one.future.done():
                message = f"{losses} replicas were lost while they worked on it: {error}"
                one.future.set_result(Failure("server", message, losses))
        await self._wait(*again)

    def _refuse(self, error: UsageError) -> None:
        """No replica can be had: whoever waits, or asks later, is told."""
        self._refused = error
        for one in self._pending:
            if not one.future.done():
                one.future.set_exception(error)
        self._pending.clear()
