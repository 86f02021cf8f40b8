"""Which row of the data a row of a predictions file answers.

The ids say it where both files call their column alike and its values are unique. Where one tool
calls it otherwise, or its id is a picture's, what was asked and the gold have to agree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from snellen.core.benchmark import HasIds, Table
from snellen.core.errors import DataError
from snellen.data.columns import (
    DATA_ROW,
    ID_COLUMNS,
    id_text,
    row_gold,
    row_id,
)
from snellen.data.predictions import normalised_question, normalised_text
from snellen.data.tables.cells import INDEXED_ANSWER

if TYPE_CHECKING:
    from snellen.data.predictions import Prediction, Predictions

_KEY_COLUMNS = (*ID_COLUMNS, "questionid", "image_id", "question_key")
_IMAGE_NAME_COLUMNS = (
    "image_path",
    "image",
    "image_id",
    "img_id",
    "filename",
    "file_name",
    "question_id",
)
"""Columns that name a row's picture; `question_id` does so in lmms-eval's captions."""
_ADVICE = (
    "say which columns name the question with --columns id=... (id=split+question_id joins two), "
    "or give the data file that was asked with --data"
)
_FIGURE_ID = re.compile(r"(?:\d+_)?([A-Z]+)[-_/]([A-Za-z]+)[_/](\d+)[_/](\d+)[_/](\d+)")
"""HallusionBench's ids: a number (in VLMEvalKit's file), category, subcategory, set, figure and
question."""
_TRAILING_NUMBER = re.compile(r"(\d+)(?:\.\w+)?$")
_QUESTION_SIGN = "#"
"""Before the number of a question, where several have the id of their picture."""
_MIN_AGREEMENT = 0.9
"""Of the rows whose question is known, so many must be those of the data."""
_MIN_MATCHED = 0.5


class _DataRow(NamedTuple):
    """What tells a row of the data."""

    id: str
    cells: Mapping[str, str]
    gold: tuple[str, ...]
    question: str


def match_rows(predictions: Predictions, table: Table) -> Predictions:
    """The predictions with the ids of the rows of `table` that they answer.

    Raises DataError where the ids of both do not tell it, and nothing else in the file does.
    """
    if (
        predictions.id_columns == ("index",)
        and "index" in table.columns
        and DATA_ROW not in predictions.columns
    ):
        return predictions
    shared = _shared_column(predictions, table)
    if shared == predictions.id_columns:
        own = next((name for name in ID_COLUMNS if name in table.columns), None)
        if shared == (own,) and DATA_ROW not in predictions.columns:
            return predictions
    rows = _data_rows(table)
    by_value = _match_by_value(predictions, rows, shared) if shared else []
    by_name = _match_by_image_name(predictions, rows)
    # The number of a picture may be the id of another's row.
    by_id = [] if predictions.id_columns == ("image_id",) else _match_by_id(predictions, rows)
    candidates = [
        by_value,
        _match_by_question(predictions, rows),
        by_id,
        _match_by_row_number(predictions, rows),
        by_name,
    ]
    agreed = [
        way
        for way in (*candidates, _match_by_text(predictions, rows))
        if any(way) and _is_consistent(predictions, way)
    ]
    if agreed:
        return _with_row_ids(predictions, max(agreed, key=_matched_count))
    by_names = next((way for way in (by_value, by_id, by_name) if any(way)), None)
    if by_names is not None and not _is_checkable(predictions, rows):
        return _with_row_ids(predictions, by_names)
    if not any(map(any, candidates)):
        return predictions
    raise DataError(
        f"{predictions.path}: its ids ({'+'.join(predictions.id_columns)}) do not say which row "
        f"of {table.path} was asked: questions or answers differ between rows that they join; "
        f"{_ADVICE}"
    )


def _matched_count(matches: Sequence[_DataRow | None]) -> int:
    return sum(row is not None for row in matches)


def _match_by_value(
    predictions: Predictions, rows: Sequence[_DataRow], columns: Sequence[str]
) -> list[_DataRow | None]:
    known = {value: row for row in rows if (value := _joint_value(row.cells, columns))}
    return [known.get(_joint_value(one.cells, columns)) for one in predictions]


def _data_rows(table: Table) -> list[_DataRow]:
    """The rows of the data; the second question of an id that a pair shares is `<id>#2`."""
    seen: Counter[str] = Counter()
    rows = []
    for row in table:
        name = row_id(row)
        seen[name] += 1
        name = name if seen[name] == 1 else f"{name}#{seen[name]}"
        golds = (
            *row_gold(row),
            *([row.cells[INDEXED_ANSWER]] if INDEXED_ANSWER in row.cells else []),
        )
        rows.append(
            _DataRow(name, row.cells, golds, normalised_text(row.cells.get("question", "")))
        )
    return rows


def _joint_value(cells: Mapping[str, str], columns: Sequence[str]) -> str:
    return "/".join([id_text(cells.get(column, "")) for column in columns])


def _shared_column(predictions: Predictions, table: Table) -> tuple[str, ...] | None:
    """The columns that both call alike and whose values are unique, those of the ids first."""
    candidates = [predictions.id_columns, *((name,) for name in _KEY_COLUMNS)]
    for columns in filter(None, dict.fromkeys(candidates)):
        if not set(columns) <= set(table.columns) or not set(columns) <= set(predictions.columns):
            continue
        ours = _unique_values(
            _joint_value(one.cells, columns) for one in _distinct_rows(predictions)
        )
        if ours and _QUESTION_SIGN not in "".join(ours) and ours & _values_in(table, columns):
            return columns
    return None


def _values_in(table: Table, columns: Sequence[str]) -> set[str]:
    own = next((name for name in ID_COLUMNS if name in table.columns), None)
    if columns == (own,) and isinstance(table, HasIds):
        return _unique_values(table.ids())
    return _unique_values(_joint_value(row.cells, columns) for row in table)


def _unique_values(values: Iterable[str]) -> set[str]:
    """The values; none where one is empty or stands there twice."""
    seen: set[str] = set()
    for value in values:
        if not value.strip("/") or value in seen:
            return set()
        seen.add(value)
    return seen


def _distinct_rows(predictions: Predictions) -> Iterator[Prediction]:
    """The rows without those that only repeat an earlier one."""
    first: dict[str, Prediction] = {}
    for one in predictions:
        known = first.setdefault(one.id, one)
        if known is one or known.cells != one.cells:
            yield one


def _has_unique_ids(predictions: Predictions) -> bool:
    return bool(_unique_values(one.id for one in _distinct_rows(predictions)))


def _match_by_id(predictions: Predictions, rows: Sequence[_DataRow]) -> list[_DataRow | None]:
    """The rows of the same ids, whatever the columns are called; those of figures by their place.

    Empty where ids are not unique.
    """
    if not _has_unique_ids(predictions):
        return []
    known = {row.id: row for row in rows}
    figures = {place: row for row in rows if (place := _figure_id(row.id))}
    return [known.get(one.id) or figures.get(_figure_id(one.id) or "") for one in predictions]


def _figure_id(name: str) -> str | None:
    found = _FIGURE_ID.fullmatch(name)
    return "/".join(found.groups()) if found else None


def _match_by_image_name(
    predictions: Predictions, rows: Sequence[_DataRow]
) -> list[_DataRow | None]:
    """The rows whose picture bears the name, or the number, that is the id."""
    if not _has_unique_ids(predictions):
        return []
    for column in _IMAGE_NAME_COLUMNS:
        named = {name: row for row in rows for name in _image_names(row.cells.get(column, ""))}
        if named:
            found = [named.get(one.id) or named.get(_image_number(one.id)) for one in predictions]
            if any(found):
                return found
    return []


def _image_names(cell: str) -> list[str]:
    if not cell:
        return []
    path = PurePath(cell)
    if not path.suffix and not cell.isdecimal():
        return [cell]
    return [cell, path.name, path.stem, _image_number(path.name)]


def _image_number(name: str) -> str:
    """The number at the end of a picture's name: 42 of COCO_val2014_000000000042.jpg."""
    found = _TRAILING_NUMBER.search(name)
    return str(int(found[1])) if found else name


