"""Requests to a model behind a server: paced, sent again where that may help, given up in time."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field

from snellen.core.errors import ModelError, UsageError
from snellen.core.model import RemoteModel
from snellen.core.output import Failure, FailureKind, Output
from snellen.core.request import Request
from snellen.engine.limits.abort import Halt
from snellen.engine.limits.pacing import Pace
from snellen.engine.limits.spending import Traffic

SENDS = 8
_FIRST_TIMEOUT = 600.0
"""Seconds to wait for the first reply of a model that does not say otherwise."""
_SILENCE: frozenset[FailureKind] = frozenset({"timeout", "connection"})
"""Failures that are no sign of the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When a request is sent again. It changes no reply, so it is no part of a run's identity.

    Waits are drawn evenly between 0 and a bound that doubles with each send ("full jitter"), so
    that requests that failed together do not come back together.
    """

    kinds: frozenset[FailureKind] = field(
        default=frozenset({"connection", "timeout", "rate_limit", "server"})
    )
    """The rest would fail again: a bad key, a prompt that is too long, a picture that is none."""
    sends: int = SENDS
    """Most times a request is sent, the first time included."""
    base: float = 0.5
    """Bound of the first wait, in seconds."""
    cap: float = 30.0
    """Bound of every wait, in seconds."""
    deadline: float = 900.0
    """Seconds after its first failure in which a request may be sent again. A server that asks
    for a longer pause ends the run."""

    def __post_init__(self) -> None:
        if self.sends < 1:
            raise UsageError(f"--retries is {self.sends}; expected at least 1 send of each request")

    def wait(self, sent: int) -> float:
        """Seconds before the next send, after `sent` of them."""
        return random.uniform(0.0, min(self.cap, self.base * 2 ** min(sent - 1, 32)))


class Line:
    """The way to one remote model, over the pace it shares with the others of its account."""

    def __init__(
        self, model: RemoteModel, pace: Pace, policy: RetryPolicy, traffic: Traffic, halt: Halt
    ) -> None:
        self._model = model
        self._pace = pace
        self._policy = policy
        self._traffic = traffic
        self._halt = halt
        self._first_timeout = float(getattr(model, "first_timeout", _FIRST_TIMEOUT))
        self._heard = False
        """Whether anything came from the server, be it an error."""
        self._alarm: asyncio.TimerHandle | None = None

    async def send(self, request: Request) -> Output:
        """The answer, or the Failure of the last send with the number of sends. Raises Halted."""
        pace, answer = self._pace, self._model.answer
        sent, started = 0, 0.0
        failed: Failure | None = None
        while True:
            number = await pace.enter(again=sent > 0)
            try:
                self._halt.check()
                if failed is not None and self._late(started):
                    return failed
                sent += 1
                self._traffic.sent += 1
                self._listen()
                output = await answer(request)
                self._hear()
                pace.answered()
                return output
            except ModelError as error:
                if error.kind not in _SILENCE:
                    self._hear()
                pace.failed(error.kind, number, error.retry_after)
                failed = Failure(error.kind, str(error), sent)
                pause = error.retry_after or 0.0
            finally:
                pace.leave()
            if failed.kind not in self._policy.kinds or sent >= self._policy.sends:
                return failed
            started = started or asyncio.get_running_loop().time()
            if pause > self._policy.deadline:
                self._halt.stop(
                    f"{self._model.identity.name} asks for a pause of {pause:,.0f} s; "
                    f"the last error: {failed.message}"
                )
                return failed
            wait = max(self._policy.wait(sent), pace.paused_for())
            if self._late(started, wait):
                return failed
            await self._halt.sleep(wait)

    def _listen(self) -> None:
        """From the first request on, wait for a sign of the server."""
        if not self._heard and self._alarm is None:
            loop = asyncio.get_running_loop()
            self._alarm = loop.call_later(self._first_timeout, self._give_up)

    def _hear(self) -> None:
        self._heard = True
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _give_up(self) -> None:
        # By requests alone it would take as many timeouts as each is sent again, several times.
        self._halt.stop(
            f"{self._model.identity.name} did not reply at all within {self._first_timeout:g} s; "
            "see whether the server works, or give it longer with the option first_timeout",
            0.0,
        )

    def _late(self, started: float, wait: float = 0.0) -> bool:
        return asyncio.get_running_loop().time() + wait - started > self._policy.deadline
