"""`snellen compare`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import add_common, add_format, add_json, add_runs, open_runs, percent
from snellen.cli.printing import print_result
from snellen.core.errors import UsageError


def add(parser: ArgumentParser) -> None:
    """Declare the arguments of `snellen compare`."""
    add_runs(parser)
    add_common(parser, "compare")
    parser.add_argument(
        "--siblings", action="store_true",
        help="compare runs on a data set with runs on its translations, sample by sample: those of "
            "one id are one question",
    )  # fmt: skip
    parser.add_argument(
        "--baseline", action="store_true",
        help="compare every run only with the first, instead of every pair",
    )  # fmt: skip
    parser.add_argument("--level", type=percent, default=95, metavar="PERCENT",
                        help="confidence of the intervals (default: 95)")  # fmt: skip
    parser.add_argument(
        "--power", type=percent, default=80, metavar="PERCENT",
        help="power for the smallest detectable difference and the samples needed "
            "(default: 80)",
    )  # fmt: skip
    parser.add_argument(
        "--margin", type=float, metavar="POINTS",
        help="also test whether runs are worse than each other by at most this many "
            "points",
    )  # fmt: skip
    add_format(parser, "json", "markdown")
    add_json(parser)


def main(arguments: Namespace) -> int:
    """Print the differences, tests and ranks of runs."""
    from snellen.analysis.comparison.paired import compare
    from snellen.report.terminal.comparison import (
        COMPARISON_EXPORTS,
        comparison_names,
        print_comparison,
    )

    if not 50 <= arguments.level < 100 or not 50 <= arguments.power < 100:
        raise UsageError(
            f"--level {arguments.level:g} and --power {arguments.power:g}: expected percentages "
            "from 50 to below 100"
        )
    runs = open_runs(arguments, arguments.runs)
    comparison = compare(
        runs,
        comparison_names(runs, shared_limit=False, siblings=arguments.siblings),
        common=arguments.common,
        baseline=arguments.baseline,
        level=arguments.level / 100,
        power=arguments.power / 100,
        margin=arguments.margin,
        siblings=arguments.siblings,
    )
    form = "json" if arguments.json else arguments.format
    print_result(form, comparison, print_comparison, COMPARISON_EXPORTS)
    return COMPLETE
