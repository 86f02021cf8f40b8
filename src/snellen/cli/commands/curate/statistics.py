"""`snellen curate statistics DATA`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from snellen.api.options import VARIANT_FLAGS
from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.flags import add_flag, add_format, add_json, add_options, read_options
from snellen.cli.printing import exit_interrupted, print_line, print_result
from snellen.core.errors import UsageError
from snellen.curate.statistics.options import BlindOptions, StatisticsOptions

if TYPE_CHECKING:
    from snellen.curate.items import ItemTable
    from snellen.curate.statistics.blind import BlindRuns


def add(parser: ArgumentParser) -> None:
    """Declare the arguments of `snellen curate statistics`."""
    parser.add_argument(
        "data",
        metavar="DATA",
        help="a benchmark, a data file, a data set folder or a folder of pictures",
    )
    add_flag(parser, VARIANT_FLAGS["columns"])
    parser.add_argument(
        "--by", action="append", metavar="COLUMN",
        help="group by this column; repeat for several (default: the groups, source and licence "
            "of the data)",
    )  # fmt: skip
    parser.add_argument("--no-media", action="store_true",
                        help="do not read the headers of images and videos")  # fmt: skip
    parser.add_argument(
        "--probe", type=int, default=20_000, metavar="N",
        help="train the text probe on at most N closed questions; 0 for none (default: 20000)",
    )  # fmt: skip
    parser.add_argument("--figures", metavar="DIR",
                        help="draw the figures into this folder, as SVG")  # fmt: skip
    add_format(parser, "json", "csv", "markdown", "latex")
    add_json(parser)
    parser.add_argument(
        "--text-only", nargs="+", action="extend", default=[], metavar="MODEL",
        help="models that are asked without the pictures, or stored runs with --control blind, by "
            "their folders",
    )  # fmt: skip
    add_options(parser, BlindOptions)


def main(arguments: Namespace) -> int:
    """Print the statistics of a data set; 1 if a model of --text-only left questions unanswered."""
    import msgspec

    from snellen.curate.items import open_items
    from snellen.curate.statistics.measuring import measure_data
    from snellen.curate.statistics.statistics_tables import STATISTICS_EXPORTS, print_statistics

    if arguments.probe < 0:
        raise UsageError(f"--probe is {arguments.probe}; expected a number of questions, or 0")
    table = open_items(arguments.data, arguments.columns)
    options = StatisticsOptions(
        by=arguments.by, read_media=not arguments.no_media, probe=arguments.probe
    )
    with _progress_bar(arguments.data) as progress:
        statistics = measure_data(table, options, progress)
    code = COMPLETE
    if arguments.text_only:
        blind = _ask_blind(arguments, table)
        notices = (*statistics.notices, *blind.notices)
        statistics = msgspec.structs.replace(statistics, blind=blind.scores, notices=notices)
        code = COMPLETE if blind.complete else INCOMPLETE
    form = "json" if arguments.json else arguments.format
    print_result(form, statistics, print_statistics, STATISTICS_EXPORTS)
    if arguments.figures:
        from snellen.curate.statistics.figures import save_figures

        for path in save_figures(statistics, arguments.figures):
            print_line(f"figure: {path}", error=form != "table")
    return code


def _ask_blind(arguments: Namespace, table: ItemTable) -> BlindRuns:
    """Ask the models of --text-only; Ctrl-C says how the command goes on."""
    from snellen.curate.statistics.blind import ask_blind
    from snellen.engine.loop.run import RunInterrupted
    from snellen.report.console import Terminal

    try:
        return ask_blind(
            table,
            arguments.text_only,
            read_options(arguments, BlindOptions),
            columns=arguments.columns,
            command=arguments.command_line,
        )
    except RunInterrupted as stopped:
        exit_interrupted(stopped.run, Terminal(stderr=True), arguments.command_line)


@contextmanager
def _progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error where that is a terminal."""
    from rich.progress import Progress

    from snellen.report.console import Terminal

    console = Terminal(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bars:
        task = bars.add_task(what, total=None)

        def progress(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)

        yield progress
