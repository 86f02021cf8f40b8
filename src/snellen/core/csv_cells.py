"""Text cells of CSV files that are safe to open in a spreadsheet.

Spreadsheets run a cell that begins with one of a few characters as a formula. A leading apostrophe
marks it as text (OWASP, "CSV Injection").
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def text_cell(text: str) -> str:
    """Prefix a text with an apostrophe if a spreadsheet would run it as a formula.

    A formula behind apostrophes gets one more, so that `cell_text` restores the original. Numbers
    are left as they are.
    """
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def cell_text(cell: str) -> str:
    """Undo `text_cell`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def text_cells(row: Iterable[object]) -> list[object]:
    """Apply `text_cell` to the texts of a row; numbers are left as they are."""
    return [text_cell(cell) if isinstance(cell, str) else cell for cell in row]


def sheet_text(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A CSV file that people fill in with a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(text_cells(row) for row in rows)
    return text.getvalue()


def sheet_rows(path: Path) -> tuple[set[str], list[dict[str, str]]]:
    """The columns of a filled sheet, and its rows without the cells that a short row lacks. Raises OSError,
    ValueError and csv.Error."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        rows = [{name: cell_text(cell) for name, cell in row.items() if isinstance(cell, str)} for row in reader]
        return set(reader.fieldnames or ()), rows
