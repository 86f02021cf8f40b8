"""`snellen report`."""

from __future__ import annotations

import io
import sys
from argparse import Namespace
from pathlib import Path

from snellen.cli.main import COMPLETE, INCOMPLETE
from snellen.core.run import Report
from snellen.store.runs import RunFolder, find_runs


def main(arguments: Namespace) -> int:
    runs = [run for path in arguments.runs for run in find_runs(path)]
    if arguments.format == "html":
        _pages(runs, arguments.output)
    elif arguments.format == "table" and arguments.output is None:
        from rich.console import Console

        from snellen.report.table import print_runs

        print_runs([run.report() for run in runs], Console())
    else:
        text = _exported([run.report() for run in runs], arguments.format)
        if arguments.output is None:
            sys.stdout.write(text)
        else:
            from snellen.core.errors import StorageError

            try:
                Path(arguments.output).write_text(text, encoding="utf-8")
            except OSError as error:
                raise StorageError(
                    f"cannot write {arguments.output}: {error.strerror or error}"
                ) from error
    return COMPLETE if all(run.info.status == "complete" for run in runs) else INCOMPLETE


def _exported(reports: list[Report], form: str) -> str:
    from snellen.report import export

    if form == "table":
        from rich.console import Console

        from snellen.report.table import print_runs

        console = Console(record=True, file=io.StringIO(), width=120)
        print_runs(reports, console)
        return console.export_text()
    return export.EXPORTS[form](reports)


def _pages(runs: list[RunFolder], output: str | None) -> None:
    from snellen.report.html import write_html, write_overview

    if len(runs) == 1:
        print(write_html(runs[0], Path(output) if output else None))
    else:
        print(write_overview(runs, Path(output) if output else runs[0].path.parent / "report.html"))
