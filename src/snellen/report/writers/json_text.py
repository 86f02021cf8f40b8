"""Documents as JSON, one object on a line, with numbers that are not rounded."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from snellen.core.summary import Interval
from snellen.report.document import Cell, Document, IntervalEstimate, Table, check_table


def write(document: Document) -> str:
    """The document's data, or its title, notices and tables."""
    value = document.data() if callable(document.data) else document.data
    if value is None:
        value = document_object(document)
    return msgspec.json.encode(value).decode() + "\n"


def document_object(document: Document) -> dict[str, object]:
    """Title, notices, and tables whose rows are objects; an interval is a list of its ends, shares
    and their intervals are fractions of 1."""
    return {
        "title": document.title,
        "notices": document.notices,
        "tables": [{"title": table.title, "rows": list(row_objects(table))} for table in document.tables],
    }


def row_objects(table: Table) -> Iterator[dict[str, object]]:
    """The rows as objects, by the names of the columns."""
    check_table(table)
    for row in table.rows:
        yield {column.name: _value(cell) for column, cell in zip(table.columns, row, strict=True)}


def _value(cell: Cell) -> object:
    match cell:
        case Interval():
            return [cell.low, cell.high]
        case IntervalEstimate():
            return {"value": cell.value, "interval": cell.interval and _value(cell.interval)}
    return cell
