"""Texts as cells of a spreadsheet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.csv_cells import cell_text, text_cell, text_cells

SIGNS = "=+-@\t\r\n"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=cmd|'/c calc'!A1", "'=cmd|'/c calc'!A1"),
        ("@SUM(1+1)", "'@SUM(1+1)"),
        ("+1+1", "'+1+1"),
        ("+1", "'+1"),
        ("-1+cmd", "'-1+cmd"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("'=1", "''=1"),
        ("-12", "-12"),
        ("-0.5e-3", "-0.5e-3"),
        ("12", "12"),
        ("it's", "it's"),
        ("'tis", "'tis"),
        ("", ""),
        ("a=b", "a=b"),
    ],
)
def test_formula_cells_are_escaped_by_an_apostrophe(text: str, cell: str) -> None:
    assert text_cell(text) == cell
    assert cell_text(cell) == text


@given(st.text(st.sampled_from([*SIGNS, "'", "1", "a", "."])))
def test_a_text_comes_back(text: str) -> None:
    cell = text_cell(text)
    assert cell_text(cell) == text
    assert cell[:1] not in SIGNS or not cell or cell[1:].replace(".", "").isdigit()


def test_numbers_stay_numbers() -> None:
    assert text_cells((-1.5, 3, None, "=1")) == [-1.5, 3, None, "'=1"]
