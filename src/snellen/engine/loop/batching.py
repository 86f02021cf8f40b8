"""Collects requests of concurrent flows into batches of similar length for a local model."""

from __future__ import annotations

import asyncio
import atexit
import os
import queue
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from snellen.core.errors import MediaError, ModelError, UsageError
from snellen.core.output import Compared, Drawn, Failure, Generated, Output, Ranked
from snellen.core.request import Rank, Request

ImageDigests = tuple[str, ...]
"""Digests of the images of a request."""
AnswerBatch = Callable[[Sequence[Request]], object]

_SILENT_WAIT = 1.0
"""Seconds that the process waits at exit for a model before it prints a notice."""
_INTERRUPTED = 130
"""Exit code of a process that Ctrl-C ended, as shells have it."""
_IMAGE_LENGTH = 1000
"""Characters of text that take about as many tokens as one image."""


class QueuedRequest(NamedTuple):
    """A request, and the future that its flow waits for."""

    order: int
    length: int
    images: ImageDigests
    request: Request
    future: asyncio.Future[Output]


class Batcher:
    """Feeds one model from one worker thread.

    While the model works, requests queue up, and `prepare` lets the model work ahead on them. Each
    batch is the oldest request, then requests about the same images, then those nearest in length:
    images are encoded once, padding is small, and no request starves. When the queue is long,
    requests about the images of the last batch go first, because a model caches only a few.
    `batch_size` is called before each batch. The thread is a daemon, so Ctrl-C need not wait for
    the model; the end of the process does (`_await_models`).
    """

    def __init__(
        self, answer_batch: AnswerBatch, batch_size: Callable[[], int], prepare: Callable[[Request], None] | None = None
    ) -> None:
        self._answer_batch = answer_batch
        self._prepare = prepare
        self._batch_size = batch_size
        self._pending: list[QueuedRequest] = []
        self._last_images: frozenset[ImageDigests] = frozenset()
        self._busy = False
        self._request_count = 0
        self._batches: queue.SimpleQueue[list[QueuedRequest] | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def answer(self, request: Request) -> Output:
        if self._loop is None:
            self._start()
        assert self._loop is not None
        future: asyncio.Future[Output] = self._loop.create_future()
        if self._prepare is not None:
            self._prepare(request)
        self._request_count += 1
        self._pending.append(queued_request(self._request_count, request, future))
        # `_busy` from the first queued request until the queue is empty: at most one batch is with
        # the worker, and the end of it schedules the next.
        if not self._busy:
            self._busy = True
            # Dispatch after the other flows that are ready have queued theirs: a fuller batch.
            self._loop.call_soon(self._dispatch)
        return await future

    def close(self) -> None:
        """Tell the worker thread to end after its batch, without waiting for it."""
        self._batches.put(None)

    def await_end(self, timeout: float | None = None) -> bool:
        """Wait at most `timeout` seconds until the worker thread has finished its batch and ended;
        returns whether it has. Call `close` first."""
        if self._thread is None:
            return True
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="snellen-model", daemon=True)
        _started_batchers.add(self)
        self._thread.start()

    def _dispatch(self) -> None:
        """Select the next batch and hand it to the worker thread. Runs on the event loop."""
        # A future is done already if its flow was cancelled.
        self._pending = [queued for queued in self._pending if not queued.future.done()]
        if not self._pending:
            self._busy = False
            return
        try:
            size = self._batch_size()
        except BaseException as error:  # noqa: BLE001 - a model is foreign code
            failing, self._pending = self._pending, []
            self._fail(failing, error)
            return
        # A short queue is answered before the model evicts any image: no priority is needed.
        is_crowded = len(self._pending) > 2 * size
        batch = select_batch(self._pending, size, lambda queued: is_crowded and queued.images not in self._last_images)
        self._last_images = frozenset(queued.images for queued in batch if queued.images)
        selected = {queued.order for queued in batch}
        self._pending = [queued for queued in self._pending if queued.order not in selected]
        self._batches.put(batch)

    def _work(self) -> None:
        """Answer batches until `close`. Runs on the worker thread."""
        assert self._loop is not None
        while (batch := self._batches.get()) is not None:
            deliver: Callable[[], None]
            try:
                outputs = answer_or_fail(self._answer_batch, [queued.request for queued in batch])
                deliver = partial(self._deliver, batch, outputs)
            except BaseException as error:  # noqa: BLE001 - else every flow would wait for ever
                deliver = partial(self._fail, batch, error)
            try:
                # Futures belong to the event loop: only its own thread may set them.
                self._loop.call_soon_threadsafe(deliver)
            except RuntimeError:
                # Ctrl-C closed the loop while the model was working: nobody waits any more.
                return

    def _deliver(self, batch: list[QueuedRequest], outputs: Sequence[Output]) -> None:
        for queued, output in zip(batch, outputs, strict=True):
            if not queued.future.done():
                queued.future.set_result(output)
        self._schedule_next()

    def _fail(self, batch: list[QueuedRequest], error: BaseException) -> None:
        """End every request of the batch with the error, and go on with the queue."""
        for queued in batch:
            if not queued.future.done():
                queued.future.set_exception(error)
        self._schedule_next()

    def _schedule_next(self) -> None:
        assert self._loop is not None
        # Setting a future schedules its flow for the next iteration of the loop. Two `call_soon`
        # put the dispatch one iteration later, when these flows have queued their next requests.
        self._loop.call_soon(self._loop.call_soon, self._dispatch)


