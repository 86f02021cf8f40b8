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
from snellen.engine.loop.batching import (
    ImageDigests,
    QueuedRequest,
    failure_from_error,
    queued_request,
    select_batch,
)

BATCHES_PER_REPLICA = 2
"""Batches a replica holds: one it works on and one that is ready."""
REMEMBERED_BATCHES = 4
"""Batches of pictures that a replica is taken to remember."""
MAX_LOSSES = 3
"""Replicas a request may lose before it is taken for the reason."""

MAX_STARTS = 6
"""Times a replica may die while it starts before its place is given up."""
RESTART_PAUSE = 1.0
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


class ReplicaSlot:
    """A place for a replica, which is started when it is first needed and again when lost."""

    def __init__(self, start: Callable[[], Awaitable[Replica]]) -> None:
        self._start = start
        self._replica: Replica | None = None
        self._remembered: OrderedDict[ImageDigests, None] = OrderedDict()
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
                    if failed == MAX_STARTS:
                        raise UsageError(
                            f"a replica died {failed} times as it started: {error}"
                        ) from error
                    await asyncio.sleep(RESTART_PAUSE * 2 ** (failed - 1))
            return self._replica

    @property
    def is_started(self) -> bool:
        """Whether there is a replica."""
        return self._replica is not None

    def holds(self, replica: Replica) -> bool:
        return self._replica is replica

    def mark_lost(self, replica: Replica) -> None:
        if self._replica is replica:
            self.clear()
            self.losses += 1

    def clear(self) -> None:
        """There is no replica any more."""
        self._replica = None
        self._remembered.clear()

    def remembers(self, request: QueuedRequest) -> bool:
        """Whether the replica has lately been shown the pictures of a request."""
        return request.images in self._remembered

    def remember(self, batch: Sequence[QueuedRequest], size: int) -> None:
        for one in batch:
            if one.images:
                self._remembered[one.images] = None
                self._remembered.move_to_end(one.images)
        while len(self._remembered) > REMEMBERED_BATCHES * size:
            self._remembered.popitem(last=False)


class ReplicaPool:
    """Requests and the replicas that answer them, inside one event loop."""

    def __init__(self, slots: Sequence[ReplicaSlot]) -> None:
        self._pending: list[QueuedRequest] = []
        self._losses: dict[int, int] = {}
        self._request_count = 0
        self._fatal_error: UsageError | None = None
        self._arrivals = asyncio.Condition()
        self._slots = slots
        self._tasks = []
        for slot in slots:
            lock = asyncio.Lock()
            self._tasks += [
                asyncio.ensure_future(self._pull(slot, lock)) for _ in range(BATCHES_PER_REPLICA)
            ]

    async def answer(self, request: Request) -> Output:
        if self._fatal_error is not None:
            raise self._fatal_error
        future: asyncio.Future[Output] = asyncio.get_running_loop().create_future()
        self._request_count += 1
        await self._enqueue(queued_request(self._request_count, request, future))
        return await future

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _enqueue(self, *requests: QueuedRequest) -> None:
        async with self._arrivals:
            self._pending.extend(requests)
            self._arrivals.notify_all()

    async def _pull(self, slot: ReplicaSlot, lock: asyncio.Lock) -> None:
        while True:
            try:
                replica = await slot.replica(lock)
                # The flows that were just answered ask first, so that their requests meet.
                await asyncio.sleep(0)
                batch = await self._next_batch(slot, replica)
            except UsageError as error:
                self._fail_all(error)
                return
            except Exception as error:  # noqa: BLE001 - else all would wait for ever
                self._fail_all(UsageError(f"no replica: {type(error).__name__}: {error}"))
                return
            if not batch:
                continue
            slot.working += 1
            try:
                await self._answer_batch(slot, replica, batch)
            finally:
                slot.working -= 1

    async def _next_batch(self, slot: ReplicaSlot, replica: Replica) -> list[QueuedRequest]:
        """Requests for a replica; none once it is lost."""
        others = [one for one in self._slots if one is not slot]

        def rank(request: QueuedRequest) -> int:
            if slot.remembers(request):
                return _MINE
            return _THEIRS if any(other.remembers(request) for other in others) else _NEW

        async with self._arrivals:
            while slot.holds(replica):
                self._pending = [one for one in self._pending if not one.future.done()]
                # What another replica remembers is left to it, except by one that stands idle.
                max_rank = _NEW if slot.working else _THEIRS
                candidates = [one for one in self._pending if rank(one) <= max_rank]
                if candidates:
                    break
                await self._arrivals.wait()
            else:
                return []
            there = sum(one.is_started for one in self._slots)
            fair_size = -(-len(self._pending) // there)
            batch = _fair_part(select_batch(candidates, replica.batch_size, rank), fair_size)
            selected = {one.order for one in batch}
            self._pending = [one for one in self._pending if one.order not in selected]
            slot.remember(batch, replica.batch_size)
            return batch

    async def _answer_batch(
        self, slot: ReplicaSlot, replica: Replica, batch: Sequence[QueuedRequest]
    ) -> None:
        outputs: Sequence[Output]
        try:
            outputs = await replica.answer([one.request for one in batch])
            if len(outputs) != len(batch):
                raise ModelError(f"{len(outputs)} outputs came back for {len(batch)} requests")
        except ReplicaLost as error:
            slot.mark_lost(replica)
            await self._requeue(batch, error)
        except UsageError as error:
            for one in batch:
                if not one.future.done():
                    one.future.set_exception(error)
        except Exception as error:  # noqa: BLE001 - else all would wait for ever
            _deliver(batch, [failure_from_error(error)] * len(batch))
        else:
            _deliver(batch, outputs)

    async def _requeue(self, batch: Sequence[QueuedRequest], error: ReplicaLost) -> None:
        again = []
        for one in batch:
            losses = self._losses[one.order] = self._losses.get(one.order, 0) + 1
            if losses < MAX_LOSSES:
                again.append(one)
            elif not one.future.done():
                message = f"{losses} replicas were lost while they worked on it: {error}"
                one.future.set_result(Failure("server", message, losses))
        await self._enqueue(*again)

    def _fail_all(self, error: UsageError) -> None:
        """No replica can be had: whoever waits, or asks later, is told."""
        self._fatal_error = error
        for one in self._pending:
            if not one.future.done():
                one.future.set_exception(error)
        self._pending.clear()


def _deliver(batch: Sequence[QueuedRequest], outputs: Sequence[Output]) -> None:
    for one, output in zip(batch, outputs, strict=True):
        if not one.future.done():
            one.future.set_result(output)


def _fair_part(batch: Sequence[QueuedRequest], fair_size: int) -> list[QueuedRequest]:
    """The first `fair_size` requests, and those after them about the same images as the last one:
    the remaining requests are divided among the other replicas."""
    end = fair_size
    while end < len(batch) and batch[end].images and batch[end].images == batch[end - 1].images:
        end += 1
    return list(batch[:end])
