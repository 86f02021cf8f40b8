"""Adaptive concurrency: how many requests an account may have in flight.

The window grows with every answer: by 1 at first, which doubles it in each round trip (slow
start), and after the first rate limit by 1 in each round trip. It is halved when the server reports
a rate limit or cannot be reached. This is TCP's additive increase, multiplicative decrease
(RFC 5681).
"""

from __future__ import annotations

import asyncio
import math
from collections import deque

from snellen.core.output import FailureKind

INITIAL_WINDOW = 8
"""Requests in flight before the first answer."""
_HOLD_SECONDS = 2.0
"""Seconds for which the window does not grow after a server error or timeout."""


class ConcurrencyWindow:
    """The window of one account: requests acquire a place, and release it when they end.

    Lives inside one event loop, so no lock is needed: state changes between awaits only. `size` is
    fractional, because it grows by 1/size an answer; a request may be sent while there is room for
    a whole one (`in_flight <= size - 1`). Waiting requests queue up in order; a `Retry-After` of
    the server holds back all of them.
    """

    def __init__(self, max_size: int, initial_size: int = INITIAL_WINDOW) -> None:
        self.max_size = max_size
        self.size = float(min(initial_size, max_size))
        self.in_flight = 0
        self._threshold = float(max_size)
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._pause_end = 0.0
        self._hold_end = 0.0
        self._sent = 0
        self._narrowed_at = 0
        self._timer: asyncio.TimerHandle | None = None

    def restrict(self, max_size: int) -> None:
        """Lower the maximum: another model of the account allows fewer requests."""
        self.max_size = min(self.max_size, max_size)
        self.size = min(self.size, float(self.max_size))

    def remaining_pause(self) -> float:
        """Seconds until a request may be sent, after a `Retry-After`."""
        return max(0.0, self._pause_end - asyncio.get_running_loop().time())

    async def acquire(self, is_retry: bool = False) -> int:
        """Waits for a place in the window and takes it. Those who were sent before (`is_retry`) go
        first. The number says when this was, for `on_failure`."""
        if self._is_open() and not self._waiters:
            self.in_flight += 1
        else:
            future = asyncio.get_running_loop().create_future()
            if is_retry:
                self._waiters.appendleft(future)
            else:
                self._waiters.append(future)
            try:
                # `_wake` counts the place as in flight before it wakes this task: else a request
                # that arrives in between could take it.
                await future
            except asyncio.CancelledError:
                if future in self._waiters:
                    self._waiters.remove(future)
                elif not future.cancelled():
                    self.release()
                raise
        self._sent += 1
        return self._sent

    def release(self) -> None:
        """Return the place, after an answer, a failure or a cancellation."""
        self.in_flight -= 1
        self._wake()

    def open_fully(self, grace: float | None = None) -> None:
        """Let all waiting requests in: the run is aborted, and each checks for that. A callback
        for `AbortSignal.add_callback`."""
        self._pause_end, self.size = 0.0, math.inf
        self._wake()

    def on_answer(self) -> None:
        """Grow the window after an answer, if it was full: a window that is not used to the full
        says nothing about what the server can take."""
        if self.size >= self.max_size or self.in_flight <= self.size - 1.0:
            return
        if self._hold_end and asyncio.get_running_loop().time() < self._hold_end:
            return
        # Slow start below the threshold; above it, about one more request per round trip.
        step = 1.0 if self.size < self._threshold else 1.0 / self.size
        self.size = min(float(self.max_size), self.size + step)

    def on_failure(self, kind: FailureKind, sent: int, retry_after: float | None = None) -> None:
        """Adapt the window to the failure of the request with the ordinal `sent`.

        Only requests sent after the last halving halve the window again: a burst that fails
        together is one signal.
        """
        now = asyncio.get_running_loop().time()
        if retry_after:
            self._pause(now, retry_after)
        if kind in ("rate_limit", "connection"):
            if sent > self._narrowed_at:
                self.size = max(1.0, self.size / 2)
                self._threshold = self.size
                self._narrowed_at = self._sent
        elif kind in ("server", "timeout"):
            # No clear sign of too many requests: stop growing for a while, and end slow start.
            self._threshold = min(self._threshold, self.size)
            self._hold_end = now + _HOLD_SECONDS

    def _is_open(self) -> bool:
        if self.in_flight > self.size - 1.0:
            return False
        if not self._pause_end:
            return True
        if asyncio.get_running_loop().time() < self._pause_end:
            return False
        self._pause_end = 0.0
        return True

    def _wake(self) -> None:
        while self._waiters and self._is_open():
            future = self._waiters.popleft()
            if not future.done():
                self.in_flight += 1
                future.set_result(None)

    def _pause(self, now: float, seconds: float) -> None:
        if now + seconds <= self._pause_end:
            return
        self._pause_end = now + seconds
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(self._pause_end, self._wake)
