"""The traceback of an error in the user's own model, once at the end of a command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from snellen.core.output import Failure
from snellen.core.record import every_pass
from snellen.core.terminal_text import escape_controls
from snellen.store.runs import FAILURES_FILE, RunFolder

if TYPE_CHECKING:
    from rich.console import Console


def print_traceback(runs: Sequence[RunFolder], console: Console) -> None:
    """Print the most frequent traceback among the failures of the runs, and where all of them are
    stored; nothing if no model raised one."""
    from rich.text import Text

    tracebacks = Counter(failure.traceback for run in runs for failure in _errors_in_code(run))
    if not tracebacks:
        return
    (text, times), *others = tracebacks.most_common()
    files = [run.path / FAILURES_FILE for run in runs if any(_errors_in_code(run))]
    kinds = f"the most frequent of {len(others) + 1}, " if others else ""
    console.print()
    console.print(Text(escape_controls(text), style="dim"), soft_wrap=True)
    console.print(Text(f"{kinds}raised {times} time{'s' if times > 1 else ''}; each is in {files[0]}"), soft_wrap=True)


def _errors_in_code(run: RunFolder) -> Iterator[Failure]:
    """Failures with a traceback, one for each sample."""
    for record in run.failures():
        outputs = (each_pass.output for each_pass in every_pass(record))
        failure = next((each for each in outputs if isinstance(each, Failure)), None)
        if failure is not None and failure.traceback:
            yield failure
