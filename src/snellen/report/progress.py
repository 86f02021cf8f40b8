"""Progress of runs: a live panel on a terminal, otherwise a plain line from time to time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.run import Status
from snellen.core.terminal_text import escape_controls
from snellen.engine.loop.progress import Progress
from snellen.report import format as fmt

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

LEAST_SAMPLES = 10
"""Samples of this start before an estimate: the first ones wait for the model to be loaded."""

PLAIN_SECONDS = 5.0
"""The least number of seconds between plain lines."""

REFRESHES = 4
"""Redraws of the live panel per second."""


class ProgressState(NamedTuple):
    """The latest progress of a run; the fields are those of `Progress.on_advance`."""

    done: int
    failed: int
    sent: int
    reused: int
    saved: int
    score: float | None


class ProgressClock:
    """The speed since this start; samples finished by earlier starts do not count."""

    def __init__(self, name: str, needed: int, done: int, now: float) -> None:
        self.name = name
        self.needed = needed
        self.before = done
        self.began = now

    def has_speed(self, state: ProgressState) -> bool:
        """Whether enough samples ended in this start to say how fast it goes."""
        return state.done + state.failed - self.before >= LEAST_SAMPLES

    def rate(self, state: ProgressState, now: float) -> float | None:
        """Samples per second; None before the first sample ends."""
        ended = state.done + state.failed - self.before
        elapsed = now - self.began
        return ended / elapsed if ended > 0 and elapsed > 0 else None

    def remaining(self, state: ProgressState, now: float) -> float | None:
        """Seconds until every sample has ended; None if unknown, or too early to say."""
        rate = self.rate(state, now) if self.has_speed(state) else None
        pending = self.needed - state.done - state.failed
        return max(0, pending) / rate if rate else None


def _requests(state: ProgressState) -> str:
    parts = [f"{fmt.count_text(state.sent)} sent"]
    if state.reused:
        parts.append(f"{fmt.count_text(state.reused)} reused")
    if state.saved:
        parts.append(f"{fmt.count_text(state.saved)} saved")
    return "requests: " + ", ".join(parts)


def progress_details(clock: ProgressClock, state: ProgressState, now: float) -> list[str]:
    """Details besides the counts, the most important first."""
    news = []
    if state.failed:
        news.append(f"{fmt.count_text(state.failed)} failed")
    if state.score is not None:
        news.append(f"score {fmt.score_text(100 * state.score)}")
    rate = clock.rate(state, now)
    is_over = state.done + state.failed >= clock.needed
    if rate is not None and (is_over or clock.has_speed(state)):
        news.append(f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min")
    return [*news, _requests(state)]


class PlainProgress:
    """Lines of text for logs and pipes, at most one every `seconds`."""

    def __init__(
        self, write: Callable[[str], object], seconds: float = PLAIN_SECONDS, clock: Callable[[], float] = monotonic
    ) -> None:
        self._write = write
        self._seconds = seconds
        self._now = clock
        self._next = 0.0
        self._clock: ProgressClock | None = None
        self._latest: tuple[int, int, int, int, int, float | None] = (0, 0, 0, 0, 0, None)

    def on_start(self, name: str, total: int, done: int) -> None:
        now = self._now()
        self._clock = ProgressClock(name, total, done, now)
        self._latest = (done, 0, 0, 0, 0, None)
        self._next = now + self._seconds
        before = f", {fmt.count_text(done)} done before" if done else ""
        self._write(f"{name}: {fmt.plural(total, 'sample')}{before}")

    def on_advance(self, done: int, failed: int, sent: int, reused: int, saved: int, score: float | None) -> None:
        self._latest = (done, failed, sent, reused, saved, score)
        if self._now() >= self._next:
            self._print_line("")

    def on_finish(self, status: Status) -> None:
        # The score so far is the mean of what was answered; that of the run is in its report.
        self._latest = (*self._latest[:-1], None)
        self._print_line(f"{status}, ")
        self._clock = None

    def _print_line(self, prefix: str) -> None:
        clock = self._clock
        if clock is None:
            return
        now = self._now()
        self._next = now + self._seconds
        state = ProgressState(*self._latest)
        share = f" ({100 * state.done // clock.needed} %)" if clock.needed else ""
        head = f"{fmt.count_text(state.done)} of {fmt.count_text(clock.needed)}{share}"
        seconds = None if prefix else clock.remaining(state, now)
        tail = [f"about {fmt.duration(seconds)} left"] if seconds is not None else []
        if prefix:
            tail = [f"took {fmt.duration(now - clock.began)}"]
        text = ", ".join([head, *progress_details(clock, state, now), *tail])
        self._write(f"{clock.name}: {prefix}{text}")


class LiveProgress:
    """A panel that is redrawn in place. When a run ends, its last state stays on the screen."""

    def __init__(self, console: Console, clock: Callable[[], float] = monotonic) -> None:
        self._console = console
        self._now = clock
        self._clock: ProgressClock | None = None
        self._live: Live | None = None
        self._status: Status | None = None
        self._latest: tuple[int, int, int, int, int, float | None] = (0, 0, 0, 0, 0, None)

    def on_start(self, name: str, total: int, done: int) -> None:
        from rich.live import Live

        self.close()
        self._clock = ProgressClock(name, total, done, self._now())
        self._status = None
        self._latest = (done, 0, 0, 0, 0, None)
        self._live = Live(console=self._console, get_renderable=self.panel, refresh_per_second=REFRESHES)
        self._live.start()

    def on_advance(self, done: int, failed: int, sent: int, reused: int, saved: int, score: float | None) -> None:
        self._latest = (done, failed, sent, reused, saved, score)

    def on_finish(self, status: Status) -> None:
        self._status = status
        self._latest = (*self._latest[:-1], None)
        self.close()
        self._clock = None

    def close(self) -> None:
        """Draw the last state and restore the terminal."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def panel(self) -> RenderableType:
        """Two lines: name, bar, counts and remaining time; then score, speed and requests."""
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        clock = self._clock
        if clock is None:
            return Text("")
        now = self._now()
        state = ProgressState(*self._latest)
        grid = Table.grid(padding=(0, 1), expand=True)
        grid.add_column(overflow="ellipsis", no_wrap=True)
        grid.add_column(ratio=1, min_width=8)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_row(
            Text(clock.name, style="bold"),
            ProgressBar(total=max(clock.needed, 1), completed=state.done),
            f"{fmt.count_text(state.done)}/{fmt.count_text(clock.needed)}",
            self._time(clock, state, now),
        )
        news = Text("  ")
        for index, item in enumerate(progress_details(clock, state, now)):
            news.append(" · " if index else "", style="dim")
            news.append(item, style="red" if item.endswith("failed") else "dim")
        both = Table.grid(expand=True)
        both.add_row(grid)
        both.add_row(news)
        return both

    def _time(self, clock: ProgressClock, state: ProgressState, now: float) -> str:
        if self._status is not None:
            return f"{self._status} in {fmt.duration(now - clock.began)}"
        seconds = clock.remaining(state, now)
        return f"{fmt.duration(seconds)} left" if seconds is not None else ""


@contextmanager
def show_progress(console: Console | None = None) -> Iterator[Progress]:
    """Report progress on standard error: a live panel on a terminal, otherwise plain lines. The
    terminal is restored however the block ends."""
    from snellen.report.console import Terminal

    console = console or Terminal(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        file = console.file
        yield PlainProgress(lambda line: print(escape_controls(line), file=file, flush=True))
        return
    live = LiveProgress(console)
    try:
        yield live
    finally:
        live.close()
