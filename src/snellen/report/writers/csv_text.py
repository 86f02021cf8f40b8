"""Documents as CSV, with full precision. Texts that a spreadsheet would read as formulas get an
apostrophe in front."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from snellen.core.csv_cells import text_cells
from snellen.core.summary import Interval
from snellen.report.document import Cell, Column, Document, IntervalEstimate, Table, check_table

_ENDS = ("low", "high")
TABLE_COLUMN = "table"
"""The first column where a document has several tables: the title of the row's table."""


def write(document: Document) -> str:
    """The document's records, or its tables: of several, a column says whose row it is, and a table
    without a column has empty cells there. Of a document without a table, its lines."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    records = document.records
    if records is not None and not isinstance(records, Table):
        records = records()
    tables = document.tables if records is None else [records]
    if not tables:
        tables = [Table("", (Column("text"),), [(line.text,) for line in document.lines()])]
    parts = [(table.title, _rows(table)) for table in tables]
    header = list(dict.fromkeys(name for _, rows in parts for name in rows[0]))
    titled = len(parts) > 1
    writer.writerow([TABLE_COLUMN, *header] if titled else header)
    for title, (names, *rows) in parts:
        for row in rows:
            cells = dict(zip(names, row, strict=True))
            line = text_cells(cells.get(name, "") for name in header)
            writer.writerow([*text_cells([title]), *line] if titled else line)
    return file.getvalue()


def _rows(table: Table) -> list[list[object]]:
    """The header, then the rows; an interval becomes two columns."""
    check_table(table)
    spread = [_spread(column, [row[index] for row in table.rows]) for index, column in enumerate(table.columns)]
    header: list[object] = [name for names, _ in spread for name in names]
    rows = zip(*(values for _, values in spread), strict=True)
    return [header, *([value for values in row for value in values] for row in rows)]


def _spread(column: Column, cells: Sequence[Cell]) -> tuple[list[str], list[list[object]]]:
    """The columns of CSV that a column becomes, and their values in each row."""
    has_value = any(not isinstance(cell, Interval | None) and cell != "" for cell in cells)
    has_value = has_value or not cells
    has_ends = any(isinstance(cell, Interval) or _interval(cell) for cell in cells)
    if not has_ends:
        return [column.name], [[_plain(cell)] for cell in cells]
    ends = [f"{column.name} {end}" for end in _ENDS]
    names = [column.name, *ends] if has_value else ends
    return names, [list(_values(cell, has_value)) for cell in cells]


def _values(cell: Cell, has_value: bool) -> Iterator[object]:
    if has_value:
        yield _plain(cell.value if isinstance(cell, IntervalEstimate) else cell)
    interval = cell if isinstance(cell, Interval) else _interval(cell)
    yield from ("", "") if interval is None else (interval.low, interval.high)


def _interval(cell: Cell) -> Interval | None:
    return cell.interval if isinstance(cell, IntervalEstimate) else None


def _plain(cell: Cell) -> object:
    return "" if cell is None or isinstance(cell, Interval) else cell
