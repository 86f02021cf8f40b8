"""Ask a model: look the digest up; if absent, ask and store before the flow sees the output."""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from snellen.core.errors import MediaError, StorageError
from snellen.core.media import InlineSource, Source, check_image
from snellen.core.message import Media
from snellen.core.model import BatchModel, Model, PreparingModel, RemoteModel, SingleModel
from snellen.core.output import Failure, Output
from snellen.core.price import Price
from snellen.core.request import Request, request_digest
from snellen.engine.limits.abort import Halt, Halted, MaxFailures, Patience
from snellen.engine.limits.pacing import Pace
from snellen.engine.limits.retrying import Line, RetryPolicy
from snellen.engine.limits.spending import Budget, Traffic
from snellen.engine.loop.batching import Batcher, failure_of
from snellen.engine.loop.check_output import as_output, fitting, refuses
from snellen.engine.loop.concurrent_runs import Sharing
from snellen.settings import most_pixels
from snellen.store.responses import WAIT, ResponseStore, StoreBusy

MAIN = "model"
"""The role of the model that is measured; other roles are e.g. `extractor` and `judge`."""

_INLINE = 4 << 20
"""Bytes up to which a medium is kept in memory from its check until the reply."""

_LOOKED_AT = 20_000
"""Media of which is remembered whether they can be opened."""

_AGAIN = 0.1
"""Seconds after which a store that another process holds is tried again."""

