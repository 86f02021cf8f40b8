"""Tables of runs for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from snellen.analysis.comparison.data_differences import different_data_notices
from snellen.core.output import Failure
from snellen.core.record import Record, every_pass
from snellen.core.run import Report
from snellen.core.terminal_text import escape_controls
from snellen.report import format as fmt
from snellen.report.terminal.repeats import draw_lines
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


MAX_MESSAGES = 3
"""Messages printed for a run; the others are only counted."""


def print_failures(runs: Sequence[RunFolder], console: Console) -> None:
    """Print the most frequent failure messages of each run; nothing without failures."""
    from rich.text import Text

    for run in runs:
        whose = f"{run.info.model} on {run.info.benchmark}: " if len(runs) > 1 else ""
        for line in failure_lines(run.failures()):
            console.print(Text(f"{whose}{line}", style="yellow"))


def failure_lines(records: Iterable[Record]) -> Iterator[str]:
    """The number of samples with each failure message, the most frequent first."""
    counts = Counter(message for record in records if (message := _message(record)))
    for message, samples in counts.most_common(MAX_MESSAGES):
        yield f"{fmt.plural(samples, 'sample')} failed: {message}"
    others = sum(counts.values()) - sum(samples for _, samples in counts.most_common(MAX_MESSAGES))
    if others:
        yield f"{fmt.plural(others, 'sample')} failed for other reasons: snellen view tells them"


def _message(record: Record) -> str:
    outputs = (each_pass.output for each_pass in every_pass(record))
    return next((output.message for output in outputs if isinstance(output, Failure)), "")


WIDE = 100
"""From this width on, model names are not broken."""


_SHORT = {"by_rules": "no LLM", "vanilla": "vanilla"}
"""Column heads of metrics next to the score."""


def print_runs(runs: Sequence[Report], console: Console | None = None) -> None:
    """Print the notices, then (for several models and benchmarks) models by benchmarks, then a
    table for each benchmark and headline with a row for each run. Plain text if the console is not
    a terminal; designed for 80 columns and more."""
    from snellen.report.console import Terminal

    console = console or Terminal()
    _print_notices(runs, console)
    models = list(dict.fromkeys(report.run.model for report in runs))
    boards = _boards(runs)
    benchmarks = list(dict.fromkeys(report.run.benchmark for report in runs))
    if len(models) > 1 and len(benchmarks) > 1:
        console.print(_pivot(runs, models, benchmarks, console))
        console.print()
    for index, board in enumerate(boards):
        if index:
            console.print()
        _print_board(board, console)
    if len(runs) == 1:
        _print_groups(runs[0], console)


def _boards(runs: Sequence[Report]) -> list[list[Report]]:
    """The runs by table: a table has one benchmark and one headline."""
    boards: dict[tuple[str, str], list[Report]] = {}
    for index in fmt.table_order([report.run for report in runs]):
        report = runs[index]
        key = (report.run.benchmark, report.summary.headline.name)
        boards.setdefault(key, []).append(report)
    return list(boards.values())


def _print_notices(runs: Sequence[Report], console: Console) -> None:
    from rich.text import Text

    for report in runs:
        name = f"{report.run.model} on {report.run.benchmark}: " if len(runs) > 1 else ""
        for notice in fmt.notices(report, command=False):
            console.print(Text(f"! {name}{notice}", style="yellow"))
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
    console.print(_rows(board, console))
    for name, report in zip(fmt.run_labels(board), board, strict=True):
        counts = fmt.outcomes_text(report)
        if counts:
            whose = f"{name}: " if len(board) > 1 else ""
            console.print(Text(f"{whose}{counts}", style="dim"))
        for line in fmt.notable_usage(report.run):
            whose = f"{name}, " if len(board) > 1 else ""
            console.print(Text(f"{whose}{line}", style="dim"))
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


def _print_groups(report: Report, console: Console) -> None:
    """Print the score by group, in a table for each group column with more than one group."""
    for column, labels in report.summary.groups.items():
        if len(labels) < 2:
            continue
        table = _table(fmt.display_name(column), "score", "interval", "n")
        for label, metric in labels.items():
            row = (
                fmt.score_text(metric.value),
                fmt.interval_text(metric.interval),
                fmt.count_text(metric.n),
            )
            _add_row(table, fmt.display_name(label), *row)
        console.print()
        console.print(table)


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table of rows under these headings; the first column holds texts, the others numbers."""
    table = _table(*columns)
    for row in rows:
        _add_row(table, *row)
    return table


def _table(*columns: str) -> Table:
    """A table without rows; the first column holds texts, the others numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="", show_edge=False
    )
    table.add_column(Text(columns[0]), overflow="fold")
    for column in columns[1:]:
        table.add_column(Text(column), justify="right", no_wrap=True)
    return table


def _add_row(table: Table, *cells: str, style: str | None = None) -> None:
    """Add a row. Brackets and colons in names are not markup, and control characters become visible
    before the widths of columns are measured."""
    from rich.text import Text

    table.add_row(*(Text(escape_controls(cell)) for cell in cells), style=style)


def _rows(board: Sequence[Report], console: Console) -> Table:
    """The runs of one board with score, interval, secondary metrics and n, then baselines."""
    levels = dict.fromkeys(fmt.level_text(report.summary.headline.interval) for report in board)
    more = tuple(dict.fromkeys(name for report in board for name in report.summary.beside))
    columns = (
        "score",
        f"{' / '.join(levels)} interval",
        *(_SHORT.get(key, fmt.metric_label(key)) for key in more),
        "n",
    )
    table = _table("model", *columns)
    for name, report in zip(fmt.run_labels(board), board, strict=True):
        headline, metrics = report.summary.headline, report.summary.metrics
        _add_row(
            table,
            _model_lines(name, console.width),
            fmt.score_text(headline.value),
            fmt.interval_text(headline.interval),
            *(fmt.score_text(metrics[key].value) if key in metrics else "" for key in more),
            fmt.count_text(headline.n),
        )
    for name, value in _baselines(board):
        _add_row(table, name, value, style="dim")
    return table


def _baselines(board: Sequence[Report]) -> Iterator[tuple[str, str]]:
    """The baselines of the runs; one that differs between runs occurs with each of its values."""
    rows = {
        (fmt.metric_label(key), fmt.score_text(report.summary.metrics[key].value)): None
        for key in fmt.BASELINES
        for report in board
        if key in report.summary.metrics
    }
    yield from rows


def _model_lines(name: str, width: int) -> str:
    """A model name, broken after its last slash if the terminal is narrow."""
    if width >= WIDE or len(name) <= 28 or "/" not in name:
        return name
    head, bracket, apart = name.partition(" (")
    if bracket:
        return f"{head}\n({apart}"
    head, _, tail = name.rpartition("/")
    return f"{head}/\n{tail}"


def _pivot(
    runs: Sequence[Report], models: Sequence[str], benchmarks: Sequence[str], console: Console
) -> Table:
    """Models by benchmarks, or benchmarks by models if that is narrower. A later run of the same
    pair replaces an earlier one."""
    cells = {
        (report.run.model, report.run.benchmark): fmt.score_with_interval(report.summary.headline)
        for report in runs
    }
    if len(benchmarks) > len(models):
        table = _table("benchmark", *(_model_lines(model, console.width) for model in models))
        for benchmark in benchmarks:
            _add_row(table, benchmark, *(cells.get((model, benchmark), "") for model in models))
        return table
    table = _table("model", *benchmarks)
    for model in models:
        row = (cells.get((model, benchmark), "") for benchmark in benchmarks)
        _add_row(table, _model_lines(model, console.width), *row)
    return table
