"""Sends requests to a remote model: paced, retried where that may help, and given up in time."""

from __future__ import annotations

import asyncio
import math
import random
from dataclasses import dataclass, field

from snellen.core.errors import ModelError, UsageError
from snellen.core.model import RemoteModel
from snellen.core.output import Failure, FailureKind, Output
from snellen.core.request import Request
from snellen.engine.limits.abort import AbortSignal
from snellen.engine.limits.pacing import ConcurrencyWindow
from snellen.engine.limits.spending import UsageCounter

MAX_SENDS = 8
_MOST_ROUND_TRIPS = 4.0
"""Bound of a delay while most requests are answered."""
_NO_CONTACT: frozenset[FailureKind] = frozenset({"timeout", "connection"})
"""Failures that do not show that the server is alive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When a request is retried. It changes no reply, so it is not part of a run's identity.

    Delays are uniform between 0 and a bound that doubles with each send ("full jitter"), so that
    requests that failed together are not retried together. The first bound is `base`, or a round
    trip where that is shorter and most requests are answered: then nothing has to recover, and
    longer delays would leave places in the window empty. So no bound is then longer than
    `_MOST_ROUND_TRIPS`: else a run would wait at its end for the last question that failed often.
    """

    kinds: frozenset[FailureKind] = field(default=frozenset({"connection", "timeout", "rate_limit", "server"}))
    """Failures worth a retry. Others would fail again: a bad key, a prompt that is too long, an
    invalid image."""
    max_sends: int = MAX_SENDS
    """Maximum number of sends of a request, the first included."""
    base: float = 0.5
    """Bound of the first delay, in seconds."""
    cap: float = 30.0
    """Bound of every delay, in seconds."""
    deadline: float = 900.0
    """Seconds after its first failure in which a request may be retried. A server that requests
    a longer pause aborts the run."""

    def __post_init__(self) -> None:
        if self.max_sends < 1:
            raise UsageError(f"--requests retries=is {self.max_sends}; expected at least 1 send of each request")

    def delay(self, sent: int, round_trip: float = math.inf) -> float:
        """Seconds before the next send, after `sent` sends. `round_trip`: of a window in which
        most requests are answered."""
        base, cap = min(self.base, round_trip), min(self.cap, _MOST_ROUND_TRIPS * round_trip)
        return random.uniform(0.0, min(cap, base * 2 ** min(sent - 1, 32)))


class RetryingClient:
    """Sends requests to one remote model, within the concurrency window of its account."""

    def __init__(
        self,
        model: RemoteModel,
        window: ConcurrencyWindow,
        policy: RetryPolicy,
        usage: UsageCounter,
        abort_signal: AbortSignal,
    ) -> None:
        self._model = model
        self._window = window
        self._policy = policy
        self._usage = usage
        self._abort_signal = abort_signal
        self._first_timeout = model.first_timeout
        self._has_contact = False
        """Whether the server has responded at all, even with an error."""
        self._timer: asyncio.TimerHandle | None = None

    async def send(self, request: Request) -> Output:
        """Send a request and its retries; returns the answer, or the Failure of the last send with
        the number of sends. Raises RunAborted."""
        window, answer = self._window, self._model.answer
        # `started` is the time of the first failure, from which the deadline counts.
        sent, started = 0, 0.0
        failure: Failure | None = None
        while True:
            place = await window.acquire(is_retry=sent > 0)
            try:
                self._abort_signal.raise_if_aborted()
                # The wait for a place in the window may have taken long.
                if failure is not None and self._is_past_deadline(started):
                    return failure
                sent += 1
                self._usage.sent += 1
                if not self._has_contact:
                    self._start_timer()
                output = await answer(request)
                if not self._has_contact:
                    self._note_contact()
                window.on_answer(place)
                return output
            except ModelError as error:
                if error.kind not in _NO_CONTACT:
                    self._note_contact()
                self._usage.rate_limited += error.kind == "rate_limit"
                window.on_failure(error.kind, place, error.retry_after)
                failure = Failure(error.kind, str(error), sent)
                pause = error.retry_after or 0.0
            finally:
                # The place is free during the delay: other requests go on.
                window.release()
            started = started or asyncio.get_running_loop().time()
            delay = self._delay(failure, pause, started)
            if delay is None:
                return failure
            await self._abort_signal.sleep(delay)

    def _delay(self, failure: Failure, pause: float, started: float) -> float | None:
        """Seconds until a request that failed is sent again; None if it is not. Aborts the run if
        the server asks for a pause that is longer than the deadline."""
        if failure.kind not in self._policy.kinds or failure.sent >= self._policy.max_sends:
            return None
        if pause > self._policy.deadline:
            self._abort_signal.abort(
                f"{self._model.identity.name} asks for a pause of {pause:,.0f} s; the last error: {failure.message}"
            )
            return None
        round_trip = math.inf if failure.kind == "rate_limit" else self._window.round_trip
        delay = max(self._policy.delay(failure.sent, round_trip), self._window.remaining_pause())
        return None if self._is_past_deadline(started, delay) else delay

    def _start_timer(self) -> None:
        """Start waiting for the server's first response, unless that was done already."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._first_timeout, self._give_up)

    def _note_contact(self) -> None:
        self._has_contact = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        # Without this, the run would only end after every retry of a request had timed out.
        self._abort_signal.abort(
            f"{self._model.identity.name} did not reply at all within {self._first_timeout:g} s; "
            "see whether the server works, or give it longer with the option first_timeout",
            0.0,
        )

    def _is_past_deadline(self, started: float, delay: float = 0.0) -> bool:
        return asyncio.get_running_loop().time() + delay - started > self._policy.deadline
