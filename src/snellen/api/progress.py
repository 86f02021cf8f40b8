"""The progress of a call: as the caller asks, or by whether it runs in a terminal or a notebook."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from snellen.core.errors import UsageError
from snellen.core.terminal_text import escape_controls
from snellen.engine.loop.progress import NoProgress, Progress

ProgressChoice: TypeAlias = Progress | bool | None
"""None shows progress on a terminal and in a notebook; True everywhere (lines on standard error
outside of both), False nowhere; or an object with the methods of `Progress`."""


@contextmanager
def open_progress(choice: ProgressChoice) -> Iterator[Progress]:
    """Open the progress of a call. Raises UsageError for an object without the methods of
    `Progress`."""
    if not isinstance(choice, bool | None) and not hasattr(choice, "on_start"):
        raise UsageError(
            f"progress is {choice!r}; expected True, False, or an object with the methods of "
            "snellen.engine.loop.progress.Progress"
        )
    if not isinstance(choice, bool | None):
        yield choice
    elif choice is not False and is_notebook():
        yield _notebook_progress()
    elif choice or (choice is None and is_terminal()):
        from snellen.report.progress import show_progress

        with show_progress() as progress:
            yield progress
    else:
        yield NoProgress()


def is_visible(choice: ProgressChoice) -> bool:
    """Whether a call shows progress and notices while it runs."""
    return choice is True or (choice is None and (is_notebook() or is_terminal()))


def print_notice(sentence: str) -> None:
    """Print a sentence to standard error."""
    print(escape_controls(sentence), file=sys.stderr, flush=True)


def is_terminal() -> bool:
    """Whether standard output and standard error are terminals."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr))


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    # IPython is loaded already if it runs this code.
    module: Any = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def _notebook_progress() -> Progress:
    # tqdm warns if transformers is imported without ipywidgets, which the bars here do not need.
    warnings.filterwarnings("ignore", message="IProgress not found")
    from snellen.report.notebook.progress import Display, NotebookProgress, ProgressBar

    def show(bar: ProgressBar) -> Display:
        import IPython.display

        # IPython is only partly typed, and installed with notebooks only.
        display: Any = IPython.display.display
        place: Display = display(bar, display_id=True)
        return place

    return NotebookProgress(show)
