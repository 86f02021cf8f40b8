"""Warns once, while a run goes on, if too many replies are cut at the token limit.

The test is that of a share against `ACCEPTED_SHARE`, by the exact binomial distribution. It is made
after 20, 40, 80, ... replies, each time with half of the error that is left, so that a model with
the accepted share is warned about in at most 5 % of all runs, however long they are.
"""

from __future__ import annotations

from collections.abc import Callable

from snellen.core.output import Generated, Truncated
from snellen.core.record import Record, every_pass

FIRST_LOOK = 20
"""Replies before the first test."""
ACCEPTED_SHARE = 0.05
"""Share of cut replies that is accepted without a warning."""
_FIRST_ERROR = 0.025
"""Probability of a false warning at the first test; each later one has half that of the last."""
_FACTOR = 8
"""How many times the limit that was reached is proposed."""


class TruncationMonitor:
    """Counts the replies of a model on a benchmark that were cut at the token limit."""

    def __init__(self, name: str, limit: int, warn: Callable[[str], object]) -> None:
        """`name` is that of the run in the warning, `limit` the longest reply in tokens."""
        self._name, self._limit, self._warn = name, limit, warn
        self._replies = self._cut = self._unread = 0
        self._next_look: int | None = FIRST_LOOK
        """Number of replies at which the next test is made; None once the user was warned."""
        self._error = _FIRST_ERROR

    def add_record(self, record: Record) -> None:
        """Count the replies of a finished sample; may warn."""
        for done in every_pass(record) if record.repeats else record.passes:
            if not isinstance(done.output, Generated):
                continue
            self._replies += 1
            is_cut = done.output.stop_reason == "length"
            self._cut += is_cut
            self._unread += is_cut and isinstance(done.answer, Truncated)
        if self._next_look is not None and self._replies >= self._next_look:
            self._test()

    def _test(self) -> None:
        if self._is_too_often():
            self._next_look = None
            self._warn(self._warning())
            return
        assert self._next_look is not None
        while self._next_look <= self._replies:
            self._next_look *= 2
            self._error /= 2

    def _is_too_often(self) -> bool:
        if self._cut <= ACCEPTED_SHARE * self._replies:
            return False  # most runs end here, and need none of what the test imports
        from snellen.stats.exact_counts import EventGroup, count_tails

        tails = count_tails([EventGroup(ACCEPTED_SHARE, self._replies)], self._cut)
        return tails.upper <= self._error

    def _warning(self) -> str:
        larger = _FACTOR * self._limit
        unread = f", {self._unread} before an answer" if self._unread else ""
        return (
            f"{self._name}: {self._cut} of the first {self._replies} replies were cut at the limit "
            f"of {self._limit:,} tokens{unread}; allow longer ones with --generation "
            f"max_new_tokens={larger}, or let the run end and add --generation "
            f"extend_truncated={larger}, which asks only those again"
        )
