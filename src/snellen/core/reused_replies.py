"""Replies that a run took from the store: who had asked for them, and when."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

_MAX_RUNS = 8
"""Runs that are counted by name."""
_OTHER_RUNS = "other runs"


class ReusedReplies(Struct, frozen=True, omit_defaults=True):
    """Over all starts of a run, all roles together. What the run itself had stored is not among
    them: that is how it goes on."""

    replies: int = 0
    first: str = ""
    """When the oldest was made, in UTC, ISO 8601; empty where the store did not note that yet."""
    last: str = ""
    runs: dict[str, int] = {}
    """Replies by the folder of the run that asked for them, as far as the store noted it."""

    def with_reply(self, stored_at: float | None, run: str | None) -> ReusedReplies:
        """With one more reply: when it was stored, in seconds since 1970, and for which run."""
        when = _iso(stored_at)
        times = [time for time in (self.first, self.last, when) if time]
        runs = dict(self.runs)
        if run:
            name = run if run in runs or len(runs) < _MAX_RUNS else _OTHER_RUNS
            runs[name] = runs.get(name, 0) + 1
        first, last = min(times, default=""), max(times, default="")
        return ReusedReplies(self.replies + 1, first, last, runs)

    def sentence(self, model: str) -> str:
        """Nothing where all was asked."""
        if not self.replies:
            return ""
        one = self.replies == 1
        said = f"{model}: {self.replies:,} {'reply was' if one else 'replies were'} in the store"
        if self.first:
            first, last = self.first[:10], self.last[:10]
            said += f", made on {first}" if first == last else f", made from {first} to {last}"
        if self.runs:
            name, *others = sorted(self.runs, key=lambda run: (-self.runs[run], run))
            more = f" and {len(others)} other{'s' if len(others) > 1 else ''}" if others else ""
            said += f" by {name}{more}"
        return f"{said}; --fresh asks anew"


def _iso(seconds: float | None) -> str:
    try:
        return (
            ""
            if seconds is None
            else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
        )
    except (ValueError, OverflowError, OSError):
        return ""