Send = Callable[[Request], Awaitable[Output]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """On what terms models are asked. Nothing here changes a reply."""

    retries: RetryPolicy = RetryPolicy()  # noqa: RUF009 - frozen
    max_failures: MaxFailures | None = None
    budget: Budget | None = None


class Asked(NamedTuple):
    digest: bytes
    output: Output


class Party:
    """One model that is asked: how it is reached, and what its replies are stored under."""

    def __init__(
        self,
        model: Model,
        store: ResponseStore,
        pace: Pace | None = None,
        terms: Terms = Terms(),
        price: Price | None = None,
        halt: Halt | None = None,
        fresh: str = "",
    ) -> None:
        self._identity = model.identity.digest() + (f"/fresh/{fresh}" if fresh else "")
        self._by_row = getattr(model, "by_row", False) is True
        self._halt = halt or Halt()
        self._budget = terms.budget
        self.key = store.model_key(model.identity)
        self.price = price
        self.traffic = Traffic()
        self._name = model.identity.name
        self._remote = isinstance(model, RemoteModel)
        self._patience = Patience(self._name, self._remote, terms.max_failures, self._halt)
        self._batcher: Batcher | None = None
        if isinstance(model, RemoteModel):
            pace = pace or Pace(model.concurrency)
            line = Line(model, pace, terms.retries, self.traffic, self._halt)
            self._send: Send = line.send
        else:
            self._send = self._counted(self._sender(model))

    @property
    def recording(self) -> bool:
        """Whether it answers by the row asked, not by what is shown."""
        return self._by_row

    def identity_for(self, request: Request) -> str:
        """Who answers a request. A recording (`by_row`) answers rows, not words: two questions
        that read the same have each a reply of their own."""
        if not self._by_row:
            return self._identity
        ref = request.ref
        return f"{self._identity}/{ref.sample}/{ref.turn}/{ref.row}"

    async def answer(self, request: Request) -> Output:
        """The model's own output; whatever goes wrong on its side is a Failure. Raises Halted
        when nothing is sent any more."""
        try:
            return fitting(request, await self._send(request))
        except Halted:
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # Nobody here gave up: the model let a cancelled call of its own escape.
            return failure_of(error)
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - foreign code: its fault is data
            return failure_of(error)

    def note(self, output: Output) -> None:
        """Count what came of a request, and stop the run where the terms say so."""
        self.traffic.note(output)
        self._patience.note(output)
        if self._budget is None or isinstance(output, Failure):
            return
        if output.usage is not None:
            self._budget.add(output.usage, self.price)
        elif self._remote and not refuses(output):
            self._halt.stop(
                f"{self._name} does not tell how many tokens a reply took, so that no budget can "
                "be kept; ask without --budget, and say with --limit how much"
            )
        if self._budget.reason:
            self._halt.stop(self._budget.reason)

    def close(self) -> None:
        if self._batcher is not None:
            self._batcher.close()

    def _counted(self, send: Send) -> Send:
        async def counted(request: Request) -> Output:
            self._halt.check()
            self.traffic.sent += 1
            return await send(request)

        return counted

    def _sender(self, model: Model) -> Send:
        if isinstance(model, BatchModel):
            ahead = model.prepare if isinstance(model, PreparingModel) else None
            self._batcher = Batcher(model.answer_batch, lambda: model.batch_size, ahead)
            return self._batcher.answer
        if not isinstance(model, SingleModel):
            raise TypeError(f"{type(model).__name__} has neither `answer` nor `answer_batch`")
        if inspect.iscoroutinefunction(model.answer):
            return _typed(model.answer)
        single = model
        self._batcher = Batcher(lambda requests: [as_output(single.answer(requests[0]))], lambda: 1)
        return self._batcher.answer


class Asker:
    """Answers requests from the store or from the model of their role (`request.to`); each
    distinct request is sent once. Models of one account share its pace. Lives inside one event
    loop; `close` ends worker threads.

    Raises Halted where a request would have to be sent and nothing is sent any more.
    """

    def __init__(
        self,
        models: Mapping[str, Model],
        store: ResponseStore,
        terms: Terms = Terms(),
        prices: Mapping[str, Price] | None = None,
        fresh: str = "",
    ) -> None:
        """`fresh`: replies are stored and looked up under this name alone."""
        self._store = store
        self.halt = Halt()
        self._paces: dict[str, Pace] = {}
        self.parties = {
            role: Party(
                model,
                store,
                self._pace_of(model),
                terms,
                (prices or {}).get(role),
                self.halt,
                fresh,
            )
            for role, model in models.items()
        }
        for pace in self._paces.values():
            self.halt.tell(pace.release)
        if terms.budget is not None and terms.budget.reason:
            self.halt.stop(terms.budget.reason)
        self._in_flight: dict[bytes, asyncio.Future[Output]] = {}
        self._complaints: dict[str, str | None] = {}
        self._unreadable = len(store.unreadable)
        self.found: Callable[[bytes], object] = lambda digest: None
        """Called with the digest of each request that the store answered."""
        self.paid: Callable[[], object] = lambda: None
        """Called once a request that was sent has ended."""
        self.sharing: Sharing | None = None
        """Other runs on the store, which may have a request in flight already."""

    @property
    def unreadable(self) -> int:
        """How many stored replies could not be read and were owed again."""
        return len(self._store.unreadable) - self._unreadable

    async def ask(self, request: Request) -> Asked:
        """The output: stored, shared with an equal request in flight, or fresh and stored."""
        party = self.parties[request.to]
        digest = request_digest(request, party.identity_for(request))
        output = self._store.get(digest)
        if output is not None:
            self.found(digest)
        elif (shared := self._in_flight.get(digest)) is not None:
            output = await asyncio.shield(shared)
        if output is not None:
            party.traffic.note_reused(output)
            return Asked(digest, output)
        return Asked(digest, await self._fresh(digest, request, party))

    def in_flight(self) -> tuple[bytes, ...]:
        """Digests of the requests that are being answered."""
        return tuple(self._in_flight)

    def close(self) -> None:
        for party in self.parties.values():
            party.close()

    async def _fresh(self, digest: bytes, request: Request, party: Party) -> Output:
        future = asyncio.get_running_loop().create_future()
        self._in_flight[digest] = future
        try:
            if self.sharing is not None and self.sharing.active:
                stored = await self.sharing.reply_of_another(digest, self.halt)
                if stored is not None:
                    self.found(digest)
                    party.traffic.note_reused(stored)
                    future.set_result(stored)
                    return stored
            # A recording looks at no picture, so that it needs none to be there.
            checked = request if party.recording else self._checked(request)
            if isinstance(checked, Failure):
                output: Output = checked
            else:
                output = await party.answer(checked)
            if not isinstance(output, Failure):
                try:
                    await self._keep(digest, output, party)
                except StorageError:
                    # Before those who wait for a place in the window take this one's: what they
                    # would be told could not be kept either.
                    self.halt.stop("replies cannot be stored any more", 0.0)
                    raise
            party.note(output)
            self.paid()
            future.set_result(output)
            return output
        except Exception as error:
            future.set_exception(error)
            # Whoever shares the request hears of it; nobody may.
            future.exception()
            raise
        finally:
            del self._in_flight[digest]
            if self.sharing is not None:
                self.sharing.release(digest)
            if not future.done():
                future.cancel()

    async def _keep(self, digest: bytes, output: Output, party: Party) -> None:
        """Store an output. While another process holds the store, other requests go on."""
        end = time.monotonic() + WAIT
        while True:
            try:
                self._store.put_unless_busy(digest, output, party.key)
                return
            except StoreBusy:
                if time.monotonic() > end:
                    raise
            await asyncio.sleep(random.uniform(_AGAIN / 2, _AGAIN))

    def _checked(self, request: Request) -> Request | Failure:
        """The request with the media that were read to check them, so that they are read once.
        A picture that cannot be opened fails its sample before any model sees it."""
        read: dict[str, Source] = {}
        for message in request.messages:
            for part in message.media():
                if part.digest not in self._complaints:
                    if len(self._complaints) >= _LOOKED_AT:
                        del self._complaints[next(iter(self._complaints))]
                    self._complaints[part.digest] = _complaint(part, request, read)
                complaint = self._complaints[part.digest]
                if complaint is not None:
                    return Failure("media", complaint, sent=0)
        return replace(request, media={**request.media, **read}) if read else request

    def _pace_of(self, model: Model) -> Pace | None:
        if not isinstance(model, RemoteModel):
            return None
        pace = self._paces.setdefault(model.account, Pace(model.concurrency))
        pace.limit(model.concurrency)
        return pace


def concurrency_of(model: Model) -> int:
    """How many flows to drive at once: enough to fill batches of like length, or the model's
    own `concurrency`."""
    if isinstance(model, BatchModel):
        return max(4 * model.batch_size, 2 * int(getattr(model, "batch_limit", 0)))
    return int(getattr(model, "concurrency", 16))


def flows_for(models: Mapping[str, Model]) -> int:
    """How many flows to drive at once. Where the measured model is behind a server its pace
    holds requests back, so that a few more flows may wait, or be with a judge meanwhile."""
    main = models[MAIN]
    flows = concurrency_of(main)
    if not isinstance(main, RemoteModel):
        return flows
    accounts = {
        model.account: model.concurrency
        for model in models.values()
        if isinstance(model, RemoteModel)
    }
    return sum(accounts.values()) + max(1, flows // 16)


async def disconnect(*models: Model) -> None:
    """End the connections of models behind servers, inside the loop they were made in."""
    for model in models:
        if isinstance(model, RemoteModel):
            await model.close()


def _typed(answer: Callable[[Request], object]) -> Send:
    async def send(request: Request) -> Output:
        value = answer(request)
        return as_output(await value if inspect.isawaitable(value) else value)

    return send


def _complaint(part: Media, request: Request, read: dict[str, Source]) -> str | None:
    """What is wrong with a medium, or None; `read` is given its bytes."""
    try:
        data = request.media[part.digest].read()
        if part.kind == "image":
            check_image(data, most_pixels())
    except MediaError as error:
        return str(error)
    if len(data) <= _INLINE:
        read[part.digest] = InlineSource(data)
    return None


@asynccontextmanager
async def outputs_of(
    model: Model, role: str, requests: Sequence[Request], store: ResponseStore
) -> AsyncIterator[list[Output]]:
    """An output for each request, stored ones without asking; `role` is whom the requests are
    addressed to. As many are in flight as the model takes, and it is let go when the block ends."""
    asker = Asker({role: model}, store)
    gate = asyncio.Semaphore(concurrency_of(model))

    async def output(request: Request) -> Output:
        async with gate:
            return (await asker.ask(request)).output

    try:
        yield list(await asyncio.gather(*map(output, requests)))
    finally:
        asker.close()
        await disconnect(model)
