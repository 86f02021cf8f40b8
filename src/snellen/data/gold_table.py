"""Files of gold answers without questions, as data of recorded predictions: MMMU's
`answer_dict_val.json` and other answer keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import structs

from snellen.core.benchmark import DataTable
from snellen.core.sample import Origin, Row, origin_of
from snellen.data.columns import gold_column

_QUESTION = "question"


@dataclass(frozen=True, slots=True)
class GoldTable:
    """A table of gold answers, with an empty question in each row; it can be scored by, and not
    asked."""

    table: DataTable

    @property
    def path(self) -> str:
        return self.table.path

    @property
    def digest(self) -> str:
        return self.table.digest

    @property
    def columns(self) -> Sequence[str]:
        return (*self.table.columns, _QUESTION)

    @property
    def origin(self) -> Origin | None:
        return origin_of(self.table)

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Row]:
        for row in self.table:
            yield structs.replace(row, cells={**row.cells, _QUESTION: ""})


def with_questions(table: DataTable) -> DataTable:
    """The table, with empty questions if it holds gold answers and no questions."""
    columns = table.columns
    is_key = _QUESTION not in columns and gold_column(columns) is not None
    return GoldTable(table) if is_key else table
