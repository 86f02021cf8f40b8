"""What a step found, for people: notices, sentences and tables, on the terminal, as Markdown and as
LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.report.latex import latex_comments, latex_table
from snellen.report.markdown import bullets, literal, table
from snellen.report.result_tables import ResultTable

if TYPE_CHECKING:
    from rich.console import Console


class StepReport(NamedTuple):
    """What a step found."""

    notices: Sequence[str]
    """What is to be known or looked at first."""
    lines: Sequence[str]
    tables: Sequence[ResultTable]
    legend: str = ""
    """What the columns mean."""


def print_report(report: StepReport, console: Console) -> None:
    """Print a report; tables in parts where the terminal is narrow."""
    from rich.text import Text

    from snellen.report.terminal.table import print_result

    for notice in report.notices:
        console.print(Text(f"! {notice}", style="yellow"), soft_wrap=True)
    for line in report.lines:
        console.print(Text(line), soft_wrap=True)
    for each in report.tables:
        console.print()
        console.print(Text(each.title, style="bold"), soft_wrap=True)
        print_result(each, console)
    if report.legend:
        console.print()
        console.print(Text(report.legend), soft_wrap=True)


def report_markdown(report: StepReport) -> str:
    lines = [*bullets(report.notices), *report.lines]
    for each in report.tables:
        lines += ["", f"**{literal(each.title)}**", ""]
        lines += table(each.header, each.rows, right=each.number_columns)
    if report.legend:
        lines += ["", report.legend]
    return "\n".join(lines).lstrip("\n") + "\n"


def report_latex(report: StepReport) -> str:
    """A `table` for each table, with booktabs; everything else is comments."""
    lines = latex_comments((*report.notices, *report.lines))
    for each in report.tables:
        lines += ["", latex_table(each)]
    return "\n".join(lines).lstrip("\n") + "\n"
