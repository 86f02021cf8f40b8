"""What one model says to a list of requests, outside of any run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from snellen.core.model import Model
from snellen.core.output import Output
from snellen.core.request import Request
from snellen.engine.asking import Asker, concurrency_of, disconnect
from snellen.store.responses import ResponseStore


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
