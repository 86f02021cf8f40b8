"""Waves of requests: every request that all flows have ready goes into one batch, or several.

A wave is submitted once no flow can go on without it: nothing was added for `SETTLE` seconds, and no
model that answers at once has a request in flight. Results are taken at such a moment too, so that
the flows of a new start have asked for what an earlier one left at the provider.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from snellen.core.model import BatchedModel
from snellen.core.output import Output
from snellen.core.request import Request
from snellen.engine.batches.queue import BatchQueue, CheckOutput
from snellen.engine.limits.abort import AbortSignal, RunAborted
from snellen.engine.limits.retrying import RetryPolicy
from snellen.store.batches import BatchTable

if TYPE_CHECKING:
    from snellen.engine.loop.request_broker import ModelClient
    from snellen.store.responses import ResponseStore

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

    async def answer(self, client: ModelClient, digest: bytes, request: Request) -> Output:
        """The output of a request, in a batch if its model is asked so. Raises RunAborted."""
        queue = self._queues.get(client.model_key)
        if queue is None:
            return await self._answer_at_once(client.answer(request))
        self._abort_signal.raise_if_aborted()
        if not self._tasks:
            self._tasks = [asyncio.ensure_future(self._work(each)) for each in self._queues.values()]
        self._added = time.monotonic()
        output = await queue.answer(client, digest, request)
        self._added = time.monotonic()
        return output

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
