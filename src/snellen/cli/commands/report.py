"""`snellen report`."""

from __future__ import annotations

import io
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from snellen.api.options import SourceOptions
from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.flags import add_format, add_runs, open_runs, read_options
from snellen.cli.printing import TABLE, print_line, print_result
from snellen.core.atomic_write import save
from snellen.core.run import Report
from snellen.store.runs import RunFolder

RunReports = list[tuple[RunFolder, Report]]


FORMATS = ("json", "csv", "markdown", "latex", "html")


def add(parser: ArgumentParser) -> None:
    add_runs(parser)
    add_format(parser, *FORMATS)
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file")


def main(arguments: Namespace) -> int:
    from snellen.api import report_of

    runs = [
        (run, report_of(run))
        for run in open_runs(arguments.runs, read_options(arguments, SourceOptions))
    ]
    if arguments.format == "html":
        print_line(_write_page(runs, arguments.output, arguments.data))
    elif arguments.output is None:
        _print_reports([report for _, report in runs], arguments.format)
        if arguments.format == TABLE:
            _print_reasons([run for run, _ in runs])
    else:
        save(Path(arguments.output), _render_text([report for _, report in runs], arguments.format))
    return COMPLETE if all(run.info.status == "complete" for run, _ in runs) else INCOMPLETE


def _print_reports(reports: list[Report], form: str) -> None:
    from snellen.report.export import EXPORTS
    from snellen.report.terminal.table import print_runs

    print_result(form, reports, print_runs, EXPORTS)


def _print_reasons(runs: list[RunFolder]) -> None:
    """Print why samples failed, and gains by images, thinking or examples if the runs have them."""
    from snellen.analysis.causes.gains import gains
    from snellen.report.console import Terminal
    from snellen.report.terminal.gains import print_gains
    from snellen.report.terminal.table import print_failures

    print_failures(runs, Terminal())
    print_gains(gains(runs), Terminal())


def _render_text(reports: list[Report], form: str) -> str:
    if form == TABLE:
        from snellen.report.console import Terminal
        from snellen.report.terminal.table import print_runs

        console = Terminal(record=True, file=io.StringIO(), width=120)
        print_runs(reports, console)
        return console.export_text()
    from snellen.report.export import EXPORTS

    return EXPORTS[form](reports)


def _write_page(runs: RunReports, output: str | None, moved: Sequence[str]) -> Path:
    from snellen.api.report_page import write_missing_images
    from snellen.report.page.html import write_html, write_overview

    if len(runs) == 1:
        run, report = runs[0]
        if problem := write_missing_images(run, moved):
            print_line(f"snellen: the page shows no pictures: {problem}", error=True)
        return write_html(run, Path(output) if output else None, report)
    return write_overview(runs, Path(output) if output else runs[0][0].path.parent / "report.html")
