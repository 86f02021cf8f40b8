"""A pool of replicas of a model, which pull requests from one queue as they become free.

Nothing here depends on where a replica runs. Each takes the batch that suits it best, and has the
next one ready while it works. Requests about images that a replica has cached are left to it,
unless another replica is idle. The batch of a lost replica is queued again; each output reaches its
caller once.
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
    describe_mismatch,
    failure_from_error,
    queued_request,
    select_batch,
)

BATCHES_PER_REPLICA = 2
"""Batches that a replica holds: the one it works on, and the next."""
REMEMBERED_BATCHES = 4
"""Number of batches whose images a replica is assumed to have cached."""
MAX_LOSSES = 3
"""Replicas that may be lost with a request before the request is taken for the cause."""

MAX_STARTS = 6
"""Times that a replica may die during its start before the run is ended."""
RESTART_PAUSE = 1.0
"""Seconds before the second start, doubled before each further one: after a driver was killed, Ray
may take the next driver for dead as well for a while."""
_MINE, _NEW, _THEIRS = range(3)
"""The order in which a replica takes requests: about images that it has cached, that no replica
has, that others have."""


class ReplicaLost(Exception):
    """The process or the machine of a replica is gone."""


class Replica(Protocol):
    """A running copy of a model."""

    batch_size: int
    """Maximum requests of its next batch; may change from batch to batch."""

    async def answer(self, requests: Sequence[Request]) -> Sequence[Output]:
        """Outputs in the order of the requests. Raises ReplicaLost, and UsageError if no replica
        could ever answer."""
        ...


class ReplicaSlot:
    """A place for a replica, which is started on first use and restarted if it is lost."""

    def __init__(self, start: Callable[[], Awaitable[Replica]]) -> None:
        self._start = start
        self._replica: Replica | None = None
        self._remembered: OrderedDict[ImageDigests, None] = OrderedDict()
        self.working = 0
        """Number of batches that the replica holds."""
        self.losses = 0
        """Number of replicas lost in this slot."""

    async def replica(self, lock: asyncio.Lock) -> Replica:
        """The replica, started if there is none. Raises UsageError if none can be started."""
        async with lock:
            failed = 0
            while self._replica is None:
                try:
                    self._replica = await self._start()
                except ReplicaLost as error:
                    failed += 1
                    if failed == MAX_STARTS:
                        raise UsageError(f"a replica died {failed} times as it started: {error}") from error
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
        """Drop the replica."""
        self._replica = None
        self._remembered.clear()

    def remembers(self, request: QueuedRequest) -> bool:
        """Whether the replica has recently been sent the images of a request."""
        return request.images in self._remembered

    def remember(self, batch: Sequence[QueuedRequest], size: int) -> None:
        for queued in batch:
            if queued.images:
                self._remembered[queued.images] = None
                self._remembered.move_to_end(queued.images)
        while len(self._remembered) > REMEMBERED_BATCHES * size:
            self._remembered.popitem(last=False)


class ReplicaPool:
    """The queue of requests and the replicas that pull from it. Lives inside one event loop."""

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
            self._tasks += [asyncio.ensure_future(self._pull(slot, lock)) for _ in range(BATCHES_PER_REPLICA)]

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
        """Take batches for a replica until the pool is closed or no replica can be started.

        Each slot has two such tasks (`BATCHES_PER_REPLICA`): the second sends its batch while the
        replica works on the first. The lock keeps both from starting a replica at once.
        """
        while True:
            try:
                replica = await slot.replica(lock)
                # Let the flows that were just answered queue their next requests first.
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
        """Wait for requests, and select the next batch of a replica; empty once it is lost."""
        others = [other for other in self._slots if other is not slot]

        def rank(request: QueuedRequest) -> int:
            if slot.remembers(request):
                return _MINE
            return _THEIRS if any(other.remembers(request) for other in others) else _NEW

        async with self._arrivals:
            while slot.holds(replica):
                self._pending = [queued for queued in self._pending if not queued.future.done()]
                # Requests about images that another replica has cached are left to it, unless this
                # one is idle.
                max_rank = _NEW if slot.working else _THEIRS
                candidates = [queued for queued in self._pending if rank(queued) <= max_rank]
                if candidates:
                    break
                await self._arrivals.wait()
            else:
                return []
            running = sum(other.is_started for other in self._slots)
            # Rounded up. Without this limit one replica could take all that remains at the end of
            # a run, while the others stand idle.
            fair_size = -(-len(self._pending) // running)
            batch = _fair_part(select_batch(candidates, replica.batch_size, rank), fair_size)
            selected = {queued.order for queued in batch}
            self._pending = [queued for queued in self._pending if queued.order not in selected]
            slot.remember(batch, replica.batch_size)
            return batch

    async def _answer_batch(self, slot: ReplicaSlot, replica: Replica, batch: Sequence[QueuedRequest]) -> None:
        outputs: Sequence[Output]
        try:
            outputs = await replica.answer([queued.request for queued in batch])
            if len(outputs) != len(batch):
                raise ModelError(describe_mismatch(len(outputs), len(batch)))
        except ReplicaLost as error:
            slot.mark_lost(replica)
            await self._requeue(batch, error)
        except UsageError as error:
            for queued in batch:
                if not queued.future.done():
                    queued.future.set_exception(error)
        except Exception as error:  # noqa: BLE001 - else all would wait for ever
            _deliver(batch, [failure_from_error(error)] * len(batch))
        else:
            _deliver(batch, outputs)

    async def _requeue(self, batch: Sequence[QueuedRequest], error: ReplicaLost) -> None:
        retried = []
        for queued in batch:
            losses = self._losses[queued.order] = self._losses.get(queued.order, 0) + 1
            if losses < MAX_LOSSES:
                retried.append(queued)
            elif not queued.future.done():
                message = f"{losses} replicas were lost while they worked on it: {error}"
                queued.future.set_result(Failure("server", message, losses))
        await self._enqueue(*retried)

    def _fail_all(self, error: UsageError) -> None:
        """End all queued and all later requests with an error: no replica can be started."""
        self._fatal_error = error
        for queued in self._pending:
            if not queued.future.done():
                queued.future.set_exception(error)
        self._pending.clear()


def _deliver(batch: Sequence[QueuedRequest], outputs: Sequence[Output]) -> None:
    for queued, output in zip(batch, outputs, strict=True):
        if not queued.future.done():
            queued.future.set_result(output)


def _fair_part(batch: Sequence[QueuedRequest], fair_size: int) -> list[QueuedRequest]:
    """The first `fair_size` requests, and those after them about the same images as the last one:
    the remaining requests are divided among the other replicas."""
    end = fair_size
    while end < len(batch) and batch[end].images and batch[end].images == batch[end - 1].images:
        end += 1
    return list(batch[:end])
