"""Runs that go on at the same time over one store: what one has in flight the others wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

from snellen.core.output import Output
from snellen.engine.limits.abort import AbortSignal
from snellen.store.in_flight import InFlightRequests
from snellen.store.responses import ResponseStore

_RENEWAL_INTERVAL = 0.5
"""Seconds after which a run looks for others."""
_START_TIMEOUT = 3.0
"""Seconds for which a run that starts waits until the others note what they have in flight."""
_MIN_PAUSE, _MAX_PAUSE = 0.02, 0.25
"""Seconds between two looks at whether another run's reply is there; each is longer."""
MAX_WAIT = 600.0
"""Seconds after which a run no longer waits for another's reply to a request."""


class ConcurrentRuns:
    """One run's part in it. A run that is alone on its store pays nothing for a request; a store
    in memory is nobody else's. Lives inside one event loop."""

    def __init__(self, store: ResponseStore) -> None:
        self._store = store
        self._in_flight: InFlightRequests | None = None
        self._renewal: asyncio.Task[None] | None = None

    @property
    def is_active(self) -> bool:
        """Whether other runs are on the store."""
        return self._in_flight is not None and self._in_flight.sharing

    async def start(self, requests: Callable[[], Iterable[bytes]]) -> None:
        """`requests` tells the digests of what this run has in flight."""
        if self._store.path is None:
            return
        self._in_flight = in_flight = InFlightRequests(self._store.path)
        in_flight.enter()
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
        """The reply to a request once another run has stored it; None when it is this run's to
        ask. `release` it afterwards. Raises Halted once this run is stopped."""
        end, pause = asyncio.get_running_loop().time() + MAX_WAIT, _MIN_PAUSE
        while self._in_flight is not None:
            if self._in_flight.claim(digest):
                break
            if asyncio.get_running_loop().time() > end:
                return None
            await abort_signal.sleep(pause)
            abort_signal.raise_if_aborted()
            pause = min(_MAX_PAUSE, 1.5 * pause)
        # The other may have ended between the first look into the store and now.
        return self._store.get(digest)

    def release(self, digest: bytes) -> None:
        """A request of this run has ended."""
        if self._in_flight is not None and self._in_flight.sharing:
            self._in_flight.release(digest)

    async def _renew_regularly(
        self, in_flight: InFlightRequests, requests: Callable[[], Iterable[bytes]]
    ) -> None:
        while True:
            await asyncio.sleep(_RENEWAL_INTERVAL)
            in_flight.renew(requests())
