"""Documents on a terminal. Numbers are never cut and names are folded last: where a table is too
wide, its optional columns are left out, and the others continue in further tables below."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.terminal_text import escape_controls
from snellen.report.console import Terminal
from snellen.report.document import Document, EmptyLine, Line, Table, cell_texts

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

FILE_WIDTH = 120
"""Characters of a line in a file."""
WIDE = 100
"""From this width on, model names are not broken after a slash."""
_GAP = 3
"""Characters between two columns."""
_MAX_UNBROKEN = 28
"""Texts of a column up to this length are not folded."""
_FOLDED = 20
"""The least width of a column of longer texts."""
_MAX_PADDED = 40
"""Longer texts of a table of lines do not move the columns behind them."""
_STYLES = {"plain": "", "heading": "bold", "notice": "yellow", "note": "dim"}


class _Texts(NamedTuple):
    """A table, or some of its columns, as texts."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    are_numbers: Sequence[bool]

    def pick(self, columns: Sequence[int]) -> _Texts:
        return _Texts(
            [self.headings[column] for column in columns],
            [[row[column] for column in columns] for row in self.rows],
            [self.are_numbers[column] for column in columns],
        )

    def least_width(self, column: int) -> int:
        """The characters that a column needs; long texts can be folded."""
        cells = [self.headings[column], *(row[column] for row in self.rows)]
        longest = max(len(line) for cell in cells for line in cell.split("\n"))
        is_folded = not self.are_numbers[column] and longest > _MAX_UNBROKEN
        return _FOLDED if is_folded else longest


def write(document: Document) -> str:
    """The document as text without colours."""
    console = Terminal(record=True, file=io.StringIO(), width=FILE_WIDTH)
    print_document(document, console)
    return console.export_text()


def print_document(document: Document, console: Console | None = None) -> None:
    """Print a document; plain text if the console is not a terminal."""
    console = console or Terminal()
    for block in document.blocks:
        if isinstance(block, Table):
            _print_table(block, console)
        elif isinstance(block, Line):
            console.print(_styled_line(block), soft_wrap=block.is_unbroken)
        elif isinstance(block, EmptyLine):
            console.print()
        else:
            for line in block.lines:
                console.print(_text(line), soft_wrap=True)


def _styled_line(line: Line) -> Text:
    mark = "! " if line.style == "notice" else ""
    text = _text(f"{mark}{line.text}", _STYLES[line.style])
    if line.detail:
        text.append(f"  {line.detail}", style="not bold dim")
    return text


def _text(text: str, style: str = "") -> Text:
    """A text whose brackets and colons are not markup."""
    from rich.text import Text

    return Text(text, style=style)


def _print_table(table: Table, console: Console) -> None:
    if table.on_terminal == "left out":
        return
    if table.title and table.on_terminal == "whole":
        console.print(_text(table.title, "bold"))
    if table.on_terminal == "lines":
        for line in _row_lines(table):
            console.print(_text(line), soft_wrap=True)
    else:
        _print_grid(table, console)
    for note in table.notes:
        console.print(_text(note, "dim"))


def _row_lines(table: Table) -> Iterator[str]:
    """The rows as lines, all columns but the last padded."""
    rows = [list(map(escape_controls, row)) for row in cell_texts(table)]
    widths = [
        max((len(text) for text in cells if len(text) <= _MAX_PADDED), default=0) for cells in zip(*rows, strict=True)
    ]
    for row in rows:
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _print_grid(table: Table, console: Console) -> None:
    omitted: list[str] = []
    for index, part in enumerate(_parts(table, console.width, omitted)):
        if index:
            console.print()
        console.print(_rich_table(part, table.baselines, console.width))
    if omitted:
        line = f"not shown, for want of width: {', '.join(omitted)}"
        console.print(_text(line, "dim"), soft_wrap=True)


def _parts(table: Table, width: int, omitted: list[str]) -> Iterator[_Texts]:
    """The table, or several with some of its columns of numbers each: the texts that it begins with
    are in all of them. The headings of columns that are left out are appended to `omitted`."""
    texts = _as_texts(table, width)
    widths = [texts.least_width(column) for column in range(len(texts.headings))]
    kept = list(range(len(widths)))
    for column in reversed(range(len(widths))):
        if table.columns[column].is_optional and _total(widths, kept) > width:
            kept.remove(column)
            omitted.insert(0, table.columns[column].name)
    first = next((at for at, one in enumerate(kept) if texts.are_numbers[one]), len(kept))
    head, rest = kept[:first], kept[first:]
    while rest:
        count = 1
        while count < len(rest) and _total(widths, head + rest[: count + 1]) <= width:
            count += 1
        yield texts.pick(head + rest[:count])
        rest = rest[count:]
    if first == len(kept):
        yield texts.pick(head)


def _total(widths: Sequence[int], columns: Sequence[int]) -> int:
    return sum(widths[column] for column in columns) + _GAP * (len(columns) - 1)


def _as_texts(table: Table, width: int) -> _Texts:
    """Control characters become visible before the widths of columns are measured."""
    names = [column.kind == "name" for column in table.columns]
    rows = [
        [
            _broken_name(escape_controls(text), width) if is_name else escape_controls(text)
            for text, is_name in zip(row, names, strict=True)
        ]
        for row in cell_texts(table)
    ]
    headings = [_broken_name(escape_controls(column.name), width) for column in table.columns]
    return _Texts(headings, rows, [column.is_number for column in table.columns])


def _rich_table(texts: _Texts, baselines: int, width: int) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable

    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="", show_edge=False)
    widths = [texts.least_width(column) for column in range(len(texts.headings))]
    numbers = [one for one, is_number in zip(widths, texts.are_numbers, strict=True) if is_number]
    # What numbers leave to each column of texts.
    share = (width - sum(numbers) - _GAP * (len(widths) - 1)) // max(1, len(widths) - len(numbers))
    for column, heading in enumerate(texts.headings):
        is_number = texts.are_numbers[column]
        least = widths[column] if is_number else max(1, min(widths[column], share))
        table.add_column(
            _text(heading),
            justify="right" if is_number else "left",
            no_wrap=is_number,
            min_width=least,
            overflow="fold",
        )
    first_baseline = len(texts.rows) - baselines
    for index, row in enumerate(texts.rows):
        table.add_row(*map(_text, row), style="dim" if index >= first_baseline else None)
    return table


def _broken_name(name: str, width: int) -> str:
    """A model name, broken after its last slash if the terminal is narrow."""
    if width >= WIDE or len(name) <= _MAX_UNBROKEN or "/" not in name:
        return name
    head, bracket, apart = name.partition(" (")
    if bracket:
        return f"{head}\n({apart}"
    head, _, tail = name.rpartition("/")
    return f"{head}/\n{tail}"
