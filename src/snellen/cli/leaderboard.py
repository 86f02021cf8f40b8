"""`snellen leaderboard`."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from snellen.cli.main import COMPLETE
from snellen.core.errors import UsageError

_PRINTED = (".csv", ".tsv")


def main(arguments: Namespace) -> int:
    from snellen.api import report_of
    from snellen.benchmarks.mme_boards import printed_scores
    from snellen.data.table import open_table
    from snellen.report.leaderboards import EXPORTS, print_standings, standings
    from snellen.store.runs import find_runs

    if arguments.top < 1:
        raise UsageError(f"--top is {arguments.top}; expected at least 1 place")
    files = [one for one in arguments.sources if Path(one).suffix.lower() in _PRINTED]
    folders = [one for one in arguments.sources if one not in files]
    printed = [printed_scores(open_table(one)) for one in files]
    reports = [report_of(run) for one in folders for run in find_runs(one)]
    found = standings(reports, printed, arguments.top)
    if arguments.format == "table":
        from rich.console import Console

        print_standings(found, Console())
    else:
        text = EXPORTS[arguments.format](found)
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
    return COMPLETE
