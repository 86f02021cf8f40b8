"""Ends a run before its time: a spent budget, too many failures. What was finished is kept."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass

from snellen.core.errors import UsageError
from snellen.core.output import Failure, FailureKind, Output

HOPELESS = 20
"""Failed requests to a remote model, none answered between them, after which a run ends."""
GRACE = 20.0
"""Seconds that requests in flight have left once too much failed."""
_ITS_OWN: frozenset[FailureKind] = frozenset({"media", "unsupported", "too_long", "missing"})
"""Failures of one request, which say nothing about the next."""
_OUTAGE: frozenset[FailureKind] = frozenset({"connection", "timeout", "server", "rate_limit"})
"""Failures that end a run also where there were answers before: the server is gone, or takes no
more today. Each of them was sent again for as long as the retry policy allows."""


class Halted(Exception):
    """Nothing is sent any more."""


class Halt:
    """Whether a run still sends requests. Lives inside one event loop."""

    def __init__(self) -> None:
        self.reason = ""
        """Why the run ends: a clause for the user; empty while it goes on."""
        self.out_of_grace = False
        """What is in flight is no longer waited for."""
        self._stopped = asyncio.Event()
        self._told: list[Callable[[float | None], object]] = []

    def stop(self, reason: str, grace: float | None = None) -> None:
        """Send nothing more; what is in flight has `grace` seconds to end, None: its own time."""
        if self.reason:
            return
        self.reason = reason
        self._stopped.set()
        for tell in self._told:
            tell(grace)

    def tell(self, call: Callable[[float | None], object]) -> None:
        """Have a function called with the grace when the run is stopped."""
        self._told.append(call)

    def check(self) -> None:
        """Raises Halted once the run is stopped."""
        if self.reason:
            raise Halted(self.reason)

    async def sleep(self, seconds: float) -> None:
        """Sleep, but no longer than the run goes on."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
        except TimeoutError:
            return


@dataclass(frozen=True, slots=True)
class MaxFailures:
    """How many requests may fail for good before the run ends."""

    number: float
    percent: bool = False
    """`number` is a share of the requests that ended, looked at from `HOPELESS` on."""

    @classmethod
    def parse(cls, text: str) -> MaxFailures:
        """`20` or `5%`. Raises UsageError."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
        if not match or (match[2] and float(match[1]) > 100) or (not match[2] and "." in match[1]):
            raise UsageError(f"--max-failures {text!r}: expected a count such as 20, or 5%")
        return cls(float(match[1]), bool(match[2]))

    def passed(self, failed: int, ended: int) -> bool:
        if not self.percent:
            return failed > self.number
        return ended >= HOPELESS and 100 * failed > self.number * ended


class Patience:
    """Watches how the requests to one model end, and stops the run when there is no hope."""

    def __init__(self, name: str, remote: bool, most: MaxFailures | None, halt: Halt) -> None:
        self._name = name
        self._remote = remote
        self._most = most
        self._halt = halt
        self._ended = 0
        self._failed = 0
        self._outage = 0
        """Requests in a row that an outage failed."""

    def note(self, output: Output) -> None:
        self._ended += 1
        if not isinstance(output, Failure):
            self._outage = 0
            return
        if output.kind in _ITS_OWN:
            return
        self._failed += 1
        self._outage = self._outage + 1 if output.kind in _OUTAGE else 0
        last = f"the last error: {output.message}"
        if self._remote and output.kind == "authentication":
            self._halt.stop(f"{self._name} refuses the key; {last}", GRACE)
        elif self._most is not None:
            if self._most.passed(self._failed, self._ended):
                failed = f"{self._failed} of {self._ended} requests to {self._name} failed"
                self._halt.stop(f"{failed}; {last}", GRACE)
        elif self._remote and self._failed == self._ended == HOPELESS:
            self._halt.stop(f"the first {HOPELESS} requests to {self._name} failed; {last}", GRACE)
        elif self._remote and self._outage >= HOPELESS:
            self._halt.stop(f"the last {HOPELESS} requests to {self._name} failed; {last}", GRACE)
