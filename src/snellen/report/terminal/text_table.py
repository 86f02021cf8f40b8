"""Tables of formatted cells, until every command prints a `Document`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.report.markdown import literal, table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


class TextTable(NamedTuple):
    """A table of formatted cells; the first `text_columns` columns hold texts, the others
    numbers."""

    title: str
    text_columns: int
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


_MOST_OF_A_WORD = 20
"""Characters of a long word that a narrow console keeps on one line."""
_GAP = 3
"""Columns of the terminal between two columns of a table."""


def print_table(text_table: TextTable, console: Console) -> None:
    """Print a table without its title. Words are folded in a narrow console, never cut; if that is
    not enough, the last numbers are left out, and a line names them."""
    from rich.text import Text

    fitting, left_out = _fit_columns(text_table, console.width)
    console.print(rich_table(fitting))
    if left_out:
        line = f"not shown, for want of width: {', '.join(left_out)}"
        console.print(Text(line, style="dim"), soft_wrap=True)


def _fit_columns(text_table: TextTable, width: int) -> tuple[TextTable, Sequence[str]]:
    """The table with as many of its columns as fit, one of numbers at least, and the headings of
    the others."""
    widths = _least_widths(text_table)
    count = len(widths)
    while count > text_table.text_columns + 1 and sum(widths[:count]) + _GAP * (count - 1) > width:
        count -= 1
    rows = [row[:count] for row in text_table.rows]
    fitting = text_table._replace(headings=text_table.headings[:count], rows=rows)
    return fitting, text_table.headings[count:]


def _least_widths(text_table: TextTable) -> list[int]:
    """The least width of each column: its longest word, or its longest number."""
    columns = zip(text_table.headings, *text_table.rows, strict=True)
    return [
        _longest_word(cells) if index < text_table.text_columns else max(map(len, cells))
        for index, cells in enumerate(columns)
    ]


def _longest_word(cells: Sequence[str]) -> int:
    longest = max((len(word) for cell in cells for word in cell.split()), default=1)
    return min(longest, _MOST_OF_A_WORD)


def rich_table(text_table: TextTable) -> Table:
    """Convert a table for the terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="", show_edge=False
    )
    widths = _least_widths(text_table)
    for column, heading in enumerate(text_table.headings):
        words = column < text_table.text_columns
        table.add_column(
            Text(heading),
            justify="left" if words else "right",
            no_wrap=not words,
            min_width=widths[column] if words else None,
            overflow="fold",
        )
    for row in text_table.rows:
        table.add_row(*map(Text, row))
    return table


def markdown_lines(text_table: TextTable) -> Iterator[str]:
    """The lines of a table in Markdown."""
    if text_table.title:
        yield f"**{literal(text_table.title)}**"
        yield ""
    yield from table(
        text_table.headings,
        text_table.rows,
        right=range(text_table.text_columns, len(text_table.headings)),
    )