def _match_by_row_number(
    predictions: Predictions, rows: Sequence[_DataRow]
) -> list[_DataRow | None]:
    places = [
        one.cells.get(DATA_ROW, "") if predictions.id_columns else one.id for one in predictions
    ]
    return [
        rows[int(place)] if place.isdecimal() and int(place) < len(rows) else None
        for place in places
    ]


def _match_by_text(predictions: Predictions, rows: Sequence[_DataRow]) -> list[_DataRow | None]:
    """The rows of the same questions, where no two ask the same."""
    asked = {row.question: row for row in rows if row.question}
    texts = [normalised_question(one.cells) for one in predictions]
    if len(asked) < len(rows) or not _unique_values(texts):
        return []
    return [asked.get(text) for text in texts]


def _match_by_question(predictions: Predictions, rows: Sequence[_DataRow]) -> list[_DataRow | None]:
    """The rows by id and question, where an id is a picture's and stands there once for each of
    its questions; none where ids do not repeat, or the rows hold no questions."""
    if _has_unique_ids(predictions) and not any(_QUESTION_SIGN in one.id for one in predictions):
        return []
    groups: dict[str, list[_DataRow]] = {}
    for row in rows:
        for key in _group_keys(row):
            groups.setdefault(key, []).append(row)
    found: list[_DataRow | None] = []
    for one in predictions:
        asked = normalised_question(one.cells)
        of_picture = groups.get(one.id.split(_QUESTION_SIGN)[0], [])
        fitting = [row for row in of_picture if row.question and row.question in asked]
        longest = max((len(row.question) for row in fitting), default=0)
        fitting = [row for row in fitting if len(row.question) == longest]
        found.append(fitting[0] if len(fitting) == 1 else None)
    return found if _matched_count(found) > len(found) * _MIN_MATCHED else []


