"""Answers requests from the store, or from a model, whose output is checked and stored first."""

from __future__ import annotations

import asyncio
import inspect
import math
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from snellen.core.errors import MediaError, StorageError
from snellen.core.media import InlineSource, Source, check_image
from snellen.core.model import BatchedModel, BatchModel, Model, PreparingModel, RemoteModel, SingleModel, abilities
from snellen.core.output import Compared, Drawn, Failure, Generated, Output, Price, Ranked
from snellen.core.request import MAIN as MAIN
from snellen.core.request import Compare, Draw, Generate, LazyTuple, Media, Rank, Request, request_digest
from snellen.data.media.sources import StoredCell
from snellen.engine.limits.abort import AbortSignal, FailureMonitor, MaxFailures, RunAborted
from snellen.engine.limits.pacing import INITIAL_WINDOW, ConcurrencyWindow
from snellen.engine.limits.reservation import BudgetReservations, UsageBound
from snellen.engine.limits.retrying import RetryingClient, RetryPolicy
from snellen.engine.limits.spending import Budget, UsageCounter
from snellen.engine.loop.batching import Batcher, as_output, failure_from_error
from snellen.engine.loop.concurrent_runs import ConcurrentRuns
from snellen.settings import max_image_pixels
from snellen.store.responses import BRIEF, WAIT, ResponseStore, StoreBusy

if TYPE_CHECKING:
    from snellen.engine.batches.queue import BatchWaves

_INLINE_BYTES = 4 << 20
"""Largest medium, in bytes, that is kept in memory from its check until the reply."""

_MAX_CHECKED_MEDIA = 20_000
"""Number of media for which the result of the check is cached."""

_BUSY_PAUSE = 0.1
"""Longest pause, in seconds, before a write to a locked store is tried again."""

