"""Tables of runs for the terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from snellen.analysis.comparison.data_differences import different_data_notices, named_notices
from snellen.analysis.published.numbers import compare_with_published
from snellen.core.output import Failure
from snellen.core.record import Record, every_pass
from snellen.core.run import Report
from snellen.core.terminal_text import escape_controls
from snellen.report import format as fmt
from snellen.report.judge_notes import judges_note
from snellen.report.result_tables import (
    ResultTable,
    board_table,
    boards,
    fitting_tables,
    further_metrics,
    group_tables,
    results_matrix,
)
from snellen.report.terminal.repeats import draw_lines
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


_NAMED_PART = re.compile(r"\brow \d+|'[^']*'")
MAX_MESSAGES = 3
"""Messages printed for a run; the others are only counted."""


def print_failures(runs: Sequence[RunFolder], console: Console) -> None:
    """Print the most frequent failure messages of each run; nothing without failures."""
    from rich.text import Text

    for run in runs:
        model = fmt.model_name(run.info.model)
        whose = f"{model} on {run.info.benchmark}: " if len(runs) > 1 else ""
        for line in failure_lines(run.failures()):
            console.print(Text(f"{whose}{line}", style="yellow"))


def failure_lines(records: Iterable[Record]) -> Iterator[str]:
    """The number of samples with each reason to fail, the most frequent first. Messages that
    differ in a row or in a quoted name alone share theirs, of which the first is the example."""
    examples: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for record in records:
        message = _message(record)
        if message:
            reason = _NAMED_PART.sub("", message)
            counts[reason] += 1
            examples.setdefault(reason, message)
    for reason, samples in counts.most_common(MAX_MESSAGES):
        example = "e.g. " if samples > 1 and _NAMED_PART.search(examples[reason]) else ""
        yield f"{fmt.plural(samples, 'sample')} failed: {example}{examples[reason]}"
    others = sum(counts.values()) - sum(samples for _, samples in counts.most_common(MAX_MESSAGES))
    if others:
        yield f"{fmt.plural(others, 'sample')} failed for other reasons: snellen view lists them"


def _message(record: Record) -> str:
    outputs = (each_pass.output for each_pass in every_pass(record))
    return next((output.message for output in outputs if isinstance(output, Failure)), "")


WIDE = 100
"""From this width on, model names are not broken."""


def print_runs(
    runs: Sequence[Report], console: Console | None = None, *, judges_measured: bool = False
) -> None:
    """Print the notices, then (for several models and benchmarks) models by benchmarks, then a
    table for each benchmark and headline with a row for each run. Plain text if the console is not
    a terminal; designed for 80 columns and more. `judges_measured`: figures on the judges are
    printed beside it, so that nothing needs to be said of them."""
    from snellen.report.console import Terminal

    console = console or Terminal()
    _print_notices(runs, console)
    matrix = results_matrix(runs)
    if matrix is not None:
        print_result(matrix, console)
        console.print()
    for index, board in enumerate(boards(runs)):
        if index:
            console.print()
        _print_board(board, console)
    _print_estimand(runs, console)
    if not judges_measured and (sentence := judges_note(runs)):
        from rich.text import Text

        console.print(Text(sentence, style="dim"))
    if len(runs) == 1:
        _print_details(runs[0], console)


def _print_details(report: Report, console: Console) -> None:
    """Print the further metrics of a single run and its scores by group."""
    further = further_metrics(report)
    for result in (*([further] if further is not None else []), *group_tables([report])):
        console.print()
        print_result(result, console)


def _print_estimand(runs: Sequence[Report], console: Console) -> None:
    """Print what the intervals describe, if there are any."""
    from rich.text import Text

    if any(report.summary.headline.interval for report in runs):
        console.print(Text(f"intervals are for {fmt.ESTIMAND}", style="dim"))


def _print_notices(runs: Sequence[Report], console: Console) -> None:
    from rich.text import Text

    named = [
        (f"{fmt.model_name(report.run.model)} on {report.run.benchmark}", notice)
        for report in runs
        for notice in fmt.notices(report, command=False)
    ]
    for sentence in named_notices(named) if len(runs) > 1 else [notice for _, notice in named]:
        console.print(Text(f"! {sentence}", style="yellow"))
    for report in runs:
        if command := fmt.resume_command(report.run):
            # A separate unbroken line, so that it can be copied.
            console.print(Text(command), soft_wrap=True)
    for sentence in different_data_notices([report.run for report in runs]):
        console.print(Text(f"! {sentence}", style="yellow"))


def _print_board(board: Sequence[Report], console: Console) -> None:
    from rich.text import Text

    first = board[0]
    heading = Text(first.run.benchmark, style="bold")
    heading.append(f"  {fmt.metric_label(first.summary.headline.name)}", style="dim")
    console.print(heading)
    print_result(board_table(board), console)
    for name, report in zip(fmt.run_labels(board), board, strict=True):
        counts = fmt.outcomes_text(report)
        if counts:
            whose = f"{name}: " if len(board) > 1 else ""
            console.print(Text(f"{whose}{counts}", style="dim"))
        if saved := report.run.counts.saved:
            whose = f"{name}, " if len(board) > 1 else ""
            text = f"{whose}early stop: {fmt.plural(saved, 'request')} not needed"
            console.print(Text(text, style="dim"))
        for line in fmt.notable_usage(report.run):
            whose = f"{name}, " if len(board) > 1 else ""
            console.print(Text(f"{whose}{line}", style="dim"))
        for comparison in compare_with_published(report):
            whose = f"{name}: " if len(board) > 1 else ""
            console.print(Text(f"{whose}{comparison.sentence()}", style="dim"))
    _print_draws(board, console)


def _print_draws(board: Sequence[Report], console: Console) -> None:
    """Print the section on repeated sampling for each run that has one."""
    from rich.table import Table
    from rich.text import Text

    for name, report in zip(fmt.run_labels(board), board, strict=True):
        lines = draw_lines(report) if report.summary.draws is not None else []
        if not lines:
            continue
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
        for line in lines:
            table.add_row(Text(line.name), Text(line.value))
        console.print()
        if len(board) > 1:
            console.print(Text(name, style="bold"))
        console.print(table)


def print_result(result: ResultTable, console: Console) -> None:
    """Print a table of results, in parts if the console is too narrow for all of its columns."""
    for index, part in enumerate(fitting_tables(result, console.width)):
        if index:
            console.print()
        console.print(rich_table(part, console.width))


def rich_table(result: ResultTable, width: int) -> Table:
    """A table of results for a terminal of this width, baselines dimmed."""
    headings = [_model_lines(heading, width) for heading in result.header]
    table = _table(*headings, numbers=result.number_columns)
    first_baseline = len(result.rows) - result.baselines
    name_column = result.texts - 1
    for index, row in enumerate(result.rows):
        cells = list(row)
        cells[name_column] = _model_lines(cells[name_column], width)
        _add_row(table, *cells, style="dim" if index >= first_baseline else None)
    return table


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table of rows under these headings; the first column holds texts, the others numbers."""
    table = _table(*columns)
    for row in rows:
        _add_row(table, *row)
    return table


def _table(*columns: str, numbers: Container[int] | None = None) -> Table:
    """A table without rows; `numbers` are the columns with numbers, else all but the first."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="", show_edge=False
    )
    for index, column in enumerate(columns):
        if index in numbers if numbers is not None else index > 0:
            table.add_column(Text(column), justify="right", no_wrap=True)
        else:
            table.add_column(Text(column), overflow="fold")
    return table


def _add_row(table: Table, *cells: str, style: str | None = None) -> None:
    """Add a row. Brackets and colons in names are not markup, and control characters become visible
    before the widths of columns are measured."""
    from rich.text import Text

    table.add_row(*(Text(escape_controls(cell)) for cell in cells), style=style)


def _model_lines(name: str, width: int) -> str:
    """A model name, broken after its last slash if the terminal is narrow."""
    if width >= WIDE or len(name) <= 28 or "/" not in name:
        return name
    head, bracket, apart = name.partition(" (")
    if bracket:
        return f"{head}\n({apart}"
    head, _, tail = name.rpartition("/")
    return f"{head}/\n{tail}"
