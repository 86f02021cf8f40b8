"""`snellen curate statistics DATA`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.options import DEFAULT_OUT
from snellen.cli.commands.curate import Finished, read_fields
from snellen.cli.commands.curate._table import Status
from snellen.cli.flags import read_options
from snellen.cli.printing import TABLE, exit_interrupted, print_line, print_result
from snellen.core.errors import UsageError
from snellen.curate.statistics.options import BlindOptions, StatisticsOptions

if TYPE_CHECKING:
    from snellen.curate.items import ItemTable
    from snellen.curate.statistics.blind import BlindRuns


def main(arguments: Namespace) -> Finished:
    """Measure a data set; models of --text-only are asked too."""
    import msgspec

    from snellen.curate.items import open_items
    from snellen.curate.statistics.formats import STATISTICS_EXPORTS, print_statistics
    from snellen.curate.statistics.measuring import measure_data
    from snellen.curate.statistics.statistics_tables import findings

    if arguments.figures and not arguments.out:
        raise UsageError("--figures draws into a folder: name it with --out DIR")
    options = read_fields(arguments, StatisticsOptions, read_media=not arguments.no_media)
    if options.probe < 0:
        raise UsageError(f"--probe is {options.probe}; expected a number of questions, or 0")
    table = open_items(arguments.data, arguments.columns)
    with _progress_bar(arguments) as progress:
        statistics = measure_data(table, options, progress)
    is_complete = True
    if arguments.text_only:
        blind = _ask_blind(arguments, table)
        notices = (*statistics.notices, *blind.notices)
        statistics = msgspec.structs.replace(statistics, blind=blind.scores, notices=notices)
        is_complete = blind.complete
    figures: list[Path] = []
    if arguments.figures:
        from snellen.curate.statistics.figures import save_figures

        figures = save_figures(statistics, arguments.out)

    def print_text() -> None:
        print_result(arguments.format or TABLE, statistics, print_statistics, STATISTICS_EXPORTS)
        for path in figures:
            print_line(f"figure: {path}", error=bool(arguments.format))

    status: Status = "flagged" if any(findings(statistics)) else "clean"
    return Finished(status if is_complete else "incomplete", statistics, print_text)


def _ask_blind(arguments: Namespace, table: ItemTable) -> BlindRuns:
    """Ask the models of --text-only; Ctrl-C says how the command goes on."""
    from snellen.curate.statistics.blind import ask_blind
    from snellen.engine.loop.run import RunInterrupted
    from snellen.report.console import Terminal

    try:
        return ask_blind(
            table,
            arguments.text_only,
            read_options(arguments, BlindOptions, out=arguments.out or DEFAULT_OUT),
            columns=arguments.columns,
            command=arguments.command_line,
        )
    except RunInterrupted as stopped:
        exit_interrupted(stopped.run, Terminal(stderr=True), arguments.command_line)


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
