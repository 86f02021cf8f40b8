"""Texts as cells of a CSV file that somebody opens in a spreadsheet.

A spreadsheet takes a cell that begins with one of a few signs for a formula, and runs it. An
apostrophe before it says that it is text (OWASP, "CSV Injection").
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def text_cell(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would take it for a formula.

    A text of one that has apostrophes already gets one more, so that `cell_text` finds the
    original. A number stays a number.
    """
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def cell_text(cell: str) -> str:
    """The text that `text_cell` made `cell` of."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def text_cells(row: Iterable[object]) -> list[object]:
    """A row whose texts are `text_cell`s; numbers stay as they are."""
    return [text_cell(cell) if isinstance(cell, str) else cell for cell in row]
