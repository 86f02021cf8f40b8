"""Rows of Excel workbooks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from snellen.core.errors import DataError
from snellen.core.media import digest_bytes
from snellen.data.cells import finish, flat_cells, text_of
from snellen.data.columns import column_name, join_columns, renamed
from snellen.data.index import IndexedRow, Scan


def scan_xlsx(path: Path, chosen: Mapping[str, str], name: str) -> Scan:
    """The first sheet. Formulas count by their last computed value."""
    data = path.read_bytes()
    values = _values(path, name)
    names = [column_name(str(value or ""), place) for place, value in enumerate(values[0])]
    names = list(renamed(names, chosen))

    def rows() -> Iterator[IndexedRow]:
        for row in values[1:]:
            cells = flat_cells(dict(zip(names, map(_excel_value, row), strict=False)))
            join_columns(cells, chosen)
            yield finish(cells, {})

    return Scan(names, rows(), lambda: digest_bytes(data))


def sheet_records(path: Path, name: str) -> Iterator[dict[str, str]]:
    """The rows of the first sheet as texts by column, without empty cells. Raises DataError."""
    header, *rows = _values(path, name)
    names = [column_name(str(value or ""), place) for place, value in enumerate(header)]
    for row in rows:
        texts = (text_of(_excel_value(value)) for value in row)
        yield {column: text for column, text in zip(names, texts, strict=False) if text}


def _values(path: Path, name: str) -> list[tuple[Any, ...]]:
    """The rows of the first sheet that are not empty: the header, and one at least."""
    from zipfile import BadZipFile

    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = load_workbook(path, read_only=True, data_only=True)
        values = [row for row in book.worksheets[0].iter_rows(values_only=True) if _any_value(row)]
        book.close()
    except (BadZipFile, InvalidFileException, KeyError, ValueError) as error:
        raise DataError(f"{name} cannot be read as an Excel workbook: {error}") from error
    if len(values) < 2:
        raise DataError(f"{name}: the first sheet needs a header row and at least one more")
    return values


def _any_value(row: Sequence[object]) -> bool:
    return any(value is not None for value in row)


def _excel_value(value: Any) -> Any:
    """Excel keeps every number as a float: 3.0 was written as 3."""
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value
