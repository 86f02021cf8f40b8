"""`snellen curate filter`."""

from __future__ import annotations

from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path

from snellen.cli.flags import read_options
from snellen.cli.printing import (
    TABLE,
    download_printer,
    exit_interrupted,
    line_printer,
    print_line,
    print_result,
)
from snellen.core.errors import UsageError
from snellen_curate.commands import Finished, read_fields
from snellen_curate.commands._table import Status
from snellen_curate.step_options import FilterOptions


def main(arguments: Namespace) -> Finished:
    """Flag items, ask what is missing, and print the tables."""
    from snellen.engine.loop.progress import NoProgress
    from snellen.engine.loop.run import RunInterrupted
    from snellen.report.console import Terminal
    from snellen.report.terminal.progress import show_progress
    from snellen_curate.filter.filtering import FilterRules, filter_items
    from snellen_curate.filter.model_runs import Reports
    from snellen_curate.filter.summary import filter_report
    from snellen_curate.step_report import print_report, report_markdown

    top = 20 if arguments.top is None else arguments.top
    if top < 1:
        raise UsageError(f"--top is {top}; expected at least 1")
    console = Terminal(stderr=True)
    rules = read_fields(
        arguments, FilterRules, rules=tuple(arguments.rule), pairs=not arguments.single
    )
    try:
        with nullcontext(NoProgress()) if arguments.quiet else show_progress(console) as progress:
            result = filter_items(
                arguments.data,
                arguments.out,
                text_only=arguments.text_only,
                vision=arguments.vision,
                runs=arguments.runs,
                rules=rules,
                options=read_options(arguments, FilterOptions),
                reports=Reports(
                    progress, line_printer(console), download_printer(console),
                    arguments.command_line,
                ),
            )  # fmt: skip
    except (RunInterrupted, KeyboardInterrupt):
        exit_interrupted(Path(arguments.out), console, arguments.command_line)
    is_asking = bool(arguments.text_only or arguments.vision)

    def print_text() -> None:
        print_result(
            arguments.format or TABLE, filter_report(result, top), print_report,
            {"markdown": report_markdown},
        )  # fmt: skip
        if result.undecided and not is_asking:
            print_line(
                "finish the runs that lack replies, or judge by those that are there: "
                f"--min-replies N, {result.undecided} undecided",
                error=True,
            )

    status: Status = "flagged" if result.flagged or result.problems else "clean"
    return Finished(
        "incomplete" if result.undecided else status,
        result,
        print_text,
        () if result.undecided and not is_asking else None,
    )
