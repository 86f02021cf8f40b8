"""`snellen leaderboard`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import FILTER, add_format, add_plot
from snellen.cli.printing import print_result
from snellen.core.errors import UsageError

_TABLE_SUFFIXES = (".csv", ".tsv")


def add(parser: ArgumentParser) -> None:
    parser.add_argument(
        "sources", nargs="*", metavar="SOURCE",
        help="run folders, a folder of runs, or a CSV of MME numbers (model, subtask, acc, "
        "acc_plus)",
    )  # fmt: skip
    parser.add_argument(
        "--suite", metavar="SUITE",
        help="one table with the average of a suite, e.g. openvlm-core, or of your own TOML file",
    )  # fmt: skip
    parser.add_argument(
        "--with", action="append", default=[], metavar="FILE.csv", dest="results",
        help="results of elsewhere for --suite: the columns model, member, value",
    )  # fmt: skip
    parser.add_argument("--top", type=int, default=10, metavar="N", help="places of a board")
    parser.add_argument("--filter", metavar="FILTER", help=f"only {FILTER}")
    add_plot(parser, "the boards too")
    add_format(parser, "json", "csv", "markdown", "html")


def main(arguments: Namespace) -> int:
    from snellen.api import report_of
    from snellen.benchmarks.mme.boards import parse_printed_scores
    from snellen.data.tables.open_table import open_table
    from snellen.report.leaderboard_export import EXPORTS
    from snellen.report.terminal.leaderboards import print_leaderboards, rank_comparable_runs
    from snellen.store.runs import distinct_runs

    if arguments.top < 1:
        raise UsageError(f"--top is {arguments.top}; expected at least 1 place")
    if arguments.suite is not None:
        return _print_suite(arguments)
    if not arguments.sources:
        raise UsageError("no sources; give run folders, a folder of runs or a CSV of numbers")
    files = [one for one in arguments.sources if Path(one).suffix.lower() in _TABLE_SUFFIXES]
    folders = [one for one in arguments.sources if one not in files]
    printed = [parse_printed_scores(open_table(one)) for one in files]
    runs = distinct_runs(folders)
    if arguments.filter:
        from snellen.models.naming.filters import model_filter

        fits = model_filter(arguments.filter)
        runs = [one for one in runs if fits(one.info.model)]
        printed = [
            one._replace(scores={name: found for name, found in one.scores.items() if fits(name)})
            for one in printed
        ]
        if not runs and not any(any(one.scores.values()) for one in printed):
            raise UsageError(
                f"no model here fulfils --filter {arguments.filter!r}; a model that is not in the "
                "catalog fulfils no filter"
            )
    found = rank_comparable_runs(runs, [report_of(run) for run in runs], printed, arguments.top)
    if arguments.output is not None:
        from snellen.report.plots.figure import save_plot
        from snellen.report.plots.ranks import leaderboard_plot

        sheets = {standing.title: standing.boards for standing in found}
        save_plot(leaderboard_plot(sheets), Path(arguments.output))
    print_result(arguments.format, found, print_leaderboards, EXPORTS)
    return COMPLETE


def _print_suite(arguments: Namespace) -> int:
    """The table of a suite, over runs and imported results."""
    from snellen.api import report_of
    from snellen.benchmarks.declaration.suites import find_suite
    from snellen.data.tables.open_table import open_table
    from snellen.report.terminal.suites import (
        SUITE_EXPORTS,
        print_suite,
        read_imported_scores,
        suite_table,
    )
    from snellen.store.runs import distinct_runs

    results = [one for file in arguments.results for one in read_imported_scores(open_table(file))]
    runs = distinct_runs(arguments.sources)
    if arguments.filter:
        from snellen.models.naming.filters import model_filter

        fits = model_filter(arguments.filter)
        runs = [one for one in runs if fits(one.info.model)]
        results = [one for one in results if fits(one.model)]
    reports = [report_of(run) for run in runs]
    found = suite_table(find_suite(arguments.suite), runs, reports, results)
    if not found.rows:
        raise UsageError(
            f"nothing of the suite {arguments.suite} is there; run it with -b {arguments.suite}, "
            "or give results of elsewhere by --with FILE.csv (model,member,value)"
        )
    print_result(arguments.format, found, print_suite, SUITE_EXPORTS)
    return COMPLETE
