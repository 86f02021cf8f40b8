"""`snellen curate statistics DATA`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from snellen.cli.printing import TABLE, print_line, print_result
from snellen.core.errors import UsageError
from snellen_curate.commands import Finished, read_fields


def main(arguments: Namespace) -> Finished:
    """Measure a data set."""
    from snellen_curate.open_data import open_items
    from snellen_curate.statistics.measuring import StatisticsOptions, measure_data
    from snellen_curate.statistics.statistics_tables import (
        STATISTICS_EXPORTS,
        findings,
        print_statistics,
    )

    if arguments.figures and not arguments.out:
        raise UsageError("--figures draws into a folder: name it with --out DIR")
    options = read_fields(arguments, StatisticsOptions, read_media=not arguments.no_media)
    if options.probe < 0:
        raise UsageError(f"--probe is {options.probe}; expected a number of questions, or 0")
    table = open_items(arguments.data, arguments.columns)
    with _progress_bar(arguments) as progress:
        statistics = measure_data(table, options, progress)
    figures = []
    if arguments.figures:
        from snellen_curate.statistics.figures import save_figures

        figures = save_figures(statistics, arguments.out)

    def print_text() -> None:
        print_result(arguments.format or TABLE, statistics, print_statistics, STATISTICS_EXPORTS)
        for path in figures:
            print_line(f"figure: {path}", error=bool(arguments.format))

    return Finished("flagged" if any(findings(statistics)) else "clean", statistics, print_text)


@contextmanager
def _progress_bar(arguments: Namespace) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error where that is a terminal."""
    from rich.progress import Progress

    from snellen.report.console import Terminal

    console = Terminal(stderr=True)
    with Progress(
        console=console, disable=arguments.quiet or not console.is_terminal, transient=True
    ) as bars:
        task = bars.add_task(arguments.data, total=None)

        def progress(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)

        yield progress
