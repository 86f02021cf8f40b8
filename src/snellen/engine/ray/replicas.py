"""Several copies of a model that pull requests as they become free.

Nothing here knows where a replica lives. Each takes the batch that fits best from what is waiting,
and has the next one at hand while it works. Requests about pictures that a replica has seen wait
for it, since it remembers them, unless another has nothing else to do. A replica that is lost gives
its batch back, which another takes; outputs reach the caller once.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from snellen.core.errors import ModelError, UsageError
from snellen.core.output import Failure, Output
from snellen.core.request import Request
from snellen.engine.loop.batching import Pictures, Waiting, failure_of, nearest, waiting

AT_HAND = 2
"""Batches a replica holds: one it works on and one that is ready."""
REMEMBERED = 4
"""Batches of pictures that a replica is taken to remember."""
MOST_LOSSES = 3
"""Replicas a request may lose before it is taken for the reason."""

MOST_STARTS = 6
"""Times a replica may die while it starts before its place is given up."""
PAUSE = 1.0
"""Seconds before the second start, doubled before each further one: where a driver was killed just
before, Ray has been seen to take the next one for dead as well for a while."""
_MINE, _NEW, _THEIRS = range(3)
"""In which order a replica takes requests: about pictures it remembers, nobody does, others do."""


class ReplicaLost(Exception):
    """The process or machine of a replica is gone."""


class Replica(Protocol):
    batch_size: int
    """Requests that it may be given at once; may change from batch to batch."""

    async def answer(self, requests: Sequence[Request]) -> Sequence[Output]:
        """Outputs in the order of the requests. Raises ReplicaLost, and UsageError where no
        replica could ever answer."""
        ...


class Slot:
    """A place for a replica, which is started when it is first needed and again when lost."""

    def __init__(self, start: Callable[[], Awaitable[Replica]]) -> None:
        self._start = start
        self._replica: Replica | None = None
        self._seen: OrderedDict[Pictures, None] = OrderedDict()
        self.working = 0
        """Batches it holds."""
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
                    await asyncio.sleep(PAUSE * 2 ** (failed - 1))
            return self._replica

    @property
    def started(self) -> bool:
        """Whether there is a replica."""
        return self._replica is not None

    def holds(self, replica: Replica) -> bool:
        return self._replica is replica

    def lost(self, replica: Replica) -> None:
        if self._replica is replica:
            self.empty()
            self.losses += 1

    def empty(self) -> None:
        """There is no replica any more."""
        self._replica = None
        self._seen.clear()

    def remembers(self, one: Waiting) -> bool:
        """Whether the replica has lately been shown the pictures of a request."""
        return one.pictures in self._seen

    def shown(self, batch: Sequence[Waiting], size: int) -> None:
        for one in batch:
            if one.pictures:
                self._seen[one.pictures] = None
                self._seen.move_to_end(one.pictures)
        while len(self._seen) > REMEMBERED * size:
            self._seen.popitem(last=False)


class Pool:
    """Requests and the replicas that answer them, inside one event loop."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        self._pending: list[Waiting] = []
        self._losses: dict[int, int] = {}
        self._asked = 0
        self._refused: UsageError | None = None
        self._more = asyncio.Condition()
        self._slots = slots
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
                # The flows that were just answered ask first, so that their requests meet.
                await asyncio.sleep(0)
                batch = await self._batch(slot, replica)
            except UsageError as error:
                self._refuse(error)
                return
            except Exception as error:  # noqa: BLE001 - else all would wait for ever
                self._refuse(UsageError(f"no replica: {type(error).__name__}: {error}"))
                return
            if not batch:
                continue
            slot.working += 1
            try:
                await self._answered(slot, replica, batch)
            finally:
                slot.working -= 1

    async def _batch(self, slot: Slot, replica: Replica) -> list[Waiting]:
        """Requests for a replica; none once it is lost."""
        others = [one for one in self._slots if one is not slot]

        def rank(one: Waiting) -> int:
            if slot.remembers(one):
                return _MINE
            return _THEIRS if any(other.remembers(one) for other in others) else _NEW

        async with self._more:
            while slot.holds(replica):
                self._pending = [one for one in self._pending if not one.future.done()]
                # What another replica remembers is left to it, except by one that stands idle.
                most = _NEW if slot.working else _THEIRS
                found = [one for one in self._pending if rank(one) <= most]
                if found:
                    break
                await self._more.wait()
            else:
                return []
            there = sum(one.started for one in self._slots)
            share = -(-len(self._pending) // there)
            batch = _fair(nearest(found, replica.batch_size, rank), share)
            taken = {one.order for one in batch}
            self._pending = [one for one in self._pending if one.order not in taken]
            slot.shown(batch, replica.batch_size)
            return batch

    async def _answered(self, slot: Slot, replica: Replica, batch: Sequence[Waiting]) -> None:
        outputs: Sequence[Output]
        try:
            outputs = await replica.answer([one.request for one in batch])
            if len(outputs) != len(batch):
                raise ModelError(f"{len(outputs)} outputs came back for {len(batch)} requests")
        except ReplicaLost as error:
            slot.lost(replica)
            await self._give_back(batch, error)
        except UsageError as error:
            for one in batch:
                if not one.future.done():
                    one.future.set_exception(error)
        except Exception as error:  # noqa: BLE001 - else all would wait for ever
            _deliver(batch, [failure_of(error)] * len(batch))
        else:
            _deliver(batch, outputs)

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


def _deliver(batch: Sequence[Waiting], outputs: Sequence[Output]) -> None:
    for one, output in zip(batch, outputs, strict=True):
        if not one.future.done():
            one.future.set_result(output)


def _fair(batch: Sequence[Waiting], share: int) -> list[Waiting]:
    """The first `share` requests and those about the same pictures as the last of these, so that
    what is left is divided among the replicas."""
    end = share
    while (
        end < len(batch) and batch[end].pictures and batch[end].pictures == batch[end - 1].pictures
    ):
        end += 1
    return list(batch[:end])
