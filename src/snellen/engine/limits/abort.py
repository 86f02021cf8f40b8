"""Aborts a run: a spent budget, too many failures. Finished samples are kept."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass

from snellen.core.errors import UsageError
from snellen.core.output import Failure, FailureKind, Output

MAX_CONSECUTIVE_FAILURES = 20
"""Failed requests in a row, to a remote model, that abort a run."""
GRACE = 20.0
"""Seconds that requests in flight may still take after too many failures."""
_PER_REQUEST: frozenset[FailureKind] = frozenset({"media", "unsupported", "too_long", "missing"})
"""Failures caused by the request itself, which say nothing about the next one."""
_OUTAGE: frozenset[FailureKind] = frozenset({"connection", "timeout", "server", "rate_limit"})
"""Failures that abort a run even after answers: the server is down, or has reached a daily limit.
Each such request was retried for as long as the retry policy allows."""


class RunAborted(Exception):
    """The run was aborted: no request is sent any more."""


class AbortSignal:
    """Tells all parts of a run when it is aborted. Lives inside one event loop."""

    def __init__(self) -> None:
        self.reason = ""
        """Why the run was aborted: a clause for the user; empty while it goes on."""
        self.grace_expired = False
        """Whether requests in flight are no longer waited for."""
        self._event = asyncio.Event()
        self._callbacks: list[Callable[[float | None], object]] = []

    def abort(self, reason: str, grace: float | None = None) -> None:
        """Stop sending. Requests in flight may take `grace` more seconds; None: as long as they
        take. Later calls do nothing: the first reason counts."""
        if self.reason:
            return
        self.reason = reason
        self._event.set()
        for callback in self._callbacks:
            callback(grace)

    def add_callback(self, callback: Callable[[float | None], object]) -> None:
        """Register a function that is called with the grace period when the run is aborted."""
        self._callbacks.append(callback)

    def raise_if_aborted(self) -> None:
        """Raises RunAborted once the run is aborted."""
        if self.reason:
            raise RunAborted(self.reason)

    async def sleep(self, seconds: float) -> None:
        """Sleep; returns early if the run is aborted."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return


@dataclass(frozen=True, slots=True)
class MaxFailures:
    """How many requests may fail, after their retries, before the run is aborted."""

    limit: float
    percent: bool = False
    """Whether `limit` is a percentage of the requests that ended. Not applied to the first few
    (`MAX_CONSECUTIVE_FAILURES`)."""

    @classmethod
    def parse(cls, text: str) -> MaxFailures:
        """Parse `20` or `5%`. Raises UsageError."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
        if not match or (match[2] and float(match[1]) > 100) or (not match[2] and "." in match[1]):
            raise UsageError(f"--requests max_failures={text!r}: expected a count such as 20, or 5%")
        return cls(float(match[1]), bool(match[2]))

    def is_exceeded(self, failed: int, completed: int) -> bool:
        if not self.percent:
            return failed > self.limit
        return completed >= MAX_CONSECUTIVE_FAILURES and 100 * failed > self.limit * completed


class FailureMonitor:
    """Counts how the requests to one model end, and aborts the run after too many failures."""

    def __init__(self, name: str, remote: bool, max_failures: MaxFailures | None, abort_signal: AbortSignal) -> None:
        self._name = name
        self._remote = remote
        self._max_failures = max_failures
        self._abort_signal = abort_signal
        self._completed = 0
        self._failed = 0
        self._outage = 0
        """Requests in a row that failed because of an outage."""

    def add_output(self, output: Output) -> None:
        """Count how a request ended; may abort the run.

        A rejected key aborts at once. A limit of failures (`max_failures`) replaces the two
        default rules for remote models: the first 20 requests failed, or the last 20 failed in a
        row because of an outage. Local models have no default rule.
        """
        self._completed += 1
        if not isinstance(output, Failure):
            self._outage = 0
            return
        if output.kind in _PER_REQUEST:
            return
        self._failed += 1
        self._outage = self._outage + 1 if output.kind in _OUTAGE else 0
        last = f"the last error: {output.message}"
        if self._remote and output.kind == "authentication":
            self._abort_signal.abort(f"{self._name} refuses the key; {last}", GRACE)
        elif self._max_failures is not None:
            if self._max_failures.is_exceeded(self._failed, self._completed):
                failed = f"{self._failed} of {self._completed} requests to {self._name} failed"
                self._abort_signal.abort(f"{failed}; {last}", GRACE)
        elif self._remote and self._failed == self._completed == MAX_CONSECUTIVE_FAILURES:
            self._abort_signal.abort(
                f"the first {MAX_CONSECUTIVE_FAILURES} requests to {self._name} failed; {last}", GRACE
            )
        elif self._remote and self._outage >= MAX_CONSECUTIVE_FAILURES:
            self._abort_signal.abort(
                f"the last {MAX_CONSECUTIVE_FAILURES} requests to {self._name} failed; {last}", GRACE
            )
