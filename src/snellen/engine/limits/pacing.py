"""How many requests an account may have in flight, found by trying.

The window opens with every answer: by one at first, which doubles it each round trip, and after
the first setback by one in each round trip. It halves when the server says that it was too much,
or cannot be reached (additive increase, multiplicative decrease, as TCP does; RFC 5681).
"""

from __future__ import annotations

import asyncio
import math
from collections import deque

from snellen.core.output import FailureKind

FIRST = 8
"""Requests in flight at the start; more only once answers come."""
_STEADY = 2.0
"""Seconds without growth after a server's own fault."""


class Pace:
    """The window of one account. Lives inside one event loop."""

    def __init__(self, most: int, first: int = FIRST) -> None:
        self.most = most
        self.window = float(min(first, most))
        self.in_flight = 0
        self._threshold = float(most)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._steady_until = 0.0
        self._sent = 0
        self._narrowed_at = 0
        self._alarm: asyncio.TimerHandle | None = None

    def limit(self, most: int) -> None:
        """Another model of the account allows no more than so many."""
        self.most = min(self.most, most)
        self.window = min(self.window, float(self.most))

    def paused_for(self) -> float:
        """Seconds until anything may be sent."""
        return max(0.0, self._paused_until - asyncio.get_running_loop().time())

    async def enter(self, again: bool = False) -> int:
        """Waits for a place in the window and takes it. Those who were sent before (`again`) go
        first. The number says when this was, for `failed`."""
        if self._open() and not self._waiting:
            self.in_flight += 1
        else:
            future = asyncio.get_running_loop().create_future()
            if again:
                self._waiting.appendleft(future)
            else:
                self._waiting.append(future)
            try:
                # Whoever wakes this has taken the place already.
                await future
            except asyncio.CancelledError:
                if future in self._waiting:
                    self._waiting.remove(future)
                elif not future.cancelled():
                    self.leave()
                raise
        self._sent += 1
        return self._sent

    def leave(self) -> None:
        """Gives the place back, after an answer, a failure or a cancellation."""
        self.in_flight -= 1
        self._wake()

    def release(self, grace: float | None = None) -> None:
        """Let all in who wait: the run has ended, and they find that out. For `Halt.tell`."""
        self._paused_until, self.window = 0.0, math.inf
        self._wake()

    def answered(self) -> None:
        """An answer came; a full window may open further."""
        if self.window >= self.most or self.in_flight <= self.window - 1.0:
            return
        if self._steady_until and asyncio.get_running_loop().time() < self._steady_until:
            return
        step = 1.0 if self.window < self._threshold else 1.0 / self.window
        self.window = min(float(self.most), self.window + step)

    def failed(self, kind: FailureKind, sent: int, retry_after: float | None = None) -> None:
        """A request that `enter` gave the number `sent` failed. Requests that were on their way
        when the window was narrowed do not narrow it again."""
        now = asyncio.get_running_loop().time()
        if retry_after:
            self._pause(now, retry_after)
        if kind in ("rate_limit", "connection"):
            if sent > self._narrowed_at:
                self.window = max(1.0, self.window / 2)
                self._threshold = self.window
                self._narrowed_at = self._sent
        elif kind in ("server", "timeout"):
            self._threshold = min(self._threshold, self.window)
            self._steady_until = now + _STEADY

    def _open(self) -> bool:
        if self.in_flight > self.window - 1.0:
            return False
        if not self._paused_until:
            return True
        if asyncio.get_running_loop().time() < self._paused_until:
            return False
        self._paused_until = 0.0
        return True

    def _wake(self) -> None:
        while self._waiting and self._open():
            future = self._waiting.popleft()
            if not future.done():
                self.in_flight += 1
                future.set_result(None)

    def _pause(self, now: float, seconds: float) -> None:
        if now + seconds <= self._paused_until:
            return
        self._paused_until = now + seconds
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_at(self._paused_until, self._wake)
