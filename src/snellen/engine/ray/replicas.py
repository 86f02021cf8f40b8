"""A pool of replicas of a model, which pull requests from one queue as they become free.

Nothing here depends on where a replica runs. Each takes the batch that suits it best, and has the
next one ready while it works. Requests about images that a replica has cached are left to it,
unless another replica is idle. The batch of a lost replica is queued again; each output reaches its
caller once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

from snellen.core.errors import ModelError, UsageError
from snellen.core.output import Failure, Output
from snellen.core.request import Request
from snellen.engine.loop.batching import QueuedRequest, describe_mismatch, failure_from_error, queued_request
from snellen.engine.ray.pending import CachedImages, PendingRequests

BATCHES_PER_REPLICA = 2
"""Batches that a replica holds: the one it works on, and the next."""
MAX_LOSSES = 3
"""Replicas that may be lost with a request before the request is taken for the cause."""

MAX_STARTS = 6
"""Times that a replica may die during its start before the run is ended."""
RESTART_PAUSE = 1.0
"""Seconds before the second start, doubled before each further one: after a driver was killed, Ray
may take the next driver for dead as well for a while."""


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
        self.cached_images = CachedImages()
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

    def mark_lost(self) -> None:
        self.clear()
        self.losses += 1

    def clear(self) -> None:
        """Drop the replica."""
        self._replica = None
        self.cached_images.clear()


class _WaitingPull(NamedTuple):
    """A batch that a replica has room for."""

    replica: Replica
    batch: asyncio.Future[Sequence[QueuedRequest]]
    """Empty if the replica was lost meanwhile."""


class ReplicaPool:
    """The queue of requests and the replicas that pull from it. Lives inside one event loop.

    A slot waits for each batch that it has room for. Whatever changes what a slot may take (a
    request arrives, a batch ends, a replica is lost) notes the slots concerned, and one call of
    `_serve_slots` gives them their batches: no arrival wakes all replicas.
    """

    def __init__(self, slots: Sequence[ReplicaSlot]) -> None:
        self._pending = PendingRequests({slot: slot.cached_images for slot in slots})
        self._losses: dict[int, int] = {}
        self._request_count = 0
        self._fatal_error: UsageError | None = None
        self._pulls: dict[ReplicaSlot, list[_WaitingPull]] = {}
        self._idle: dict[ReplicaSlot, None] = {}
        """Slots with a waiting pull and no batch."""
        self._concerned: dict[ReplicaSlot, None] = {}
        """Slots for whose images requests may wait that they have not been offered."""
        self._started: set[ReplicaSlot] = set()
        self._is_scheduled = False
        self._tasks = []
        for slot in slots:
            lock = asyncio.Lock()
            self._tasks += [asyncio.ensure_future(self._pull(slot, lock)) for _ in range(BATCHES_PER_REPLICA)]

    async def answer(self, request: Request) -> Output:
        if self._fatal_error is not None:
            raise self._fatal_error
        future: asyncio.Future[Output] = asyncio.get_running_loop().create_future()
        self._request_count += 1
        self._enqueue(queued_request(self._request_count, request, future))
        return await future

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _enqueue(self, *requests: QueuedRequest) -> None:
        for queued in requests:
            self._pending.add(queued)
            self._concerned.update(dict.fromkeys(self._pending.holders(queued)))
        self._schedule()

    async def _pull(self, slot: ReplicaSlot, lock: asyncio.Lock) -> None:
        """Take batches for a replica until the pool is closed or no replica can be started.

        Each slot has two such tasks (`BATCHES_PER_REPLICA`): the second sends its batch while the
        replica works on the first. The lock keeps both from starting a replica at once.
        """
        while True:
            try:
                replica = await slot.replica(lock)
                batch = await self._next_batch(slot, replica)
            except UsageError as error:
                self._fail_all(error)
                return
            except Exception as error:  # noqa: BLE001 - else all would wait for ever
                self._fail_all(UsageError(f"no replica: {type(error).__name__}: {error}"))
                return
            if not batch:
                continue
            try:
                await self._answer_batch(slot, replica, batch)
            finally:
                slot.working -= 1
                if not slot.working and slot in self._pulls:
                    self._idle[slot] = None

    async def _next_batch(self, slot: ReplicaSlot, replica: Replica) -> Sequence[QueuedRequest]:
        """Wait for the next batch of a replica; empty once it is lost."""
        pull = _WaitingPull(replica, asyncio.get_running_loop().create_future())
        self._started.add(slot)
        self._pulls.setdefault(slot, []).append(pull)
        self._concerned[slot] = None
        if not slot.working:
            self._idle[slot] = None
        self._schedule()
        return await pull.batch

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            loop = asyncio.get_running_loop()
            # Let the flows that were just answered queue their next requests first.
            loop.call_soon(loop.call_soon, self._serve_slots)

    def _serve_slots(self) -> None:
        """Give batches to the slots that wait: to idle ones first, then to those with requests
        about their images, then to any as long as there are requests about new images."""
        self._is_scheduled = False
        for slot in list(self._idle):
            if not self._pending:
                break
            self._offer(slot)
        concerned, self._concerned = self._concerned, {}
        for slot in concerned:
            self._offer(slot)
        if self._pending.has_fresh:
            for slot in list(self._pulls):
                self._offer(slot)
                if not self._pending.has_fresh:
                    break

    def _offer(self, slot: ReplicaSlot) -> None:
        """Give a slot the next batch if it waits for one and there is one for it."""
        pulls = self._pulls.get(slot)
        if not pulls:
            return
        replica = pulls[0].replica
        batch: Sequence[QueuedRequest] = ()
        if slot.holds(replica):
            try:
                batch = self._select(slot, replica.batch_size)
            except Exception as error:  # noqa: BLE001 - the pull ends the run with it
                pulls.pop(0).batch.set_exception(error)
            if not batch:
                return
            slot.working += 1
        pull = pulls.pop(0)
        self._idle.pop(slot, None)
        if pulls:
            self._concerned[slot] = None
        else:
            del self._pulls[slot]
        if not pull.batch.done():
            pull.batch.set_result(batch)

    def _select(self, slot: ReplicaSlot, size: int) -> list[QueuedRequest]:
        """Take the next batch of a slot from the queue; empty if nothing is for it."""
        # Rounded up. Without this limit one replica could take all that remains at the end of a
        # run, while the others stand idle.
        fair_size = -(-len(self._pending) // len(self._started))
        batch = _fair_part(self._pending.select(slot, size, is_idle=not slot.working), fair_size)
        self._pending.take(slot, batch, size)
        return batch

    async def _answer_batch(self, slot: ReplicaSlot, replica: Replica, batch: Sequence[QueuedRequest]) -> None:
        outputs: Sequence[Output]
        try:
            outputs = await replica.answer([queued.request for queued in batch])
            if len(outputs) != len(batch):
                raise ModelError(describe_mismatch(len(outputs), len(batch)))
        except ReplicaLost as error:
            if slot.holds(replica):
                self._pending.forget(slot)
                self._started.discard(slot)
                slot.mark_lost()
            self._concerned[slot] = None  # a pull of the lost replica may wait
            self._requeue(batch, error)
        except UsageError as error:
            for queued in batch:
                if not queued.future.done():
                    queued.future.set_exception(error)
        except Exception as error:  # noqa: BLE001 - else all would wait for ever
            _deliver(batch, [failure_from_error(error)] * len(batch))
        else:
            _deliver(batch, outputs)

    def _requeue(self, batch: Sequence[QueuedRequest], error: ReplicaLost) -> None:
        retried = []
        for queued in batch:
            losses = self._losses[queued.order] = self._losses.get(queued.order, 0) + 1
            if losses < MAX_LOSSES:
                retried.append(queued)
            elif not queued.future.done():
                message = f"{losses} replicas were lost while they worked on it: {error}"
                queued.future.set_result(Failure("server", message, losses))
        self._enqueue(*retried)

    def _fail_all(self, error: UsageError) -> None:
        """End all queued and all later requests with an error: no replica can be started."""
        self._fatal_error = error
        for queued in self._pending.clear():
            if not queued.future.done():
                queued.future.set_exception(error)


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
