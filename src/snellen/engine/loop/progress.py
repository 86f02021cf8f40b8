"""The interface by which a run reports its progress."""

from __future__ import annotations

from typing import Protocol

from snellen.core.run import Status


class Progress(Protocol):
    """Follows runs in sequence: `on_start`, `on_advance` once per finished sample, `on_finish`.

    If requests were sent since the last sample ended, `on_advance` is called once more before
    `on_finish`, which is also called if the run was interrupted. Every call must return at once.
    """

    def on_start(self, name: str, total: int, done: int) -> None:
        """A run begins. `name` is shown to the user, e.g. "snellen/tiny on eyechart"; `total`
        samples make it complete, `done` of them were finished by earlier starts."""
        ...

    def on_advance(self, done: int, failed: int, sent: int, reused: int, saved: int, score: float | None) -> None:
        """A sample ended. `done` and `failed` count samples over all starts; `sent` and `reused`
        count requests of this start that reached the model or were answered by the store; `saved`
        requests were made unnecessary by early stop. `score` is the mean of the scored samples so
        far, 0..1, or None before the first. Under CircularEval it is None until the last: questions
        that are answered wrong end early, so the running mean is biased."""
        ...

    def on_finish(self, status: Status) -> None:
        """The run ended, with this status."""
        ...


class NoProgress:
    """A progress that shows nothing."""

    def on_start(self, name: str, total: int, done: int) -> None:
        """Nothing is shown."""

    def on_advance(self, done: int, failed: int, sent: int, reused: int, saved: int, score: float | None) -> None:
        """Nothing is shown."""

    def on_finish(self, status: Status) -> None:
        """Nothing is shown."""
