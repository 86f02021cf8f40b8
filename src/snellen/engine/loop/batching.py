"""Requests of concurrent flows meet here and go to a local model in batches of like length."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from snellen.core.errors import MediaError, ModelError, UsageError
from snellen.core.output import Failure, Output
from snellen.core.request import Rank, Request

Pictures = tuple[str, ...]
"""Digests of the pictures of a request."""
AnswerBatch = Callable[[Sequence[Request]], Sequence[Output]]

_IMAGE_LENGTH = 1000
"""An image weighs about as much as this many characters in a prompt."""


class Waiting(NamedTuple):
    """A request and whoever waits for its output."""

    order: int
    length: int
    pictures: Pictures
    request: Request
    future: asyncio.Future[Output]


class Batcher:
    """Feeds one model from one worker thread.

    While the model works, requests pile up, and the model may be told of them (`ahead`); each batch
    is the oldest request, those about the same pictures, and its nearest in length, so that what
    can be shared is, padding is little and nobody starves. Where many wait, those about the
    pictures of the last batch go first: a model remembers only so many. `size` is asked before
    each batch. The thread is a daemon: Ctrl-C need not wait for the model.
    """

    def __init__(
        self,
        answer_batch: AnswerBatch,
        size: Callable[[], int],
        ahead: Callable[[Request], None] | None = None,
    ) -> None:
        self._answer_batch = answer_batch
        self._ahead = ahead
        self._size = size
        self._pending: list[Waiting] = []
        self._shown: frozenset[Pictures] = frozenset()
        self._busy = False
        self._asked = 0
        self._jobs: queue.SimpleQueue[list[Waiting] | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def answer(self, request: Request) -> Output:
        if self._loop is None:
            self._start()
        assert self._loop is not None
        future: asyncio.Future[Output] = self._loop.create_future()
        if self._ahead is not None:
            self._ahead(request)
        self._asked += 1
        self._pending.append(waiting(self._asked, request, future))
        if not self._busy:
            self._busy = True
            # Let the other flows that are ready ask first: a fuller batch.
            self._loop.call_soon(self._dispatch)
        return await future

    def close(self) -> None:
        """Ask the worker to end after its batch; does not wait for it."""
        self._jobs.put(None)

    def _start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="snellen-model", daemon=True)
        self._thread.start()

    def _dispatch(self) -> None:
        self._pending = [one for one in self._pending if not one.future.done()]
        if not self._pending:
            self._busy = False
            return
        try:
            size = self._size()
        except BaseException as error:  # noqa: BLE001 - a model is foreign code
            waiting_now, self._pending = self._pending, []
            self._end(waiting_now, error)
            return
        many = len(self._pending) > 2 * size
        batch = nearest(self._pending, size, lambda one: many and one.pictures not in self._shown)
        self._shown = frozenset(one.pictures for one in batch if one.pictures)
        taken = {one.order for one in batch}
        self._pending = [one for one in self._pending if one.order not in taken]
        self._jobs.put(batch)

    def _work(self) -> None:
        assert self._loop is not None
        while (batch := self._jobs.get()) is not None:
            deliver: Callable[[], None]
            try:
                outputs = answered(self._answer_batch, [one.request for one in batch])
                deliver = partial(self._deliver, batch, outputs)
            except BaseException as error:  # noqa: BLE001 - else all would wait for ever
                deliver = partial(self._end, batch, error)
            try:
                self._loop.call_soon_threadsafe(deliver)
            except RuntimeError:
                # The loop was closed by Ctrl-C while the model was working.
                return

    def _deliver(self, batch: list[Waiting], outputs: Sequence[Output]) -> None:
        for one, output in zip(batch, outputs, strict=True):
            if not one.future.done():
                one.future.set_result(output)
        self._go_on()

    def _end(self, batch: list[Waiting], error: BaseException) -> None:
        """Every request of the batch ends with the error; those behind it have their turn."""
        for one in batch:
            if not one.future.done():
                one.future.set_exception(error)
        self._go_on()

    def _go_on(self) -> None:
        assert self._loop is not None
        # The flows just woken run before this callback's callback, so their next requests meet.
        self._loop.call_soon(self._loop.call_soon, self._dispatch)


def answered(answer_batch: AnswerBatch, requests: Sequence[Request]) -> Sequence[Output]:
    """Outputs of a batch. Raises UsageError: weights that cannot be loaded, say, end the run; and
    KeyboardInterrupt. Whatever else goes wrong in a model is data."""
    try:
        outputs = list(answer_batch(requests))
        if len(outputs) != len(requests):
            raise ModelError(f"{len(outputs)} outputs came back for {len(requests)} requests")
        return outputs
    except BaseException as error:  # noqa: BLE001 - a model is foreign code
        return [failure_of(error)] * len(requests)


def failure_of(error: BaseException) -> Failure:
    """What went wrong in a model, as data. Libraries in other languages raise a BaseException
    where they panic, and a cancelled call of a model's own cancels nothing of ours. Raises the
    error itself where it is meant for the user."""
    if isinstance(error, (UsageError, KeyboardInterrupt)):
        raise error
    if isinstance(error, MediaError):
        return Failure("media", str(error))
    if isinstance(error, ModelError):
        return Failure(error.kind, str(error))
    return Failure("request", f"{type(error).__name__}: {error}")


def waiting(order: int, request: Request, future: asyncio.Future[Output]) -> Waiting:
    return Waiting(order, length_of(request), _pictures(request), request, future)


def length_of(request: Request) -> int:
    """Rough length of a prompt in characters, images included: for grouping like with like."""
    text = sum(len(message.text()) for message in request.messages)
    extra = sum(map(len, request.candidates)) if isinstance(request, Rank) else 0
    return text + extra + _IMAGE_LENGTH * sum(len(m.media()) for m in request.messages)


def nearest(
    pending: Sequence[Waiting], size: int, rank: Callable[[Waiting], int] = lambda _: 0
) -> list[Waiting]:
    """The oldest request and `size - 1` of its kind: those about the same pictures first, then
    the nearest in length, each with all about its pictures. Requests of a lower rank go before
    all others."""
    ranks = {one.order: rank(one) for one in pending}
    oldest = min(pending, key=lambda one: (ranks[one.order], one.order))
    like = [one for one in pending if type(one.request) is type(oldest.request)]
    groups: dict[Pictures | int, list[Waiting]] = {}
    for one in like:
        groups.setdefault(one.pictures or one.order, []).append(one)

    def distance(one: Waiting) -> tuple[bool, int, int, int]:
        unlike = one.pictures != oldest.pictures
        return (unlike, ranks[one.order], abs(one.length - oldest.length), one.order)

    ordered = [sorted(group, key=distance) for group in groups.values()]
    ordered.sort(key=lambda group: distance(group[0]))
    return [one for group in ordered for one in group][:size]


def _pictures(request: Request) -> Pictures:
    return tuple(part.digest for message in request.messages for part in message.media())
