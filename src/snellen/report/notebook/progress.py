"""Progress of runs in a notebook: a bar under the cell, redrawn in place."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol

from snellen.core.run import Status
from snellen.report import format as fmt
from snellen.report.notebook import fragments as html
from snellen.report.progress import ProgressClock, ProgressState, progress_details

REFRESH_SECONDS = 0.25
"""The least number of seconds between two drawings."""


class Display(Protocol):
    """A place under a cell whose content can be replaced."""

    def update(self, content: Any) -> None:
        """Show this in place of what is there."""
        ...


class ProgressBar:
    """The state of a run as HTML, and as a line of text where a front end shows no HTML."""

    def __init__(self, markup: str, line: str) -> None:
        self._markup, self._line = markup, line

    def _repr_html_(self) -> str:
        return self._markup

    def __repr__(self) -> str:
        return self._line


class NotebookProgress:
    """A bar for each run. `show` puts a first content under the cell and returns its place."""

    def __init__(self, show: Callable[[ProgressBar], Display], clock: Callable[[], float] = monotonic) -> None:
        self._show, self._now = show, clock
        self._display: Display | None = None
        self._clock: ProgressClock | None = None
        self._state = ProgressState(0, 0, 0, 0, 0, None)
        self._next = 0.0

    def on_start(self, name: str, total: int, done: int) -> None:
        now = self._now()
        self._clock = ProgressClock(name, total, done, now)
        self._state = ProgressState(done, 0, 0, 0, 0, None)
        self._next = now + REFRESH_SECONDS
        self._display = self._show(self._bar(self._clock, now, None))

    def on_advance(self, done: int, failed: int, sent: int, reused: int, saved: int, score: float | None) -> None:
        self._state = ProgressState(done, failed, sent, reused, saved, score)
        now = self._now()
        if now >= self._next and self._clock is not None and self._display is not None:
            self._next = now + REFRESH_SECONDS
            self._display.update(self._bar(self._clock, now, None))

    def on_finish(self, status: Status) -> None:
        if self._clock is not None and self._display is not None:
            self._display.update(self._bar(self._clock, self._now(), status))
        self._clock = self._display = None

    def _bar(self, clock: ProgressClock, now: float, status: Status | None) -> ProgressBar:
        state = self._state
        counts = f"{fmt.count_text(state.done)}/{fmt.count_text(clock.needed)}"
        seconds = None if status else clock.remaining(state, now)
        time = f"{fmt.duration(seconds)} left" if seconds is not None else ""
        if status:
            time = f"{status} in {fmt.duration(now - clock.began)}"
        details = [counts, *([time] if time else []), *progress_details(clock, state, now)]
        line = " · ".join(details)
        bar = (
            f'<progress value="{state.done}" max="{max(clock.needed, 1)}" '
            f'aria-label="{html.text(clock.name)}" style="width:16em;vertical-align:middle">'
            "</progress>"
        )
        markup = html.block(f'<b>{html.text(clock.name)}</b> {bar} <span style="{html.DIM}">{html.text(line)}</span>')
        return ProgressBar(markup, f"{clock.name}: {line}")
