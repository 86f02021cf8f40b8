"""Rows of a predictions file that have the same id: repeated, clashing, or about two questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from snellen.core.errors import DataError

if TYPE_CHECKING:
    from snellen.data.predictions import Prediction

QUESTIONS = ("question", "prompt", "input")
"""Columns that hold what was asked, the first that exists."""
AS_GIVEN, ONCE = "counted as given", "counted once"
"""What becomes of rows that repeat an earlier one: alone, and beside data that hold it once."""
_WORD = re.compile(r"\w+")
_SIGN = re.compile(r"<[^<>]*>")
"""Where a picture or a video stands in a prompt."""


def question_words(cells: Mapping[str, str]) -> str:
    """What was asked, as words in small letters: tools put signs and blanks around it."""
    for column in QUESTIONS:
        if cells.get(column):
            return words_of(cells[column])
    return ""


def words_of(text: str) -> str:
    """A text's words in small letters with blanks between them."""
    return " ".join(_WORD.findall(_SIGN.sub(" ", text).lower()))


def repeated_rows(
    rows: Sequence[Prediction],
    id_columns: Sequence[str],
    columns: Sequence[str],
    name: str,
    counted: bool = False,
) -> tuple[str, ...]:
    """Warnings about rows whose id stands there already: with the same content, or, where the id
    is a picture's, with another question. With `counted` two replies to one question are both
    taken. Raises DataError where they are not.
    """
    first: dict[str, Prediction] = {}
    same: list[Prediction] = []
    others: list[Prediction] = []
    for row in rows:
        known = first.setdefault(row.id, row)
        if known is row:
            continue
        if known.cells == row.cells:
            same.append(row)
        elif counted or _asks_another(known, row):
            others.append(row)
        else:
            raise DataError(_differ(known, row, rows, id_columns, columns, name))
    warnings = []
    if same:
        again = same[0]
        rows_repeat = "1 row repeats" if len(same) == 1 else f"{len(same)} rows repeat"
        warnings.append(
            f"{name}: {rows_repeat} an earlier one, {AS_GIVEN} "
            f"(id {again.id!r}: rows {first[again.id].number} and {again.number})"
        )
    if others:
        again = others[0]
        rows_have = "1 row has" if len(others) == 1 else f"{len(others)} rows have"
        warnings.append(
            f"{name}: {rows_have} the id of an earlier one and other content, each is counted "
            f"(id {again.id!r}: rows {first[again.id].number} and {again.number})"
        )
    return tuple(warnings)


def _asks_another(one: Prediction, other: Prediction) -> bool:
    """Whether two rows hold two questions, as those of a picture whose id they have."""
    asked = question_words(one.cells), question_words(other.cells)
    return all(asked) and asked[0] != asked[1]


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
