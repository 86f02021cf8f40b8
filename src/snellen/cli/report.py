"""`snellen report`."""

from __future__ import annotations

import io
import sys
from argparse import Namespace
from pathlib import Path

from snellen.cli.main import COMPLETE, INCOMPLETE
from snellen.core.errors import StorageError
from snellen.core.run import Report
from snellen.store.runs import RunFolder, distinct_runs

Reported = list[tuple[RunFolder, Report]]


def main(arguments: Namespace) -> int:
    from snellen.api import report_of

    runs = [(run, report_of(run)) for run in distinct_runs(arguments.runs)]
    if arguments.format == "html":
        print(_page(runs, arguments.output))
    elif arguments.output is None:
        _show([report for _, report in runs], arguments.format)
        if arguments.format == "table":
            _gains([run for run, _ in runs])
    else:
        _save(_text([report for _, report in runs], arguments.format), Path(arguments.output))
    return COMPLETE if all(run.info.status == "complete" for run, _ in runs) else INCOMPLETE


def _show(reports: list[Report], form: str) -> None:
    if form != "table":
        sys.stdout.write(_text(reports, form))
        return
    from rich.console import Console

    from snellen.report.table import print_runs

    print_runs(reports, Console())


def _gains(runs: list[RunFolder]) -> None:
    """What the scores owe to pictures, thinking or examples, where runs tell it."""
    from rich.console import Console

    from snellen.analysis.gains import gains
    from snellen.report.gains_table import print_gains

    print_gains(gains(runs), Console())


def _text(reports: list[Report], form: str) -> str:
    if form == "table":
        from rich.console import Console

        from snellen.report.table import print_runs

        console = Console(record=True, file=io.StringIO(), width=120)
        print_runs(reports, console)
        return console.export_text()
    from snellen.report.export import EXPORTS

    return EXPORTS[form](reports)


def _save(text: str, path: Path) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error


def _page(runs: Reported, output: str | None) -> Path:
    from snellen.report.html import write_html, write_overview

    if len(runs) == 1:
        run, report = runs[0]
        return write_html(run, Path(output) if output else None, report)
    return write_overview(runs, Path(output) if output else runs[0][0].path.parent / "report.html")
