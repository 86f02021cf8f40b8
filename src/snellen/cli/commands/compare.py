"""`snellen compare`."""

from __future__ import annotations

from argparse import Namespace

from snellen.cli.main import COMPLETE
from snellen.cli.printing import print_result
from snellen.core.errors import UsageError


def main(arguments: Namespace) -> int:
    from snellen.analysis.comparison.paired import compare
    from snellen.report.terminal.comparison import (
        COMPARISON_EXPORTS,
        comparison_names,
        print_comparison,
    )
    from snellen.store.runs import distinct_runs

    if not 50 <= arguments.level < 100 or not 50 <= arguments.power < 100:
        raise UsageError(
            f"--level {arguments.level:g} and --power {arguments.power:g}: expected percentages "
            "from 50 to below 100"
        )
    runs = distinct_runs(arguments.runs)
    comparison = compare(
        runs,
        comparison_names(runs, shared_limit=False),
        common=arguments.common,
        baseline=arguments.baseline,
        level=arguments.level / 100,
        power=arguments.power / 100,
        margin=arguments.margin,
    )
    form = "json" if arguments.json else arguments.format
    print_result(form, comparison, print_comparison, COMPARISON_EXPORTS)
    return COMPLETE
