"""`snellen data pull`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snellen.api.flags import argument
from snellen.cli.output import print_line
from snellen.core.errors import COMPLETE, MISTAKE

if TYPE_CHECKING:
    from snellen.api.pull import PullStep


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen data pull` takes."""

    benchmarks: Sequence[str] = argument("BENCHMARK", "a name, e.g. scienceqa:split=val", "+")


def main(options: Options) -> int:
    """Print a line for each benchmark as soon as it is ready; a failure stops no other."""
    from snellen.api.pull import pull
    from snellen.report.format import plural

    failed = False
    with _progress_bars() as watch:
        for result in pull(options.benchmarks, watch):
            if result.problem:
                failed = True
                print_line(f"snellen: {result.problem}", error=True)
            else:
                print_line(f"{result.path}: {plural(result.rows, 'row')}", flush=True)
    return MISTAKE if failed else COMPLETE


@contextmanager
def _progress_bars() -> Iterator[Callable[[PullStep], None]]:
    """Progress bars for several benchmarks at once: one for each that is fetched or prepared."""
    from rich.progress import Progress, TaskID

    from snellen.report.console import Terminal

    console = Terminal(stderr=True)
    lines: dict[tuple[str, str], TaskID] = {}
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bars:

        def watch(step: PullStep) -> None:
            key = (step.name, step.phase)
            if key not in lines:
                lines[key] = bars.add_task(f"{step.name}: {step.phase}", total=step.total)
            bars.update(lines[key], completed=step.done, total=step.total)

        yield watch
