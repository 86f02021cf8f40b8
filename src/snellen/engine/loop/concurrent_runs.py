"""Runs at the same time over one store: each waits for requests that another has in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

from snellen.core.output import Output
from snellen.engine.limits.abort import AbortSignal
from snellen.store.in_flight import InFlightRequests
from snellen.store.responses import ResponseStore

_RENEWAL_INTERVAL = 0.5
"""Seconds between two renewals of the lease, at which a run also looks for others."""
_START_TIMEOUT = 3.0
"""Seconds for which a starting run waits until the others publish their requests in flight."""
_MIN_PAUSE, _MAX_PAUSE = 0.02, 0.25
"""Seconds between two checks for another run's reply: the first pause and the longest."""
MAX_WAIT = 600.0
"""Seconds after which a run no longer waits for another's reply to a request."""


class ConcurrentRuns:
    """Coordinates one run with the others on its store. Lives inside one event loop.

    A run that is alone on its store does no extra work for a request, and a store in memory has no
    other runs.
    """

    def __init__(self, store: ResponseStore) -> None:
        self._store = store
        self._in_flight: InFlightRequests | None = None
        self._renewal: asyncio.Task[None] | None = None

    @property
    def is_active(self) -> bool:
        """Whether other runs use the store."""
        return self._in_flight is not None and self._in_flight.sharing

    async def start(self, requests: Callable[[], Iterable[bytes]]) -> None:
        """Register the run. `requests` returns the digests of its requests in flight."""
        if self._store.path is None:
            return
        self._in_flight = in_flight = InFlightRequests(self._store.path)
        in_flight.enter()
        # A run that was alone until now writes its requests to the table only at its next renewal.
        # Until then this run could send one of them a second time.
        with suppress(TimeoutError):
            async with asyncio.timeout(_START_TIMEOUT):
                while not in_flight.others_share:
                    await asyncio.sleep(_MIN_PAUSE)
                    in_flight.renew(())
        self._renewal = asyncio.ensure_future(self._renew_regularly(in_flight, requests))

    async def stop(self) -> None:
        in_flight, self._in_flight = self._in_flight, None
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.gather(self._renewal, return_exceptions=True)
        if in_flight is not None:
            in_flight.leave()

    async def wait_for_reply(self, digest: bytes, abort_signal: AbortSignal) -> Output | None:
        """Wait for another run's reply to a request; None if this run must send it itself.

        Call `release` once the request has ended. Raises RunAborted once this run is aborted.
        """
        end, pause = asyncio.get_running_loop().time() + MAX_WAIT, _MIN_PAUSE
        while self._in_flight is not None:
            if self._in_flight.claim(digest):
                break
            if asyncio.get_running_loop().time() > end:
                return None
            await abort_signal.sleep(pause)
            abort_signal.raise_if_aborted()
            pause = min(_MAX_PAUSE, 1.5 * pause)
        # Another run may have stored the reply after the caller looked it up.
        return self._store.get(digest)

    def release(self, digest: bytes) -> None:
        """Withdraw a request of this run that has ended."""
        if self._in_flight is not None and self._in_flight.sharing:
            self._in_flight.release(digest)

    async def _renew_regularly(self, in_flight: InFlightRequests, requests: Callable[[], Iterable[bytes]]) -> None:
        while True:
            await asyncio.sleep(_RENEWAL_INTERVAL)
            in_flight.renew(requests())
