"""Files of gold answers without questions, as data of recorded predictions: MMMU's
`answer_dict_val.json` and other answer keys."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from msgspec import structs

from snellen.core.benchmark import DataTable
from snellen.core.sample import Row, origin_of
from snellen.data.columns import gold_column
from snellen.data.tables.derived import DerivedTable

_QUESTION = "question"


def with_questions(table: DataTable) -> DataTable:
    """The table; one of gold answers without questions with an empty question in each row: it can
    be scored by, and not asked."""
    columns = table.columns
    if _QUESTION in columns or gold_column(columns) is None:
        return table
    rows = partial(_rows_with_questions, table)
    return DerivedTable(table.path, (*columns, _QUESTION), table.digest, len(table), rows, origin_of(table))


def _rows_with_questions(table: DataTable) -> Iterator[Row]:
    for row in table:
        yield structs.replace(row, cells={**row.cells, _QUESTION: ""})
