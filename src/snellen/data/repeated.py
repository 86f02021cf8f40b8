"""Rows of a predictions file that have the same id: repeated, or clashing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from snellen.core.errors import DataError

if TYPE_CHECKING:
    from snellen.data.predictions import Prediction


def repeated_rows(
    rows: Sequence[Prediction], id_columns: Sequence[str], columns: Sequence[str], name: str
) -> tuple[str, ...]:
    """Warnings about rows that stand there again. Raises DataError where two with one id differ."""
    first: dict[str, Prediction] = {}
    doubled: list[Prediction] = []
    for row in rows:
        known = first.setdefault(row.id, row)
        if known is not row:
            if known.cells != row.cells:
                raise DataError(_differ(known, row, rows, id_columns, columns, name))
            doubled.append(row)
    if not doubled:
        return ()
    again = doubled[0]
    rows_repeat = "1 row repeats" if len(doubled) == 1 else f"{len(doubled)} rows repeat"
    return (
        f"{name}: {rows_repeat} an earlier one, counted as given "
        f"(id {again.id!r}: rows {first[again.id].number} and {again.number})",
    )


def _differ(
    one: Prediction,
    other: Prediction,
    rows: Sequence[Prediction],
    id_columns: Sequence[str],
    columns: Sequence[str],
    name: str,
) -> str:
    """Says which rows clash, and which column would tell them apart, if there is one."""
    advice = "leave one of them out"
    for column in columns:
        if column in id_columns or one.cells.get(column) == other.cells.get(column):
            continue
        pairs = Counter((row.id, row.cells.get(column)) for row in rows)
        values = {row.cells.get(column) for row in rows}
        if max(pairs.values()) == 1 and 1 < len(values) <= len(rows) // 2:
            advice = (
                f"the file holds {len(values)} values of {column!r}: choose one with --where "
                f"{column}={other.cells.get(column, '')}, or count each with "
                f"--columns id={column}+{'+'.join(id_columns)}"
            )
            break
    return (
        f"{name}: rows {one.number} and {other.number} have the same id {one.id!r} "
        f"but differ; {advice}"
    )
