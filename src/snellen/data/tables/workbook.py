"""Rows of Excel workbooks."""

from __future__ import annotations

import math
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from snellen.core.errors import DataError
from snellen.core.limits import DEFAULT_LIMITS, Limits, raising_advice
from snellen.core.media import digest_bytes
from snellen.data.columns import check_distinct, column_name, join_columns, rename_columns
from snellen.data.documents import cell_text, read_bounded
from snellen.data.tables.cells import finish_row, flat_cells
from snellen.data.tables.index import IndexedRow, Scan
from snellen.data.zip_members import check_members


def scan_xlsx(path: Path, column_map: Mapping[str, str], name: str, limits: Limits = DEFAULT_LIMITS) -> Scan:
    """Read the first sheet. Formulas count by their last computed value. Raises DataError."""
    data = read_bounded(path, limits, name)
    values = _sheet_values(data, name, limits)
    names = list(rename_columns(_names(values, name), column_map))

    def rows() -> Iterator[IndexedRow]:
        for row in values[1:]:
            cells = flat_cells(dict(zip(names, map(_excel_value, row), strict=False)))
            join_columns(cells, column_map)
            yield finish_row(cells, {})

    return Scan(names, rows(), lambda: digest_bytes(data))


def sheet_records(path: Path, name: str, limits: Limits = DEFAULT_LIMITS) -> Iterator[dict[str, str]]:
    """The rows of the first sheet as texts by column, without empty cells. Raises DataError."""
    values = _sheet_values(read_bounded(path, limits, name), name, limits)
    names = _names(values, name)
    for row in values[1:]:
        texts = (cell_text(_excel_value(value)) for value in row)
        yield {column: text for column, text in zip(names, texts, strict=False) if text}


def _names(values: Sequence[Sequence[Any]], name: str) -> list[str]:
    """The columns of a sheet, of which some may have no name. Raises DataError for equal names."""
    width = max(map(len, values))
    header = [*values[0], *[None] * (width - len(values[0]))]
    names = [column_name(str(value or ""), index) for index, value in enumerate(header)]
    check_distinct(names, name)
    return names


def _sheet_values(data: bytes, name: str, limits: Limits) -> list[tuple[Any, ...]]:
    """The rows of the first sheet that are not empty: the header and at least one more."""
    from zipfile import BadZipFile, LargeZipFile, ZipFile

    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        # Checked first because openpyxl leaves the file open when it fails.
        with ZipFile(BytesIO(data)) as archive:
            check_members(archive, limits, name)
        # Such as about styles, which are not used here.
        with warnings.catch_warnings(action="ignore"):
            book = load_workbook(BytesIO(data), read_only=True, data_only=True)
            values = list(_within_limits(_sheet_rows(book, name), name, limits))
        book.close()
    # A damaged workbook fails in openpyxl in many ways: broken XML is a SyntaxError, a missing
    # part a KeyError, a part of another kind a TypeError, no workbook at all an OSError.
    except (
        OSError,
        BadZipFile,
        LargeZipFile,
        InvalidFileException,
        NotImplementedError,
        RuntimeError,
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        SyntaxError,
        TypeError,
        ValueError,
        zlib.error,
    ) as error:
        # With `defusedxml` installed the reader's messages have several lines.
        reason = " ".join(str(error).split())
        raise DataError(f"{name} cannot be read as an Excel workbook: {reason}") from error
    except MemoryError:
        raise DataError(f"{name} holds more than fits into memory") from None
    if len(values) < 2:
        raise DataError(f"{name}: the first sheet needs a header row and at least one more")
    return values


def _sheet_rows(book: Any, name: str) -> Iterator[tuple[Any, ...]]:
    if not book.worksheets:
        raise DataError(f"{name} has no sheet of cells")
    first, *others = book.worksheets
    yield from first.iter_rows(values_only=True)
    columns = _header(first)
    for sheet in others:
        if columns & _header(sheet):
            raise DataError(
                f"{name}: the sheet {sheet.title!r} has columns of {first.title!r} too, and only "
                "the first sheet is read; put all rows into it, or save each as a file"
            )


def _header(sheet: Any) -> set[str]:
    """The names in the first row of a sheet."""
    row = next(sheet.iter_rows(max_row=1, values_only=True), ())
    return {column_name(str(value), 0) for value in row if value is not None}


def _within_limits(rows: Iterator[tuple[Any, ...]], name: str, limits: Limits) -> Iterator[tuple[Any, ...]]:
    """The rows that are not empty. Raises DataError for too many cells."""
    cells = 0
    for row in rows:
        if len(row) > limits.columns:
            raise DataError(f"{name}: a row has more than {limits.columns:,} cells; {raising_advice('columns')}")
        if any(value is not None for value in row):
            cells += len(row)
            yield row
        if cells > limits.cells:
            raise DataError(f"{name} has more than {limits.cells:,} cells; {raising_advice('cells')}")


def _excel_value(value: Any) -> Any:
    """Undo Excel's storage of every number as a float: 3.0 was typed as 3."""
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return value
