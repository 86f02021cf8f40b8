"""What commands print and write: results as tables or for other programs, files, and lines while they go on."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from snellen.api.flags import FORMATS, option
from snellen.core.errors import INTERRUPTED, UsageError
from snellen.core.terminal_text import escape_controls

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

    from snellen.core.benchmark import FetchProgress
    from snellen.report.document import Document


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


TABLE, JSON, HTML = "table", "json", "html"
DRAWINGS = (".svg", ".png", ".pdf")
"""Endings of files to which results are drawn."""
PageWriter = Callable[[Path | None], Path]
"""Writes a page to a file, or without one to where it belongs; returns its path."""


@dataclass(frozen=True, kw_only=True)
class FormatOptions:
    """How results are printed."""

    format: str = option(TABLE, "--format")
    json: bool = option(False, "--json")

    def __post_init__(self) -> None:
        """Raises UsageError for two formats, before anything is done."""
        _ = self.form

    @property
    def form(self) -> str:
        """The format. Raises UsageError for two."""
        if self.json and self.format not in (TABLE, JSON):
            raise UsageError(f"--json and --format {self.format} are two formats; give one")
        return JSON if self.json else self.format


@dataclass(frozen=True, kw_only=True)
class OutputOptions(FormatOptions):
    """How results are printed, and the files to which they are written or drawn."""

    output: Sequence[str] = option((), "--output")

    def __post_init__(self) -> None:
        """Raises UsageError for two formats or a file of an unknown ending."""
        self.texts()

    def texts(self) -> dict[Path, str]:
        """The files to write, with their formats. Raises UsageError for an ending of none."""
        from snellen.report.writers import SUFFIXES

        files = {}
        for path in map(Path, self.output):
            suffix = path.suffix.lower()
            if suffix in DRAWINGS:
                continue
            form = SUFFIXES.get(suffix, self.form if self.form != TABLE else None)
            if form is None:
                raise UsageError(
                    f"-o {path}: expected a file that ends in {', '.join((*SUFFIXES, *DRAWINGS))}; "
                    f"or name its format: --format {'|'.join(FORMATS[1:])}"
                )
            files[path] = form
        return files

    def drawings(self) -> list[Path]:
        """The files to draw."""
        return [path for path in map(Path, self.output) if path.suffix.lower() in DRAWINGS]


def only_file(output: Sequence[str]) -> str | None:
    """The value of `-o` of a command that writes one file; None without it. Raises UsageError for
    several."""
    if len(output) > 1:
        raise UsageError(f"this writes one file; got -o {' and -o '.join(output)}")
    return output[0] if output else None


def print_document(document: Document, form: str = TABLE, page: PageWriter | None = None) -> None:
    """Print a document in a format; on a terminal as tables with colours. A `page` is written in
    place of the document as HTML, and its path printed."""
    if form == HTML and page is not None:
        print_line(page(None))
        return
    if form == TABLE:
        from snellen.report.writers import terminal

        terminal.print_document(document)
        return
    from snellen.report.writers import write_text

    text = write_text(document, form)
    # JSON has control characters escaped already.
    sys.stdout.write(text if form == JSON else escape_controls(text))


def write_document(document: Document, options: OutputOptions, page: PageWriter | None = None) -> None:
    """Write and draw a document to the files of `-o`, and print it unless a file holds its text.

    A `page` is written in place of the document as HTML, and its path printed. Raises UsageError
    for a file of an unknown ending, and if there is nothing to draw."""
    from snellen.core.atomic_write import save
    from snellen.report.writers import write_text

    texts, form = options.texts(), options.form
    draw(document.plot, options.drawings())
    for path, written in texts.items():
        if written == HTML and page is not None:
            print_line(page(path))
        else:
            save(path, write_text(document, written))
    if not texts:
        print_document(document, form, page)


def draw(plot: Callable[[], Figure] | None, files: Sequence[Path]) -> None:
    """Draw a figure to files. Raises UsageError if there is nothing to draw."""
    if not files:
        return
    if plot is None:
        raise UsageError(f"-o {files[0]}: there is nothing to draw here; name a file of text")
    from snellen.report.plots.figure import save_plot

    for path in files:
        save_plot(plot(), path)
