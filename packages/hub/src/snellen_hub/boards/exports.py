"""Boards for other programs: JSON as they are, CSV and Parquet as one table of rows.

A row of CSV and Parquet is a model on a table of the page. A number has its own column, and further
ones for the ends of its interval, its samples and its mark, where any row has them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from snellen.core.csv_cells import text_cells
from snellen_hub.boards.tables import BoardColumn, BoardPage, BoardTable, TableRow

_PARTS = ("low", "high", "n", "mark", "note")
_TEXTS = ("mark", "note")
_LAST = ("submission", "source", "protocol")
_COUNT = "n"
"""Of samples: beside a number, or a column of its own, which then is not repeated."""


class ExportColumn(NamedTuple):
    """A column of a file."""

    name: str
    is_number: bool
    is_whole: bool = False

    def value(self, row: Mapping[str, Any]) -> Any:
        """None for a cell that is missing."""
        value = row.get(self.name)
        return int(value) if self.is_whole and isinstance(value, float) else value


def page_json(page: BoardPage) -> bytes:
    """The page as one JSON object; numbers are not rounded."""
    return msgspec.json.encode(page)


def page_csv(page: BoardPage) -> str:
    """The rows as CSV. Texts that a spreadsheet would run as a formula are marked as text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = export_columns(page)
    writer.writerow(column.name for column in columns)
    for row in _export_rows(page):
        writer.writerow(text_cells("" if (value := column.value(row)) is None else value for column in columns))
    return out.getvalue()


def page_parquet(page: BoardPage) -> bytes:
    """The rows as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, columns = list(_export_rows(page)), export_columns(page)
    kinds = [pa.string() if not each.is_number else pa.int64() if each.is_whole else pa.float64() for each in columns]
    arrays = [pa.array([column.value(row) for row in rows], kind) for column, kind in zip(columns, kinds, strict=True)]
    out = io.BytesIO()
    pq.write_table(pa.table(arrays, names=[column.name for column in columns]), out)
    return out.getvalue()


def export_columns(page: BoardPage) -> list[ExportColumn]:
    """The columns of CSV and Parquet, in their order."""
    columns = [ExportColumn("table", False)] if len(page.tables) > 1 else []
    columns.append(ExportColumn("model", False))
    known: dict[str, BoardColumn] = {}
    for table in page.tables:
        for column in table.columns:
            known.setdefault(column.key, column)
    filled = {name for row in _export_rows(page) for name in row}
    for key, column in known.items():
        # The mean of ranks has digits.
        is_whole = key == _COUNT or (column.kind == "rank" and column.digits == 0)
        columns.append(ExportColumn(key, column.kind in ("number", "rank"), is_whole))
        columns += [
            ExportColumn(f"{key}.{part}", part not in _TEXTS, part == _COUNT)
            for part in _PARTS
            if f"{key}.{part}" in filled and not (part == _COUNT and _COUNT in known)
        ]
    return columns + [ExportColumn(name, False) for name in _LAST if name in filled]


def _export_rows(page: BoardPage) -> Iterator[Mapping[str, Any]]:
    return (_export_row(table, row) for table in page.tables for row in table.rows)


def _export_row(table: BoardTable, row: TableRow) -> dict[str, Any]:
    values: dict[str, Any] = {"table": table.name, "model": row.model}
    for column in table.columns:
        cell = row.cells.get(column.key)
        if cell is None:
            continue
        if column.kind in ("text", "date"):
            values[column.key] = cell.text
            continue
        values[column.key] = cell.value
        for part in _PARTS:
            if getattr(cell, part) not in (None, ""):
                values[f"{column.key}.{part}"] = getattr(cell, part)
    values["submission"] = row.submission or ",".join(dict.fromkeys(row.submissions.values()))
    source = row.source.get("url") or row.source.get("title")
    more = {"source": source, "protocol": row.other_protocol}
    return {name: value for name, value in (values | more).items() if value not in (None, "")}
