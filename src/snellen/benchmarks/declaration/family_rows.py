"""Rows of a published file in the common layout, by a few fields of a family's TOML file.

    [layout]
    columns = { A = "a0", B = "a1", gold_index = "answer" }
    nothing = ["N/A"]

Column names are ours to theirs, in lower case as Snellen reads them; a column that a row lacks
leaves it as it is, so that files of other tools in the common layout are read, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, structs

from snellen.core.literals import parse_json_or_literal
from snellen.core.sample import Row
from snellen.data.columns import GOLD_COLUMNS, ID_COLUMNS
from snellen.data.documents import cell_text
from snellen.data.tables.options import split_inline_options, spread_options


class RowLayout(Struct, frozen=True, forbid_unknown_fields=True):
    """What the columns of a published file hold."""

    columns: dict[str, str] = {}
    """Our name of a column to theirs; a gold answer named here is the only one. `a+b` joins two
    columns, which stay."""
    nothing: tuple[str, ...] = ()
    """Cells that stand for no value."""
    inline_options: bool = False
    """Whether the options stand in the lines of the question."""
    questions: str = ""
    """A column that lists the questions about the row's video, each an object: a row for each."""
    lacking_answer: str = ""
    """The answer of questions that are published without one; they are not asked."""

    def rows(self, rows: Iterable[Row]) -> Iterator[Row]:
        """A row for each question."""
        for row in rows:
            listed = row.cells.get(self.questions, "") if self.questions else ""
            if not listed:
                yield row
                continue
            shared = {name: text for name, text in row.cells.items() if name not in (self.questions, *ID_COLUMNS)}
            for asked in parse_json_or_literal(listed):
                yield structs.replace(row, cells={**shared, **_text_cells(asked)})

    def keeps(self, row: Row) -> bool:
        """Whether a question has an answer, or the file has none for any."""
        return not self.lacking_answer or row.cells.get("answer") != self.lacking_answer

    def adjust(self, row: Row) -> Row:
        """The row in the common layout."""
        cells = {name: text for name, text in row.cells.items() if text.strip() not in self.nothing}
        renamed = {ours: text for ours, theirs in self.columns.items() if (text := _take(cells, theirs))}
        if not renamed.keys().isdisjoint(GOLD_COLUMNS):
            for name in GOLD_COLUMNS:
                cells.pop(name, None)
        cells |= renamed
        if self.inline_options:
            split = split_inline_options(cells.get("question", ""))
            cells |= {**split.options, "question": split.question} if split.options else {}
        spread_options(cells)
        return structs.replace(row, cells=cells)


def _take(cells: dict[str, str], column: str) -> str:
    """The text of a column, which is taken out, or of several that stay; empty if one is not there."""
    if "+" not in column:
        return cells.pop(column, "")
    texts = [cells.get(part, "") for part in column.split("+")]
    return "/".join(texts) if all(texts) else ""


def _text_cells(record: dict[str, Any]) -> dict[str, str]:
    """The cells of a question's object; its `uid` is its id."""
    cells = {str(name).lower(): text for name, value in record.items() if (text := cell_text(value))}
    return {"index": cells.pop("uid"), **cells} if "uid" in cells else cells
