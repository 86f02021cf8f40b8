"""Tables in a narrow console keep their words whole and say which numbers they leave out."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from snellen.core.summary import Interval
from snellen.report.document import Cell, Column, Document, Table
from snellen.report.writers.terminal import print_document

COLUMNS = (
    Column("cause"),
    Column("points", "signed"),
    Column("least to most", "signed", is_optional=True),
    Column("95 % interval", "signed", is_optional=True),
    Column("samples", "count", is_optional=True),
    Column("in one only", "count", is_optional=True),
    Column("how", is_optional=True),
)
ROW: tuple[Cell, ...] = (
    "prompt or the model or extraction",
    1.3,
    Interval(0.0, 1.3, ""),
    Interval(0.5, 2.1, ""),
    "+10 –0",
    31,
    "read again 1/2",
)
TEXTS = ("", "+1.3", "0.0 to +1.3", "+0.5 to +2.1", "+10 –0", "31", "read again 1/2")
CAUSES = Table("attributed", COLUMNS, [ROW])


def printed(table: Table, width: int) -> str:
    out = io.StringIO()
    print_document(Document([table]), Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize("width", range(20, 140, 4))
def test_words_stay_whole_and_no_column_goes_unnamed(width: int) -> None:
    text = printed(CAUSES, width)
    for word in ("cause", "prompt", "extraction", "points", "+1.3"):
        assert word in text, width
    for column, cell in zip(COLUMNS[1:], TEXTS[1:], strict=True):
        assert column.name in text, width
        assert (cell in text) == (column.name in text.split("not shown")[0]), (width, column.name)


def test_a_wide_console_shows_all() -> None:
    assert "not shown" not in printed(CAUSES, 140)
    assert "how" in printed(CAUSES, 80).split("not shown, for want of width: ")[1]


def test_a_word_longer_than_the_console_is_folded_not_cut() -> None:
    name = "Mock:acc=0.7,bonus=0.05,wordy=0.2,fail=0.05"
    text = printed(Table("", (Column("run"), Column("score", "points")), [(name, 70.0)]), 40)
    first_column = "".join(line[: line.find("  ")].strip() for line in text.splitlines()[2:])
    assert name in first_column.replace(" ", "")
    assert "70.0" in text