_started_batchers: weakref.WeakSet[Batcher] = weakref.WeakSet()


@atexit.register
def _await_models() -> None:
    """Let models finish their batches before the interpreter shuts down.

    A thread that returns from torch after the interpreter has shut down is terminated inside
    torch's C++ code, which aborts the process ("terminate called without an active exception"). A
    second Ctrl-C ends the process at once.
    """
    try:
        for batcher in list(_started_batchers):
            batcher.close()
            if not batcher.await_end(_SILENT_WAIT):
                print("waiting for the model's last batch; Ctrl-C does not wait", file=sys.stderr)
                batcher.await_end()
    except KeyboardInterrupt:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_INTERRUPTED)


def answer_or_fail(answer_batch: AnswerBatch, requests: Sequence[Request]) -> Sequence[Output]:
    """Outputs of a batch; a failure of the model is one Failure per request.

    A string stands for `Generated`, as it does from `answer`; a value of another type fails its own
    request alone. Raises UsageError (weights that cannot be loaded, say, end the run) and
    KeyboardInterrupt.
    """
    try:
        values = _list_of_outputs(answer_batch(requests), len(requests))
    except BaseException as error:  # noqa: BLE001 - a model is foreign code
        return [failure_from_error(error)] * len(requests)
    return [_output_or_failure(value) for value in values]


def _list_of_outputs(values: object, count: int) -> list[object]:
    """The list that `answer_batch` returned, one value for each of `count` requests. Raises
    ModelError."""
    wanted = "answer_batch returns a list with one for each, in their order"
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        kind = type(values).__name__
        noun = "request" if count == 1 else "requests"
        raise ModelError(f"one {kind} came back for {count} {noun}; {wanted}")
    outputs = list(values)
    if len(outputs) != count:
        raise ModelError(f"{describe_mismatch(len(outputs), count)}; {wanted}")
    return outputs


def describe_mismatch(outputs: int, requests: int) -> str:
    """How many outputs came back for how many requests, in words."""
    output_noun = "output" if outputs == 1 else "outputs"
    request_noun = "request" if requests == 1 else "requests"
    return f"{outputs} {output_noun} came back for {requests} {request_noun}"


def as_output(value: object) -> Output:
    """Convert a model's return value: plain text becomes `Generated`. Raises ModelError for
    anything that is neither text nor an Output."""
    if isinstance(value, str):
        return Generated(value)
    if isinstance(value, Generated | Ranked | Drawn | Compared | Failure):
        return value
    raise ModelError(
        f"the model returned {type(value).__name__}; expected text or an Output "
        "(Generated, Ranked, Drawn, Compared or Failure)"
    )


def _output_or_failure(value: object) -> Output:
    try:
        return as_output(value)
    except ModelError as error:
        return failure_from_error(error)


def failure_from_error(error: BaseException) -> Failure:
    """Convert an exception of a model to a Failure.

    Any BaseException counts: libraries in Rust raise one when they panic, and a CancelledError
    that leaks from a model's own task does not cancel ours. UsageError and KeyboardInterrupt are
    raised again: they are meant for the user. An error in the user's own model comes with the line
    that raised it, and its traceback.
    """
    if isinstance(error, (UsageError, KeyboardInterrupt)):
        raise error
    if isinstance(error, MediaError):
        return Failure("media", str(error))
    if isinstance(error, ModelError):
        return Failure(error.kind, str(error))
    from snellen.core.user_code import describe_error, users_traceback  # rarely needed

    return Failure("request", describe_error(error), traceback=users_traceback(error))


def queued_request(order: int, request: Request, future: asyncio.Future[Output]) -> QueuedRequest:
    return QueuedRequest(order, estimate_length(request), _image_digests(request), request, future)


def estimate_length(request: Request) -> int:
    """Rough length of a prompt in characters, images included, for batches of similar length."""
    text = sum(len(message.text()) for message in request.messages)
    extra = sum(map(len, request.candidates)) if isinstance(request, Rank) else 0
    return text + extra + _IMAGE_LENGTH * sum(len(m.media()) for m in request.messages)


def select_batch(
    pending: Sequence[QueuedRequest], size: int, rank: Callable[[QueuedRequest], int] = lambda _: 0
) -> list[QueuedRequest]:
    """Select the oldest request and up to `size - 1` others of its type.

    Requests about the same images as the oldest come first, then those nearest to it in length;
    requests about the same images stay together, so that the images are encoded once. Requests of
    a lower `rank` go before all others.
    """
    ranks = {queued.order: rank(queued) for queued in pending}
    oldest = min(pending, key=lambda queued: (ranks[queued.order], queued.order))
    same_kind = [queued for queued in pending if type(queued.request) is type(oldest.request)]
    groups: dict[ImageDigests | int, list[QueuedRequest]] = {}
    for queued in same_kind:
        groups.setdefault(queued.images or queued.order, []).append(queued)

    def distance(queued: QueuedRequest) -> tuple[bool, int, int, int]:
        other_images = queued.images != oldest.images
        return (other_images, ranks[queued.order], abs(queued.length - oldest.length), queued.order)

    ordered = [sorted(group, key=distance) for group in groups.values()]
    ordered.sort(key=lambda group: distance(group[0]))
    return [queued for group in ordered for queued in group][:size]


def _image_digests(request: Request) -> ImageDigests:
    return tuple(part.digest for message in request.messages for part in message.media())
