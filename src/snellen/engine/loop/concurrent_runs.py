"""Runs that go on at the same time over one store: what one has in flight the others wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

from snellen.core.output import Output
from snellen.engine.limits.abort import Halt
from snellen.store.in_flight import InFlight
from snellen.store.responses import ResponseStore

_BEAT = 0.5
"""Seconds after which a run looks for others."""
_GREETING = 3.0
"""Seconds for which a run that starts waits until the others note what they have in flight."""
_SHORTEST, _LONGEST = 0.02, 0.25
"""Seconds between two looks at whether another run's reply is there; each is longer."""
PATIENCE = 600.0
"""Seconds after which a run no longer waits for another's reply to a request."""


class Sharing:
    """One run's part in it. A run that is alone on its store pays nothing for a request; a store
    in memory is nobody else's. Lives inside one event loop."""

    def __init__(self, store: ResponseStore) -> None:
        self._store = store
        self._in_flight: InFlight | None = None
        self._beating: asyncio.Task[None] | None = None

    @property
    def active(self) -> bool:
        """Whether other runs are on the store."""
        return self._in_flight is not None and self._in_flight.sharing

    async def start(self, requests: Callable[[], Iterable[bytes]]) -> None:
        """`requests` tells the digests of what this run has in flight."""
        if self._store.path is None:
            return
        self._in_flight = found = InFlight(self._store.path)
        found.enter()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GREETING):
                while not found.others_share:
                    await asyncio.sleep(_SHORTEST)
                    found.beat(())
        self._beating = asyncio.ensure_future(self._beat(found, requests))

    async def stop(self) -> None:
        found, self._in_flight = self._in_flight, None
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        if found is not None:
            found.leave()

    async def reply_of_another(self, digest: bytes, halt: Halt) -> Output | None:
        """The reply to a request once another run has stored it; None when it is this run's to
        ask. `release` it afterwards. Raises Halted once this run is stopped."""
        end, pause = asyncio.get_running_loop().time() + PATIENCE, _SHORTEST
        while self._in_flight is not None:
            if self._in_flight.claim(digest):
                break
            if asyncio.get_running_loop().time() > end:
                return None
            await halt.sleep(pause)
            halt.check()
            pause = min(_LONGEST, 1.5 * pause)
        # The other may have ended between the first look into the store and now.
        return self._store.get(digest)

    def release(self, digest: bytes) -> None:
        """A request of this run has ended."""
        if self._in_flight is not None and self._in_flight.sharing:
            self._in_flight.release(digest)

    async def _beat(self, found: InFlight, requests: Callable[[], Iterable[bytes]]) -> None:
        while True:
            await asyncio.sleep(_BEAT)
            found.beat(requests())
