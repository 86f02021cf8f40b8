"""The batches of one model, and the waves of requests that fill them: requests gathered, batches submitted,
polled and taken.

A batch belongs to the run whose flows wait for it. Batches that other runs left in the store are only
looked at, because they take room of the account.

A wave is submitted once no flow can go on without it: nothing was added for `SETTLE` seconds, and no
model that answers at once has a request in flight. Results are taken at such a moment too, so that
the flows of a new start have asked for what an earlier one left at the provider.

The order of the steps decides what a kill may cost. A row of the store says that a batch is about to
be created before it is; if the process ends before the batch's place is known, the next start asks the
provider for the batch by its name. Where batches have no names (Anthropic), all of the right size and
time are candidates, whose results show what they hold.
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, NamedTuple, TypeVar

from snellen.core.errors import MediaError, ModelError
from snellen.core.model import BatchedModel
from snellen.core.output import Failure, Output
from snellen.core.request import Generate, Ref, Request
from snellen.engine.limits.abort import AbortSignal, RunAborted
from snellen.engine.limits.retrying import RetryPolicy
from snellen.store.batches import BatchRow, BatchTable
from snellen.store.in_flight import this_process

if TYPE_CHECKING:
    from snellen.engine.loop.request_broker import ModelClient
    from snellen.store.responses import ResponseStore


T = TypeVar("T")
CheckOutput = Callable[[Request, Output], Output]

CREATION_SECONDS = 30.0
"""Seconds after a killed start began to create a batch until the provider lists it, if it was created."""
_MAX_WAVES = 3
"""Batches in which a request is asked at most, each of which may take a day."""
_MAX_READS = 4
"""How often results are read that turn out incomplete."""
_FIRST_POLL, _LONGEST_POLL = 1.0, 60.0
"""Seconds between two looks at a batch: the first ones, and the longest."""
_YIELD = 200
"""Results after which other tasks may run."""
_ANY = Generate(messages=(), ref=Ref(""))


class BatchReply(NamedTuple):
    """The output of a request, and whether this process took it: otherwise another one did, and stored it."""

    output: Output
    is_new: bool = True


class Waiter:
    """A request that a flow waits for."""

    def __init__(self, client: ModelClient, request: Request, future: asyncio.Future[BatchReply]) -> None:
        self.client, self.request, self.future = client, request, future
        self.waves = 0
        """Batches it was in, in this start."""


class Wave(NamedTuple):
    """Lines of a batch that is being gathered."""

    lines: IO[bytes]
    facts: dict[bytes, str]
    """What the reply to each request is read with, by digest."""

    @classmethod
    def new(cls) -> Wave:
        return cls(tempfile.TemporaryFile(prefix="snellen-"), {})


class _Pending:
    """A batch that waits at the provider, or in another process."""

    def __init__(self, name: str, digests: frozenset[bytes]) -> None:
        self.name, self.digests = name, digests
        self.place = ""
        self.is_needed = False
        """Whether a flow of this start has waited for it."""
        self.pause, self.next_poll = _FIRST_POLL, 0.0
        self.reads = 0
        """Times its results were incomplete."""
        self.failing_since = 0.0
        self.unasked: list[Output] = []
        """Replies new to the store that no flow waits for: an earlier start asked for them."""


class BatchQueue:
    """The requests to one model."""

    def __init__(
        self,
        model: BatchedModel,
        client: ModelClient,
        store: ResponseStore,
        table: BatchTable,
        policy: RetryPolicy,
        check: CheckOutput,
        say: Callable[[str], object],
    ) -> None:
        """`check` turns an output that does not answer its request into a failure; `say` is told of
        each batch."""
        self._check = check
        self._model, self._store, self._table, self._policy, self._say = model, store, table, policy, say
        self._client = client
        self._name = f"{model.identity.provider}/{model.identity.name}"
        self._limits = model.batch_terms
        self._most = model.batch_terms.requests
        """Requests of the next batch; fewer after the account could not hold so many."""
        self._waves: list[Wave] = []
        self._waiting: dict[bytes, Waiter] = {}
        self._again: list[bytes] = []
        """Requests that go into the next wave."""
        self._held = False
        """Whether nothing is submitted until a batch has ended: the account's limit is reached."""
        self._problem = ""
        """Why the run cannot go on."""
        self._pending: dict[str, _Pending] = {}
        for row in table.rows(model.batch_account, client.model_key):
            self._follow(row.name).place = row.place

    async def answer(self, client: ModelClient, digest: bytes, request: Request) -> BatchReply:
        """The output of a request, which waits in a batch of an earlier start or goes into the next one."""
        waiter = Waiter(client, request, asyncio.get_running_loop().create_future())
        self._waiting[digest] = waiter
        try:
            name = self._table.batch_of(digest)
            row = None if name is None else self._table.row(name)
            if row is None:
                await self._gather(digest, waiter)
            elif row.account == self._model.batch_account:
                self._follow(row.name).is_needed = True
            else:
                self._problem = (
                    f"{_count(row.requests, 'request')} wait in {row.place or row.name} at {row.account}, not at "
                    f"{self._model.batch_account}: ask there, or leave out batch=yes to ask them again at once"
                )
            return await waiter.future
        finally:
            if self._waiting.get(digest) is waiter:
                del self._waiting[digest]

    async def advance(self, is_settled: bool) -> str:
        """Submit what is complete and take what has ended; returns why the run cannot go on, "" if it
        can. Raises StorageError."""
        if self._problem:
            return f"{self._name}: {self._problem}"
        try:
            while len(self._waves) > 1 or (is_settled and self._waves and self._waves[0].facts):
                if self._held and self._pending:
                    break
                await self._submit(self._waves.pop(0))
            if is_settled:
                for pending in [each for each in self._pending.values() if time.monotonic() >= each.next_poll]:
                    try:
                        await self._poll(pending)
                    except ModelError as error:
                        # One that no flow waits for must not end the run.
                        if pending.is_needed:
                            return self._explain(error, pending)
                        self._pass_over(pending)
                await self._gather_again()
        except ModelError as error:
            return self._explain(error)
        return ""

    def _explain(self, error: ModelError, pending: _Pending | None = None) -> str:
        """Why the run cannot go on, and what becomes of the batches that wait."""
        left = self.waiting()
        kept = f"; {left}, and the same command takes them" if left else ""
        if pending is not None and error.kind == "request":
            kept += f"; if {pending.place} is gone, leave out batch=yes: what is missing is asked at once"
        return f"{self._name}: {error}{kept}"

    def holds(self, digest: bytes) -> bool:
        """Whether a request is in a batch that waits, and so is paid for."""
        return self._table.batch_of(digest) is not None

    def waiting(self) -> str:
        """What is left at the provider, as a clause; "" if nothing."""
        rows = self._table.rows(self._model.batch_account, self._client.model_key)
        needed = {name for name, pending in self._pending.items() if pending.is_needed}
        left = [row for row in rows if row.created and (row.name in needed or row.owner == this_process())]
        if not left:
            return ""
        places = ", ".join(row.place or f"one named {row.name}" for row in left)
        count = sum(row.requests for row in left)
        return f"{_count(count, 'request')} wait at {self._name} in {_count(len(left), 'batch')} ({places})"

    def fail(self, error: Exception) -> None:
        """End every flow that waits with an error."""
        for waiter in list(self._waiting.values()):
            if not waiter.future.done():
                waiter.future.set_exception(error)

    def close(self) -> None:
        for wave in self._waves:
            wave.lines.close()

    async def _gather(self, digest: bytes, waiter: Waiter) -> None:
        """Add a request to the wave; one that cannot be encoded, or is too large, ends as a failure."""
        try:
            encoded = await self._model.encode_request(digest.hex(), waiter.request)
        except (MediaError, ModelError) as error:
            kind = "media" if isinstance(error, MediaError) else error.kind
            _end(waiter, Failure(kind, str(error), sent=waiter.waves))
            return
        size = len(encoded.line) + 1
        if size > self._limits.bytes:
            most = self._limits.bytes / 1e6
            _end(waiter, Failure("request", f"the request has {size / 1e6:.0f} MB, a batch at most {most:.0f}", sent=0))
            return
        wave = self._waves[-1] if self._waves else None
        if wave is None or len(wave.facts) >= self._most or wave.lines.tell() + size > self._limits.bytes:
            wave = Wave.new()
            self._waves.append(wave)
        wave.lines.write(encoded.line + b"\n")
        wave.facts[digest] = encoded.facts

    async def _gather_again(self) -> None:
        again, self._again = self._again, []
        for digest in again:
            if (waiter := self._waiting.get(digest)) is not None:
                await self._gather(digest, waiter)

    async def _submit(self, wave: Wave) -> None:
        """Write a batch into the store, then upload and create it."""
        name = f"snellen-{secrets.token_hex(12)}"
        waiters = [self._waiting[digest] for digest in wave.facts if digest in self._waiting]
        self._table.add(name, self._model.batch_account, self._client.model_key, wave.facts)
        is_refused = True
        try:
            upload = await self._try(lambda: self._model.upload_batch(name, wave.lines))
            self._table.note_creation(name)
            is_refused = False
            place = await self._create(name, upload, wave)
        except ModelError as error:
            # An error of the connection does not say whether the batch was created.
            if is_refused or error.kind not in ("connection", "timeout", "server"):
                self._table.delete(name)
            if error.kind == "rate_limit" and self._pending:
                self._shrink(list(wave.facts), error)
                return
            if error.kind in self._policy.kinds:
                raise
            self._end_all(waiters, error)
            return
        finally:
            wave.lines.close()
        self._table.set_place(name, place)
        pending = self._follow(name)
        pending.place, pending.is_needed = place, True
        for waiter in waiters:
            waiter.waves += 1
        self._say(
            f"{self._name}: {_count(len(wave.facts), 'request')} submitted as {place}, with replies within "
            f"{self._limits.hours} h; Ctrl-C leaves them there, and the same command takes them"
        )

    async def _create(self, name: str, upload: str, wave: Wave) -> str:
        """Create a batch once: after an error that does not say whether it was, it is looked for first."""
        begun, is_first = time.time(), True

        async def create() -> str:
            nonlocal is_first
            if not is_first:
                found = await self._model.find_batches(name, len(wave.facts), begun)
                if found:
                    return " ".join(found)
            is_first = False
            return await self._model.create_batch(name, upload, wave.lines)

        return await self._try(create)

    async def _poll(self, pending: _Pending) -> None:
        """Look at a batch; take its results if it has ended."""
        pending.next_poll = time.monotonic() + pending.pause
        pending.pause = min(_LONGEST_POLL, 1.5 * pending.pause)
        row = self._table.row(pending.name)
        if row is None:
            self._forget(pending)
            return
        pending.place = row.place or await self._look_for(row)
        if not pending.place:
            return
        states = [await self._try(partial(self._model.batch_state, place)) for place in _places(pending)]
        if not all(state.is_ended for state in states):
            return
        problem = next((state.problem for state in states if state.problem is not None), None)
        if not pending.is_needed:
            self._pass_over(pending)
        elif problem is not None and len(states) == 1:
            self._fail_batch(pending, problem)
        else:
            await self._take(pending)

    def _pass_over(self, pending: _Pending) -> None:
        """Leave a batch that has ended, or cannot be looked at, to the run that waits for it."""
        self._pending.pop(pending.name)
        self._held = False

    async def _look_for(self, row: BatchRow) -> str:
        """The place of a batch that another start left without one; "" if it is not known yet, or the
        batch was never created: then its requests are asked in the next one."""
        if row.has_live_owner() or 0 < time.time() - row.created < CREATION_SECONDS:
            return ""
        found: list[str] = []
        if row.created:
            found = await self._try(lambda: self._model.find_batches(row.name, row.requests, row.created))
            rows = self._table.rows(self._model.batch_account, self._client.model_key)
            others = {place for other in rows if other.name != row.name for place in other.place.split()}
            found = [place for place in found if place not in others]
        if found:
            place = " ".join(found)
            self._table.set_place(row.name, place)
            return place
        self._table.delete(row.name)
        self._forget(self._pending[row.name])
        return ""

    async def _take(self, pending: _Pending) -> None:
        """Store the results of a batch, then end the flows that wait for them."""
        facts = self._table.facts(pending.name)
        keys = {digest.hex(): digest for digest in facts}
        outputs: dict[bytes, Output] = {}
        unknown = 0
        try:
            for place in _places(pending):
                async for key, output in self._model.batch_results(place, {key: facts[keys[key]] for key in keys}):
                    digest = keys.get(key)
                    if digest is None:
                        unknown += 1
                    elif isinstance(outputs.get(digest, _NONE), Failure):
                        # Of several results of a request the first reply counts.
                        outputs[digest] = self._store_output(pending, digest, output)
                    if len(outputs) % _YIELD == 0:
                        await asyncio.sleep(0)
        except ModelError as error:
            # What was read is stored; the rest is read again, and never asked again for that.
            pending.failing_since = pending.failing_since or time.monotonic()
            if time.monotonic() - pending.failing_since > self._policy.deadline or error.kind not in self._policy.kinds:
                raise
            return
        missing = facts.keys() - outputs.keys()
        if missing and pending.reads < _MAX_READS:
            pending.reads += 1
            return
        for digest in missing:
            outputs[digest] = Failure("server", "the results of the batch do not hold the request")
        self._end_batch(pending, outputs, unknown if len(_places(pending)) == 1 else 0)

    def _store_output(self, pending: _Pending, digest: bytes, output: Output) -> Output:
        """Store a result as it is read, so that a kill in the middle loses nothing."""
        checked = self._check(_ANY, output)
        if not isinstance(checked, Failure):
            if digest not in self._waiting and self._store.get(digest) is None:
                pending.unasked.append(checked)
            self._store.put(digest, checked, self._client.model_key)
        return checked

    def _end_request(self, name: str, digest: bytes, output: Output) -> bool:
        """End the flow that waits for a request; returns whether the request goes into the next wave."""
        waiter = self._waiting.get(digest)
        if waiter is None:
            return False
        waiter.waves = max(1, waiter.waves)
        # Counted when it comes back: the start that submitted it may not have lived to tell.
        waiter.client.usage.add_batched(name, output)
        is_passing = isinstance(output, Failure) and output.kind in self._policy.kinds
        if is_passing and waiter.waves < min(_MAX_WAVES, self._policy.max_sends):
            self._again.append(digest)
            return True
        if isinstance(output, Failure):
            output = Failure(output.kind, output.message, sent=waiter.waves)
        _end(waiter, output)
        return False

    def _end_batch(self, pending: _Pending, outputs: Mapping[bytes, Output], unknown: int = 0) -> None:
        """Forget a batch whose results are stored, and end the flows that wait for them."""
        self._held = False
        if not self._table.delete(pending.name):
            self._forget(pending)
            return
        self._pending.pop(pending.name)
        for output in pending.unasked:
            self._client.usage.add_batched(pending.name, output)
            self._client.usage.add_output(output)
        again = sum(self._end_request(pending.name, digest, output) for digest, output in outputs.items())
        replies = sum(not isinstance(output, Failure) for output in outputs.values())
        failures = [output.message for output in outputs.values() if isinstance(output, Failure)]
        sentence = f"{self._name}: {pending.place} has ended, with {_count(replies, 'reply')}"
        sentence += f" and {len(failures)} without ({failures[0]})" if failures else ""
        sentence += f", {again} of which go into the next batch" if again else ""
        self._say(sentence + (f"; {unknown} results under unknown keys are left out" if unknown else ""))

    def _fail_batch(self, pending: _Pending, problem: ModelError) -> None:
        """End a batch that failed as a whole."""
        if problem.kind == "rate_limit":
            self._table.delete(pending.name)
            self._pending.pop(pending.name)
            self._shrink(list(pending.digests), problem)
        else:
            self._end_batch(pending, dict.fromkeys(pending.digests, Failure(problem.kind, str(problem))))

    def _shrink(self, digests: Sequence[bytes], problem: ModelError) -> None:
        """Ask for the requests of a batch again that the account has no room for: once another batch has
        ended, or in halves."""
        if not self._pending and len(digests) == 1:
            self._end_all([self._waiting[digest] for digest in digests if digest in self._waiting], problem)
            return
        if not self._pending:
            self._most = max(1, len(digests) // 2)
        self._held = True
        self._again += digests
        self._say(f"{self._name}: {_count(len(digests), 'request')} wait, and are submitted in turn ({problem})")

    def _forget(self, pending: _Pending) -> None:
        """Forget a batch that is not there, or that another process took: its replies are in the store, the other
        requests go into the next wave."""
        self._pending.pop(pending.name, None)
        for digest in pending.digests:
            waiter = self._waiting.get(digest)
            if waiter is None or waiter.future.done() or self._is_gathered(digest):
                continue
            if (output := self._store.get(digest)) is not None:
                _end(waiter, output, is_new=False)
            elif (name := self._table.batch_of(digest)) is not None:
                self._follow(name).is_needed = True
            else:
                self._again.append(digest)

    def _is_gathered(self, digest: bytes) -> bool:
        return digest in self._again or any(digest in wave.facts for wave in self._waves)

    def _end_all(self, waiters: Sequence[Waiter], error: ModelError) -> None:
        for waiter in waiters:
            _end(waiter, Failure(error.kind, str(error)))

    def _follow(self, name: str) -> _Pending:
        """The batch of this name, which is polled from now on."""
        if name not in self._pending:
            self._pending[name] = _Pending(name, frozenset(self._table.facts(name)))
        return self._pending[name]

    async def _try(self, call: Callable[[], Awaitable[T]]) -> T:
        """Ask the server until it answers. Raises ModelError for what another try would not change, and
        once the deadline of retries is over."""
        begun, tries = time.monotonic(), 0
        while True:
            try:
                return await call()
            except ModelError as error:
                tries += 1
                delay = max(self._policy.delay(tries), error.retry_after or 0.0)
                is_over = time.monotonic() + delay - begun > self._policy.deadline
                if error.kind not in self._policy.kinds or tries >= self._policy.max_sends or is_over:
                    raise
            await asyncio.sleep(delay)


_NONE = Failure("missing", "")


def _end(waiter: Waiter, output: Output, *, is_new: bool = True) -> None:
    if not waiter.future.done():
        waiter.future.set_result(BatchReply(output, is_new))


def _places(pending: _Pending) -> list[str]:
    return pending.place.split()


def _count(number: int, noun: str) -> str:
    plural = {"reply": "replies", "batch": "batches"}.get(noun, f"{noun}s")
    return f"{number:,} {noun if number == 1 else plural}"


SETTLE = 1.5
"""Seconds without a new request after which a wave is complete."""
_TICK = 0.25


class BatchWaves:
    """The batches of all models of a run that are asked so. Lives inside one event loop."""

    def __init__(
        self,
        models: Mapping[str, BatchedModel],
        clients: Mapping[str, ModelClient],
        store: ResponseStore,
        policy: RetryPolicy,
        check: CheckOutput,
        abort_signal: AbortSignal,
    ) -> None:
        """Models and their clients by role; roles of one model share its batches. `check` is that of
        `BatchQueue`."""
        self._table = BatchTable(store.path)
        self._abort_signal = abort_signal
        self._live = 0
        """Requests in flight to models that answer at once."""
        self._added = 0.0
        self.left = ""
        """What was left at the providers when the run ended, as a clause; "" if nothing."""
        self._tasks: list[asyncio.Task[None]] = []
        self.on_notice: Callable[[str], object] = lambda sentence: None
        """Called with a sentence about each batch that is submitted or taken."""
        self._queues: dict[int, BatchQueue] = {}
        for role, model in models.items():
            key = clients[role].model_key
            if key not in self._queues:
                self._queues[key] = BatchQueue(model, clients[role], store, self._table, policy, check, self._say)
        abort_signal.add_callback(lambda grace: self._give_up())

    def holds(self, client: ModelClient, digest: bytes) -> bool:
        """Whether a request is in a batch that waits."""
        queue = self._queues.get(client.model_key)
        return queue is not None and queue.holds(digest)

    async def answer(self, client: ModelClient, digest: bytes, request: Request) -> BatchReply:
        """The output of a request, in a batch if its model is asked so. Raises RunAborted."""
        queue = self._queues.get(client.model_key)
        if queue is None:
            return BatchReply(await self._answer_at_once(client.answer(request)))
        self._abort_signal.raise_if_aborted()
        if not self._tasks:
            self._tasks = [asyncio.ensure_future(self._work(each)) for each in self._queues.values()]
        self._added = time.monotonic()
        reply = await queue.answer(client, digest, request)
        self._added = time.monotonic()
        return reply

    async def stop(self) -> None:
        """End the work on batches, which stay at their providers."""
        self.left = "; ".join(filter(None, (queue.waiting() for queue in self._queues.values())))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for queue in self._queues.values():
            queue.close()
        self._table.close()

    async def _answer_at_once(self, answering: Awaitable[Output]) -> Output:
        self._live += 1
        try:
            return await answering
        finally:
            self._live -= 1
            self._added = time.monotonic()

    async def _work(self, queue: BatchQueue) -> None:
        """Submit and take the batches of a model. An error ends every flow that waits for them."""
        try:
            while True:
                await asyncio.sleep(_TICK)
                if self._abort_signal.reason:
                    return
                is_settled = not self._live and time.monotonic() - self._added > SETTLE
                problem = await queue.advance(is_settled)
                if problem:
                    self._abort_signal.abort(problem)
        except Exception as error:  # noqa: BLE001 - raised again by the flows
            queue.fail(error)

    def _give_up(self) -> None:
        for queue in self._queues.values():
            queue.fail(RunAborted(self._abort_signal.reason))

    def _say(self, sentence: str) -> None:
        self.on_notice(sentence)
