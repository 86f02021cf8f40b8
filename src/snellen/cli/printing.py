"""Printing of commands: results as tables or for other programs, and lines while they go on."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from snellen.core.errors import INTERRUPTED
from snellen.core.terminal_text import escape_controls

if TYPE_CHECKING:
    from rich.console import Console

    from snellen.core.benchmark import FetchProgress


_DOWNLOAD_INTERVAL = 3.0
"""Seconds between two lines about a download."""


def print_line(text: object = "", *, error: bool = False, flush: bool = False) -> None:
    """Print a line, on standard error for an `error`, with control characters escaped: it may hold
    text of a data file, a model or a server."""
    print(escape_controls(str(text)), file=sys.stderr if error else sys.stdout, flush=flush)


def line_printer(console: Console) -> Callable[[str], None]:
    """A function that prints a line above whatever else the console displays."""

    def write_line(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    return write_line


def download_printer(console: Console) -> FetchProgress:
    """A function that prints every few seconds how far a download is."""
    last_time = 0.0

    def progress(done: int, total: int | None) -> None:
        nonlocal last_time
        if time.monotonic() - last_time < _DOWNLOAD_INTERVAL:
            return
        last_time = time.monotonic()
        of = f" of {total / 1e6:.0f}" if total else ""
        console.print(f"fetching data: {done / 1e6:.0f}{of} MB", highlight=False)

    return progress


@contextmanager
def progress_bar(what: str) -> Iterator[FetchProgress]:
    """A progress bar on standard error where that is a terminal; silence where it is not."""
    from rich.progress import Progress

    from snellen.report.console import Terminal

    console = Terminal(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bars:
        task = bars.add_task(what, total=None)

        def progress(done: int, total: int | None) -> None:
            bars.update(task, completed=done, total=total)

        yield progress


def exit_interrupted(run: Path, console: Console, command: str, left: str = "") -> NoReturn:
    """Print how an interrupted command goes on, and what it left at providers, and end the process."""
    # There is nothing left to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    console.print(
        f"stopped; what was finished is kept in {run}\n{left and left + chr(10)}continue with: {command}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    # A local model may still be computing in its thread: do not wait for it.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(INTERRUPTED)
