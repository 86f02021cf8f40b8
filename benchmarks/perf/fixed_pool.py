"""What a concurrency window is held against."""

from __future__ import annotations

from snellen.core.output import FailureKind
from snellen.engine.limits.pacing import ConcurrencyWindow, WindowPlace


class FixedPool(ConcurrencyWindow):
    """As many requests in flight from the beginning, whatever comes back."""

    def __init__(self, size: int) -> None:
        super().__init__(size, size)

    def on_answer(self, place: WindowPlace) -> None:
        """Nothing changes it."""

    def on_failure(self, kind: FailureKind, place: WindowPlace, retry_after: float | None = None) -> None:
        """Nothing changes it."""