Send = Callable[[Request], Awaitable[Output]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """Retries, failures and budget of a run. None of them changes a reply."""

    retries: RetryPolicy = RetryPolicy()  # noqa: RUF009 - frozen
    max_failures: MaxFailures | None = None
    budget: Budget | None = None


class KeyedOutput(NamedTuple):
    """An output, and the digest of its request."""

    digest: bytes
    output: Output


class ModelClient:
    """Sends requests to one model, counts what they cost, and knows the identity that its replies
    are stored under."""

    def __init__(
        self,
        model: Model,
        store: ResponseStore,
        window: ConcurrencyWindow | None = None,
        limits: RequestLimits = RequestLimits(),
        price: Price | None = None,
        abort_signal: AbortSignal | None = None,
        fresh: str = "",
        reservations: BudgetReservations | None = None,
    ) -> None:
        """A broker of one model; `fresh` names the replies that are asked again, and is part of
        their key in the store."""
        self.identity = model.identity.digest() + (f"/fresh/{fresh}" if fresh else "")
        """What the replies are stored under, but for the row of a recording."""
        self.is_recording = abilities(model).by_row
        """Whether the model is a recording, which answers by row id, not by the prompt."""
        self._abort_signal = abort_signal or AbortSignal()
        self._budget = limits.budget
        self.reservations = reservations
        """What requests in flight may cost; None without a budget."""
        self._bound = UsageBound()
        self.model_key = store.model_key(model.identity)
        self.price = price
        self.usage = UsageCounter()
        self._name = model.identity.name
        self._remote = isinstance(model, RemoteModel)
        self._failure_monitor = FailureMonitor(self._name, self._remote, limits.max_failures, self._abort_signal)
        self._batcher: Batcher | None = None
        if isinstance(model, RemoteModel):
            window = window or ConcurrencyWindow(model.concurrency)
            retrying = RetryingClient(model, window, limits.retries, self.usage, self._abort_signal)
            self._send: Send = retrying.send
            if price is not None and price.cached is not None and model.prompt_cache is not None:
                from snellen.engine.limits.shared_prefix import PrefixGate, cache_of

                cache = cache_of(model, price)
                self._send = self._send if cache is None else PrefixGate(self._send, cache).send
        else:
            self._send = self._build_send(model)

    def identity_for(self, request: Request) -> str:
        """The identity that enters the request's digest. A recording may have different replies to
        rows with equal prompts, so its identity includes the row."""
        if not self.is_recording:
            return self.identity
        ref = request.ref
        return f"{self.identity}/{ref.sample}/{ref.turn}/{ref.row}"

    async def answer(self, request: Request) -> Output:
        """Ask the model; whatever goes wrong in it is a Failure. Raises RunAborted once the run is
        aborted."""
        try:
            return check_output(request, await self._send(request))
        except RunAborted:
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # This task was not cancelled: the error leaked from a task of the model's own.
            return failure_from_error(error)
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - foreign code: its failure is data
            return failure_from_error(error)

    async def reserve(self, reservations: BudgetReservations, request: Request, is_sent: bool) -> float:
        """Reserve the most that a request may cost; returns the amount to release. Waits while it
        does not fit into what is left, unless it was sent before. Raises RunAborted if it never will."""
        return await reservations.reserve(request, self._bound, self.price, is_sent)

    def add_output(self, request: Request, output: Output) -> None:
        """Count the output of a request that was sent; abort the run if a limit is reached."""
        self.usage.add_output(output)
        self._failure_monitor.add_output(output)
        if self._budget is None or isinstance(output, Failure):
            return
        self._bound.learn(request, output.usage)
        if output.usage is not None:
            self._budget.add(output.usage, self.price)
        elif self._remote and not is_refusal(output):
            self._abort_signal.abort(
                f"{self._name} does not tell how many tokens a reply took, so that no budget can "
                "be kept; ask without --budget, and say with --limit how much"
            )
        if self._budget.reason:
            self._abort_signal.abort(self._budget.reason)

    def close(self) -> None:
        if self._batcher is not None:
            self._batcher.close()

    def _build_send(self, model: Model) -> Send:
        """How a model that is not behind a server is asked, without pacing and retries: in batches,
        by an async function, or one request at a time in a thread. Raises TypeError if it is no
        model."""
        if isinstance(model, BatchModel):
            prepare = model.prepare if isinstance(model, PreparingModel) else None
            self._batcher = Batcher(model.answer_batch, lambda: model.batch_size, prepare)
            return self._through(self._batcher)
        if not isinstance(model, SingleModel):
            raise TypeError(f"{type(model).__name__} has neither `answer` nor `answer_batch`")
        if inspect.iscoroutinefunction(model.answer):
            answer: Callable[[Request], object] = model.answer

            async def send(request: Request) -> Output:
                self._abort_signal.raise_if_aborted()
                self.usage.sent += 1
                value = answer(request)
                value = await value if inspect.isawaitable(value) else value
                return value if type(value) is Generated else as_output(value)

            return send
        single = model
        self._batcher = Batcher(lambda requests: [as_output(single.answer(requests[0]))], lambda: 1)
        return self._through(self._batcher)

    def _through(self, batcher: Batcher) -> Send:
        async def send(request: Request) -> Output:
            self._abort_signal.raise_if_aborted()
            self.usage.sent += 1
            return await batcher.answer(request)

        return send


class RequestBroker:
    """Answers requests from the store, or from the model of their role (`request.to`).

    Each distinct request is sent once. Models of one account share a concurrency window. Lives
    inside one event loop; `close` ends worker threads, `stop` connections too. Raises RunAborted for
    a request that would have to be sent after the run was aborted.
    """

    def __init__(
        self,
        models: Mapping[str, Model],
        store: ResponseStore,
        limits: RequestLimits = RequestLimits(),
        prices: Mapping[str, Price] | None = None,
        fresh: str = "",
    ) -> None:
        """`fresh`: replies are stored and looked up under this name only."""
        self._store = store
        self.abort_signal = AbortSignal()
        self._windows: dict[str, ConcurrencyWindow] = {}
        reservations = None if limits.budget is None else BudgetReservations(limits.budget, self.abort_signal)
        rest = self.abort_signal, fresh, reservations
        windows = {role: self._window_for(model) for role, model in models.items() if isinstance(model, RemoteModel)}
        self.clients = {
            role: ModelClient(model, store, windows.get(role), limits, (prices or {}).get(role), *rest)
            for role, model in models.items()
        }
        for window in self._windows.values():
            self.abort_signal.add_callback(window.open_fully)
        self.waves: BatchWaves | None = None
        """What asks the models that are asked in batches; None if there are none."""
        if batched := {role: model for role, model in models.items() if isinstance(model, BatchedModel)}:
            from snellen.engine.batches.queue import BatchWaves

            self.waves = BatchWaves(batched, self.clients, store, limits.retries, check_output, self.abort_signal)
        if limits.budget is not None and limits.budget.reason:
            self.abort_signal.abort(limits.budget.reason)
        self._models = tuple(models.values())
        self._in_flight: dict[bytes, asyncio.Future[Output]] = {}
        self._media_errors: dict[str, str | None] = {}
        self._max_pixels = max_image_pixels()
        self._unreadable_before = len(store.unreadable)
        self.on_reused: Callable[[bytes], object] = lambda digest: None
        """Called with the digest of each request that the store answered."""
        self.on_sent: Callable[[Request, Output], object] | None = None
        """Called with each request that was sent, and its output."""
        self.on_spent: Callable[[Output], object] = lambda output: None
        """Called with the output of each request that was sent."""
        self.concurrent_runs: ConcurrentRuns | None = None
        """Other runs on the store, which may have the same request in flight."""

    @property
    def unreadable(self) -> int:
        """Number of stored replies that could not be read, whose requests were sent again."""
        return len(self._store.unreadable) - self._unreadable_before

    async def ask(self, request: Request) -> KeyedOutput:
        """The output of a request: from the store, from an equal request in flight, or new."""
        client = self.clients[request.to]
        identity = client.identity_for(request) if client.is_recording else client.identity
        digest = request_digest(request, identity)
        output = self._store.get(digest)
        if output is not None:
            self.on_reused(digest)
        elif (shared := self._in_flight.get(digest)) is not None:
            # Shielded: if this flow is cancelled, the flow that sent the request goes on.
            output = await asyncio.shield(shared)
        if output is not None:
            client.usage.add_reused(output)
            return KeyedOutput(digest, output)
        return KeyedOutput(digest, await self._ask_model(digest, request, client))

    def in_flight(self) -> tuple[bytes, ...]:
        """Digests of the requests in flight."""
        return tuple(self._in_flight)

    def close(self) -> None:
        for client in self.clients.values():
            client.close()

    async def stop(self) -> None:
        """End worker threads and connections; batches stay at their providers."""
        self.close()
        if self.waves is not None:
            await self.waves.stop()
        await disconnect(*self._models)

    async def _ask_model(self, digest: bytes, request: Request, client: ModelClient) -> Output:
        """Send a request that neither the store nor a request in flight answers.

        Other flows that ask the same meanwhile wait for the future in `_in_flight`. A Failure is
        not stored, so that the next start asks again. Raises StorageError if the output cannot be
        stored.
        """
        future = asyncio.get_running_loop().create_future()
        self._in_flight[digest] = future
        reserved, reservations = None, client.reservations
        others = self.concurrent_runs
        try:
            if others is not None and others.is_active:
                stored = await others.wait_for_reply(digest, self.abort_signal)
                if stored is not None:
                    return self._reuse(digest, stored, client)
            # A recording reads no image, so images need not be available.
            checked = self._check_media(request) if request.media and not client.is_recording else request
            if isinstance(checked, Failure):
                output: Output = checked
            else:
                if reservations is not None:
                    is_sent = self.waves is not None and self.waves.holds(client, digest)
                    reserved = await client.reserve(reservations, checked, is_sent)
                if self.waves is None:
                    output = await client.answer(checked)
                else:
                    # Without the bytes of its media: thousands of requests wait for a batch.
                    output, is_new = await self.waves.answer(client, digest, request)
                    if not is_new:
                        return self._reuse(digest, output, client)
            if not isinstance(output, Failure):
                try:
                    self._store.put(digest, output, client.model_key, wait=BRIEF)
                except StoreBusy:
                    await self._store_later(digest, output, client)
            client.add_output(request, output)
            if self.on_sent is not None:
                self.on_sent(request, output)
            self.on_spent(output)
            future.set_result(output)
            return output
        except Exception as error:
            if isinstance(error, StorageError):
                # Abort before this request's place in the window passes to the next one, whose
                # reply could not be stored either.
                self.abort_signal.abort("replies cannot be stored any more", 0.0)
            future.set_exception(error)
            # Mark the exception as retrieved: maybe no other flow shares this request.
            future.exception()
            raise
        finally:
            if reservations is not None and reserved is not None:
                reservations.release(reserved)
            del self._in_flight[digest]
            if others is not None and others.is_active:
                others.release(digest)
            if not future.done():
                future.cancel()

    def _reuse(self, digest: bytes, output: Output, client: ModelClient) -> Output:
        """Count a reply that another process has stored meanwhile."""
        self._in_flight[digest].set_result(output)
        self.on_reused(digest)
        client.usage.add_reused(output)
        return output

    async def _store_later(self, digest: bytes, output: Output, client: ModelClient) -> None:
        """Store an output once another process no longer has the store locked: wait without
        blocking the event loop, for up to WAIT seconds."""
        end = time.monotonic() + WAIT
        while True:
            await asyncio.sleep(random.uniform(_BUSY_PAUSE / 2, _BUSY_PAUSE))
            try:
                self._store.put(digest, output, client.model_key, wait=BRIEF)
                return
            except StoreBusy:
                if time.monotonic() > end:
                    raise

    def _check_media(self, request: Request) -> Request | Failure:
        """Check that every medium can be opened; a Failure if one cannot, before any model sees it.

        The bytes that were read travel with the returned request, so that each file is read once.
        Results are cached by digest.
        """
        sources: dict[str, Source] = {}
        lazy = request.messages
        messages = lazy.build() if isinstance(lazy, LazyTuple) else tuple(lazy)
        for message in messages:
            for part in message.media():
                if part.digest not in self._media_errors:
                    if len(self._media_errors) >= _MAX_CHECKED_MEDIA:
                        del self._media_errors[next(iter(self._media_errors))]
                    self._media_errors[part.digest] = _media_error(part, request, sources, self._max_pixels)
                error = self._media_errors[part.digest]
                if error is not None:
                    return Failure("media", error, sent=0)
        if not sources:
            return request
        # Of lazy messages, from here on the built ones are looked at.
        built = {} if isinstance(request, Compare) else {"messages": messages}
        return replace(request, media={**request.media, **sources}, **built)

    def _window_for(self, model: RemoteModel) -> ConcurrencyWindow:
        fresh = ConcurrencyWindow(model.concurrency, INITIAL_WINDOW * model.servers)
        window = self._windows.setdefault(model.account, fresh)
        window.restrict(model.concurrency)
        return window


def model_concurrency(model: Model) -> int:
    """Number of flows to drive at once for a model: its `concurrency`, or for a local model enough
    to select batches of similar length from."""
    if isinstance(model, BatchModel):
        return max(4 * model.batch_size, 2 * abilities(model).batch_limit)
    return abilities(model).concurrency


def concurrent_flows(models: Mapping[str, Model], *, may_stop: bool = False) -> int:
    """Number of flows to drive at once. If a rule may stop the run, a local model gets two batches
    at a time: requests that are queued when the rule is met are wasted.

    For a remote model the concurrency window limits the requests in flight, so a quarter more flows
    than that are driven: some wait in the window's queue, others for a judge or for their retry,
    whose place nobody would take otherwise.
    """
    batched = [model.concurrency for model in models.values() if isinstance(model, BatchedModel)]
    if batched:
        # A wave holds what all flows have ready.
        return max(batched)
    main = models[MAIN]
    flows = model_concurrency(main)
    if may_stop and isinstance(main, BatchModel):
        return min(flows, 2 * main.batch_size)
    if not isinstance(main, RemoteModel):
        return flows
    accounts = {model.account: model.concurrency for model in models.values() if isinstance(model, RemoteModel)}
    return sum(accounts.values()) + max(1, flows // 4)


async def disconnect(*models: Model) -> None:
    """Close the connections of remote models, inside the event loop they were opened in."""
    for model in models:
        if isinstance(model, RemoteModel):
            await model.close()


def _media_error(part: Media, request: Request, sources: dict[str, Source], max_pixels: int) -> str | None:
    """Why a medium cannot be used, or None. Adds its bytes to `sources` unless it is large."""
    try:
        source = request.media[part.digest]
        if isinstance(source, StoredCell):
            source = source.read_inline()
        data = source.read()
        if part.kind == "image":
            check_image(data, max_pixels)
    except MediaError as error:
        return str(error)
    if len(data) <= _INLINE_BYTES:
        sources[part.digest] = source if isinstance(source, InlineSource) else InlineSource(data)
    return None


@asynccontextmanager
async def ask_all(
    model: Model, role: str, requests: Sequence[Request], store: ResponseStore
) -> AsyncIterator[list[Output]]:
    """Ask a model all requests, and yield their outputs in order.

    Stored outputs are not asked again. `role` is the role that the requests are addressed to. The
    model's connections and threads end with the block.
    """
    broker = RequestBroker({role: model}, store)
    gate = asyncio.Semaphore(model_concurrency(model))

    async def output(request: Request) -> Output:
        async with gate:
            return (await broker.ask(request)).output

    try:
        yield list(await asyncio.gather(*map(output, requests)))
    finally:
        await broker.stop()


_OUTPUT_TYPES: dict[type, type] = {Generate: Generated, Rank: Ranked, Draw: Drawn, Compare: Compared}


def check_output(request: Request, output: Output) -> Output:
    """Return the output if it answers that kind of request; else a Failure.

    A text refusal is a valid answer to an image request. Log-likelihoods and similarities that
    are not finite are a Failure of kind `nan`: candidates cannot be ranked by them, and JSON
    cannot store them.
    """
    if type(output) is Generated and type(request) is Generate:
        return _replace_surrogates(output)
    if isinstance(request, Draw) and is_refusal(output):
        return output
    if not isinstance(output, (_OUTPUT_TYPES[type(request)], Failure)):
        got, kind = type(output).__name__, type(request).__name__
        return Failure("unsupported", f"the model answered {kind} with {got}")
    numbers: list[float] = []
    if isinstance(output, Ranked):
        numbers = [candidate.logprob for candidate in output.candidates]
    elif isinstance(output, Compared):
        numbers = list(output.similarities)
    elif isinstance(output, Drawn):
        images = {name: output.data.get(name) for name in output.images}
        if not images or any(data is None for data in images.values()):
            return Failure("request", "the model drew nothing, or named images it did not return")
    if isinstance(request, Rank | Compare) and not isinstance(output, Failure):
        expected = len(request.candidates)
        if len(numbers) != expected:
            return Failure("request", f"{len(numbers)} scores came back for {expected} candidates")
    if all(map(math.isfinite, numbers)):
        return output
    return Failure("nan", "the model's scores of the candidates are not all finite numbers")


def is_refusal(output: Output) -> bool:
    """Whether a content filter replied instead of the model."""
    return isinstance(output, Generated) and output.is_refusal


def _replace_surrogates(output: Generated) -> Output:
    """Replace unpaired surrogates (an emoji cut at the token limit) by U+FFFD: they cannot be
    encoded as UTF-8, so neither JSON nor the store can keep them."""
    if not isinstance(output.text, str):
        return Failure("request", f"the reply is {type(output.text).__name__}; expected text")
    try:
        output.text.encode()
    except UnicodeEncodeError:
        text = output.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return replace(output, text=text)
    return output