def _group_keys(row: _DataRow) -> set[str]:
    """What a tool may call the picture of a row: its name, or the row's id without the number of
    the question."""
    cells = row.cells
    names = {cells.get(column, "") for column in (*_IMAGE_NAME_COLUMNS, "question_id")}
    category = cells.get("category", "")
    names |= {f"{category}/{PurePath(name).name}" for name in names if name and category}
    return {
        name
        for name in names | {row.id.split(_QUESTION_SIGN)[0], row.id.rpartition("/")[0]}
        if name
    }


def _is_checkable(predictions: Predictions, rows: Sequence[_DataRow]) -> bool:
    """Whether the predictions hold anything by which a join can be checked."""
    return any(one.gold or normalised_question(one.cells) for one in predictions) and any(
        row.gold or row.question for row in rows
    )


def _is_consistent(predictions: Predictions, matches: Sequence[_DataRow | None]) -> bool:
    """Whether questions and golds of the predictions are those of the rows they are joined to.

    Golds alone may agree by chance, so that without questions nearly all rows have to be joined.
    """
    asked = any(
        row is not None and row.question and normalised_question(one.cells)
        for one, row in zip(predictions, matches, strict=True)
    )
    if not asked and _matched_count(matches) < _MIN_AGREEMENT * len(matches):
        return False
    agreement: Counter[bool] = Counter()
    for one, row in zip(predictions, matches, strict=True):
        if row is not None and (same := _is_about(one, row)) is not None:
            agreement[same] += 1
    return agreement[True] > 0 and agreement[True] >= _MIN_AGREEMENT * agreement.total()


def _is_about(prediction: Prediction, row: _DataRow) -> bool | None:
    """Whether a prediction is about a row; None where the two files do not say it."""
    gold = _has_same_gold(prediction, row)
    asked = normalised_question(prediction.cells)
    if not asked or not row.question:
        return gold
    if row.question in asked or asked in row.question:
        return gold is not False
    return False


def _has_same_gold(prediction: Prediction, row: _DataRow) -> bool | None:
    """Whether the golds are equal; None where one is missing or the two are of different kinds, as
    a letter and a text."""
    ours, theirs = _normalised_texts(prediction.gold), _normalised_texts(row.gold)
    if not ours or not theirs:
        return None
    if ours & theirs:
        return True
    labels = _normalised_texts(
        [row.cells[label.upper()] for label in theirs if label.upper() in row.cells]
    )
    if ours & labels:
        return True
    alike = {len(text) == 1 for text in ours | theirs}
    return False if len(alike) == 1 else None


def _normalised_texts(golds: Iterable[str]) -> set[str]:
    return {text for gold in golds if (text := normalised_text(gold))}


def _with_row_ids(predictions: Predictions, matches: Sequence[_DataRow | None]) -> Predictions:
    """The predictions by the ids of the data; those of no row keep theirs, marked if taken."""
    taken = {row.id for row in matches if row is not None}
    rows = []
    for one, row in zip(predictions, matches, strict=True):
        kept = one.id if one.id not in taken else f"{one.id} (row {one.number})"
        rows.append(structs.replace(one, id=kept if row is None else row.id))
    return replace(predictions, rows=tuple(rows))
