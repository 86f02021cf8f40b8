"""What a benchmark's own summary may use beside the records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from snellen.core.record import Record
from snellen.core.summary import Summary
from snellen.scoring.accuracy import FailurePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryContext:
    """The plain summary and the choices of the run, for summaries that build on them."""

    plain: Callable[[Sequence[Record]], Summary]
    """The summary by the mean of the samples' scores."""
    plain_headline: str
    """The headline's name in the plain summary."""
    failures: FailurePolicy
    options: Mapping[str, str]
    """Every option with its value."""
    rule: str
    """Whose rule parses the replies."""
    judges: tuple[str, ...] = ()
    """The roles that its flows ask beside the model, such as judges."""

    @property
    def failed_score(self) -> float | None:
        """What a failed sample counts: 0 with `--failures count-wrong`, else nothing."""
        return 0.0 if self.failures == "count-wrong" else None
