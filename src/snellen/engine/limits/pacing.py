"""Adaptive concurrency: how many requests an account may have in flight.

The window follows overload, not failures. Signs of overload are
- a rate limit, or any error with a `Retry-After`: the window is reduced to 85 %, and its old size
  is the ceiling to which it returns along a cubic curve, fast at first, flat near the ceiling,
  faster beyond it (CUBIC: Ha, Rhee and Xu 2008, RFC 9438; the client-side rate limiter of
  botocore's retry mode "adaptive" uses it for requests to AWS). The unit of time is the round trip.
- a larger window that gets no more answers a second: latency rises with the number in flight, so
  the window returns to the size before. At the start, while it doubles in each round trip (slow
  start), two round trips of that end the doubling, as in BBR (Cardwell et al. 2016, "full pipe").
- more than half of a round trip's requests fail, in whatever way: it is halved, as in TCP (RFC
  5681), and afterwards doubles again up to half of its old size. If most of them timed out in a
  window that is larger than before, they waited in a queue, and the size before is known to hold.

All other failures (HTTP 5xx, resets, timeouts) are noise: they cost their own places and no more.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from snellen.core.output import FailureKind

INITIAL_WINDOW = 8
"""Requests in flight before the first answer."""
_REDUCTION = 0.85
"""Share of the window that is left after a sign of overload."""
_ROUNDS = 5.0
"""Round trips until it is back at its ceiling, and as many more until that is outdated."""
_PAUSES = 20.0
"""How many times the last `Retry-After` the way back to the ceiling takes at least: so the pauses
cost a few percent of the time, however short a round trip is."""
_GROWTH = 1.25
"""Growth in a round trip beyond an outdated ceiling."""
_NOISE = 0.5
"""Share of failures in a round trip up to which they are noise."""
_GAIN = 0.3
"""Share of the growth of the window by which the rate of answers must grow, or it is flat."""
_LOSS = 0.7
"""Share of the earlier rate below which a larger window is too large at once."""
_LATE = 0.2
"""Share of timeouts in a round trip above which one flat round is a sign."""
_ENOUGH = 48
"""Answers in a round trip from which one flat round is a sign; of smaller ones it takes two."""
_MAX_FAILED_PROBES = 4
"""Failed probes in a row from which the time until the next one doubles no more."""
_OUTAGE = 7
"""Failures in a row from which they are no faults of single requests, also where a few last
requests of a run end no round trip any more."""
_FAULTS: frozenset[FailureKind] = frozenset({"connection", "server", "timeout"})


class WindowPlace(NamedTuple):
    """A place in the window that a request has taken."""

    ordinal: int
    """Of the request, in the order of sending."""
    time: float
    """When it was sent, by the clock of the loop."""
    in_flight: int
    """Requests in flight then, this one included."""


@dataclass(slots=True)
class _WindowRate:
    """The answers a second that a number of requests in flight got, to compare larger ones with."""

    size: float
    rate: float
    gain: float = 1.0
    """Rate of the last larger window, as a share of this one."""
    flat_rounds: int = 0


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
        self.round_trip = math.inf
        """Seconds from send to answer, in the mean of the last round trip; infinite before the
        first one, while most requests fail, and when several failed in a row."""
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._is_aborted = False
        self._pause_end = 0.0
        self._pause_seconds = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._sent = 0
        self._reduced_at = 0
        self._refused = 0
        """Rate limits since the last reduction."""
        self._threshold = math.inf
        """Size below which the window doubles in each round trip."""
        self._ceiling = math.inf
        self._rounds = 0.0
        """Round trips since the last reduction."""
        self._reference: _WindowRate | None = None
        self._failed_probes = self._failed_in_row = 0
        self._target, self._step = 2 * self.size, 1.0
        self._round_begin: float | None = None
        self._start_round()

    def restrict(self, max_size: int) -> None:
        """Lower the maximum: another model of the account allows fewer requests."""
        self.max_size = min(self.max_size, max_size)
        self.size = min(self.size, float(self.max_size))

    def remaining_pause(self) -> float:
        """Seconds until a request may be sent, after a `Retry-After`."""
        return max(0.0, self._pause_end - asyncio.get_running_loop().time())

    async def acquire(self, is_retry: bool = False) -> WindowPlace:
        """Waits for a place in the window and takes it. Those who were sent before (`is_retry`) go
        first. The place is for `on_answer` and `on_failure`."""
        if not self._waiters and self._is_open():
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
        now = asyncio.get_running_loop().time()
        if self._sent == 1:
            self._round_begin = now
        return WindowPlace(self._sent, now, self.in_flight)

    def release(self) -> None:
        """Return the place, after an answer, a failure or a cancellation."""
        self.in_flight -= 1
        self._wake()

    def open_fully(self, grace: float | None = None) -> None:
        """Let all waiting requests in: the run is aborted, and each checks for that. A callback
        for `AbortSignal.add_callback`."""
        # For good: an answer or a `Retry-After` that comes later holds nobody back any more.
        self._is_aborted, self._pause_end = True, 0.0
        self._wake()

    def on_answer(self, place: WindowPlace) -> None:
        """Count an answer; the window grows if it was full: one that is not used to the full says
        nothing about what the server can take."""
        self._ended += 1
        self._failed_in_row = 0
        self._latency += asyncio.get_running_loop().time() - place.time
        self._level += place.in_flight
        if self.in_flight > self.size - 1.0:
            self._full += 1
            if self.size < self._target:
                self.size = min(self._target, self.size + self._step, self.max_size)
        if self._ended >= self._round_size:
            self._end_round()

    def on_failure(self, kind: FailureKind, place: WindowPlace, retry_after: float | None = None) -> None:
        """Adapt the window to the failure of the request that took this place.

        Only requests sent after the last reduction reduce the window again: a burst that is
        refused together is one signal.
        """
        if retry_after:
            self._pause(asyncio.get_running_loop().time(), retry_after)
        if kind == "rate_limit" or retry_after:
            self._refused += 1
            if place.ordinal > self._reduced_at:
                self._pause_seconds = retry_after or 0.0
                # After many refusals the window is far beyond what the server takes.
                self._reduce(0.5 if self._refused > self.size / 2 else _REDUCTION)
        elif kind in _FAULTS:
            self._failed_in_row += 1
            if self._failed_in_row >= _OUTAGE:
                self.round_trip = math.inf
            if kind == "timeout" and place.ordinal <= self._reduced_at:
                # Sent into a larger window: it was reduced for that already.
                return
            self._ended += 1
            self._failed += 1
            self._timed_out += kind == "timeout"
            self._full += self.in_flight > self.size - 1.0
            if self._ended >= self._round_size:
                self._end_round()

    def _start_round(self, now: float | None = None) -> None:
        """A round trip ends when as many requests have ended as the window holds. `now` is None if
        the time of this one says nothing."""
        self._round_size = max(self.size, float(INITIAL_WINDOW))
        self._round_begin = now
        self._ended = self._failed = self._timed_out = self._full = self._level = 0
        self._latency = 0.0

    def _end_round(self) -> None:
        now = asyncio.get_running_loop().time()
        answered = self._ended - self._failed
        if self._failed > _NOISE * self._ended:
            self.round_trip = math.inf
            known = math.inf if self._reference is None else self._reference.size
            if self._timed_out > self._failed / 2 and self.size > 1.02 * known:
                self._return_to_reference()
            else:
                self._reduce(_REDUCTION if self._rounds else 0.5)
        elif self._full >= 0.9 * self._ended:
            seconds = 0.0 if self._round_begin is None else now - self._round_begin
            self.round_trip = self._latency / answered
            # Little's law, from the answers alone: a request that waits for its timeout says
            # nothing, and no batch of answers is counted in part.
            if self._latency > 0 and self._is_flat(
                self._level / answered, answered / self._ended * self._level / self._latency
            ):
                self._return_to_reference()
            else:
                self._grow(seconds)
        self._start_round(now)

    def _is_flat(self, size: float, rate: float) -> bool:
        """Whether a window so much larger than the one of the reference gets hardly more answers a
        second than that one. Keeps the reference up to date."""
        reference = self._reference
        if reference is None or size < reference.size:
            self._reference = _WindowRate(size, rate)
            return False
        growth, gain = size / reference.size, rate / reference.rate
        if growth < 1.02:
            reference.rate = (reference.rate + rate) / 2
        elif growth > 1.2 and gain >= 1.0 + _GAIN * (growth - 1.0):
            self._reference, self._failed_probes = _WindowRate(size, rate), 0
        elif growth > 1.2:
            reference.gain = gain
            reference.flat_rounds += 1
            is_late = self._timed_out > _LATE * self._ended
            needed = 1 if gain < _LOSS or is_late or self._ended >= _ENOUGH else 2
            return reference.flat_rounds >= needed
        return False

    def _return_to_reference(self) -> None:
        """Return to the window with which the reference's latency gives the rate of now; each
        probe that fails doubles the time until the next one."""
        if self._reference is not None:
            size = self._reference.size * max(1.0, self._reference.gain)
            self.size = self._ceiling = self._threshold = min(size, self.size)
        self._reference = None
        self._failed_probes = min(self._failed_probes + 1, _MAX_FAILED_PROBES)
        self._rounds = _ROUNDS * (2 - 2**self._failed_probes)
        self._pause_seconds = 0.0
        self._target, self._step = self.size, 0.0
        self._reduced_at = self._sent

    def _reduce(self, factor: float) -> None:
        """Reduce the window. If that was not enough, the ceiling is the last size that was too
        large; below half of the first one, it is rather an outage, which says nothing of it."""
        if self._rounds or self._ceiling == math.inf:
            self._threshold, self._ceiling = self.size / 2, self.size
        elif self.size >= self._threshold:
            self._ceiling = self.size
        else:
            self._ceiling = 2 * self._threshold
        self.size = max(1.0, self.size * factor)
        self._reduced_at, self._refused, self._rounds = self._sent, 0, 0.0
        self._reference, self._failed_probes = None, 0
        self._target, self._step = self.size, 0.0
        self._start_round()

    def _grow(self, seconds: float) -> None:
        """Set how far the window grows in the next round trip."""
        self._refused = 0
        slow = _PAUSES * self._pause_seconds
        self._rounds += min(1.0, _ROUNDS * seconds / slow) if slow else 1.0
        if self.size < self._threshold:
            target = 2 * self.size
        elif self._rounds <= 2 * _ROUNDS:
            curve = (1.0 - _REDUCTION) * (self._rounds / _ROUNDS - 1.0) ** 3
            target = max(self.size, self._ceiling * (1.0 + curve))
        else:
            target = _GROWTH * self.size
        self._target = min(target, float(self.max_size))
        # At least so much that sums of steps arrive at the target: at 15.9999, 15 places are used.
        self._step = max(0.001, (self._target - self.size) / max(self.size, INITIAL_WINDOW))

    def _is_open(self) -> bool:
        return self._is_aborted or (self.in_flight <= self.size - 1.0 and not self._pause_end)

    def _wake(self) -> None:
        while self._waiters and self._is_open():
            future = self._waiters.popleft()
            if not future.done():
                self.in_flight += 1
                future.set_result(None)

    def _pause(self, now: float, seconds: float) -> None:
        if self._is_aborted or now + seconds <= self._pause_end:
            return
        self._pause_end = now + seconds
        self._round_begin = None
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(self._pause_end, self._end_pause)

    def _end_pause(self) -> None:
        # The timer of the loop may be early by the resolution of its clock.
        self._pause_end = 0.0
        self._wake()
