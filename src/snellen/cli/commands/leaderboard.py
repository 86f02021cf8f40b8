"""`snellen leaderboard`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.options import SourceOptions
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import (
    FILTER,
    RUNS,
    add_format,
    add_options,
    add_plot,
    open_runs,
    read_options,
)
from snellen.cli.printing import print_result
from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from snellen.benchmarks.abilities.mme.boards import PrintedScores

_TABLE_SUFFIXES = (".csv", ".tsv")


def add(parser: ArgumentParser) -> None:
    parser.add_argument(
        "sources", nargs="*", metavar="SOURCE",
        help=f"{RUNS}, or a CSV of MME numbers (model, subtask, acc, acc_plus)",
    )  # fmt: skip
    add_options(parser, SourceOptions)
    parser.add_argument(
        "--suite", metavar="SUITE",
        help="one table with the average over a suite, e.g. openvlm-core, or over your "
            "own TOML file",
    )  # fmt: skip
    parser.add_argument(
        "--with", action="append", default=[], metavar="FILE.csv", dest="results",
        help="published results for --suite: the columns model, member, value",
    )  # fmt: skip
    parser.add_argument("--top", type=int, default=10, metavar="N", help="rows of each leaderboard")
    parser.add_argument("--filter", metavar="FILTER", help=f"only {FILTER}")
    add_plot(parser, "the boards too")
    add_format(parser, "json", "csv", "markdown", "latex", "html")


def main(arguments: Namespace) -> int:
    """Print the leaderboards of runs and printed scores, or the table of a suite."""
    from snellen.api import report_of
    from snellen.report.leaderboard_export import EXPORTS
    from snellen.report.terminal.leaderboards import print_leaderboards, rank_comparable_runs

    if arguments.top < 1:
        raise UsageError(f"--top is {arguments.top}; expected at least 1 place")
    if arguments.suite is not None:
        return _print_suite(arguments)
    if not arguments.sources:
        raise UsageError("no sources; give run folders, a folder of runs or a CSV of numbers")
    files = [path for path in arguments.sources if _is_table(path, arguments.benchmark)]
    folders = [path for path in arguments.sources if path not in files]
    tables = _printed_scores(files)
    runs = open_runs(folders, read_options(arguments, SourceOptions))
    if arguments.filter:
        from snellen.models.naming.filters import model_filter

        fits = model_filter(arguments.filter)
        runs = [run for run in runs if fits(run.info.model)]
        tables = [
            table._replace(scores={name: row for name, row in table.scores.items() if fits(name)})
            for table in tables
        ]
        if not runs and not any(any(table.scores.values()) for table in tables):
            raise UsageError(
                f"no model here fulfils --filter {arguments.filter!r}; a model that is not in the "
                "catalog fulfils no filter"
            )
    standings = rank_comparable_runs(runs, [report_of(run) for run in runs], tables, arguments.top)
    if arguments.output is not None:
        from snellen.report.plots.figure import save_plot
        from snellen.report.plots.ranks import leaderboard_plot

        sheets = {standing.title: standing.boards for standing in standings}
        save_plot(leaderboard_plot(sheets), Path(arguments.output))
    print_result(arguments.format, standings, print_leaderboards, EXPORTS)
    return COMPLETE


def _printed_scores(files: Sequence[str]) -> list[PrintedScores]:
    if not files:
        return []
    from snellen.benchmarks.abilities.mme.boards import parse_printed_scores
    from snellen.data.tables.open_table import open_table

    return [parse_printed_scores(open_table(path)) for path in files]


def _is_table(path: str, benchmark: str | None) -> bool:
    """Whether a source is a table of numbers, not predictions of a benchmark."""
    from snellen.api.run_sources import holds_replies

    return (
        benchmark is None
        and Path(path).suffix.lower() in _TABLE_SUFFIXES
        and not holds_replies(path)
    )


def _print_suite(arguments: Namespace) -> int:
    """Print the table of a suite, from runs and from results of elsewhere."""
    from snellen.api import report_of
    from snellen.benchmarks.declaration.registry import find_suite
    from snellen.data.tables.open_table import open_table
    from snellen.report.terminal.suites import (
        SUITE_EXPORTS,
        print_suite,
        read_imported_scores,
        suite_table,
    )

    results = [
        result for file in arguments.results for result in read_imported_scores(open_table(file))
    ]
    runs = open_runs(arguments.sources, read_options(arguments, SourceOptions))
    if arguments.filter:
        from snellen.models.naming.filters import model_filter

        fits = model_filter(arguments.filter)
        runs = [run for run in runs if fits(run.info.model)]
        results = [result for result in results if fits(result.model)]
    reports = [report_of(run) for run in runs]
    table = suite_table(find_suite(arguments.suite), runs, reports, results)
    if not table.rows:
        raise UsageError(
            f"nothing of the suite {arguments.suite} is there; run it with -b {arguments.suite}, "
            "or give results of elsewhere by --with FILE.csv (model,member,value)"
        )
    print_result(arguments.format, table, print_suite, SUITE_EXPORTS)
    return COMPLETE
