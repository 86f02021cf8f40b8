"""Tables of formatted cells, until all commands print a `Document`."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from snellen.core.terminal_text import escape_controls
from snellen.report.result_tables import ResultTable, fitting_tables

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDE = 100
"""From this width on, model names are not broken."""


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
