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

from snellen.core.benchmark import Listed, Table
from snellen.core.errors import DataError
from snellen.data.columns import (
    DATA_ROW,
    ID_COLUMNS,
    id_text,
    row_gold,
    row_id,
)
from snellen.data.predictions import question_words, words_of
from snellen.data.tables.cells import PLACE

if TYPE_CHECKING:
    from snellen.data.predictions import Prediction, Predictions

_KEYS = (*ID_COLUMNS, "questionid", "image_id", "question_key")
_NAMES = ("image_path", "image", "image_id", "img_id", "filename", "file_name", "question_id")
"""Columns that name a row's picture; `question_id` does so in lmms-eval's captions."""
_ADVICE = (
    "say which columns name the question with --columns id=... (id=split+question_id joins two), "
    "or give the data file that was asked with --data"
)
_FIGURE = re.compile(r"(?:\d+_)?([A-Z]+)[-_/]([A-Za-z]+)[_/](\d+)[_/](\d+)[_/](\d+)")
"""HallusionBench's ids: a number (in VLMEvalKit's file), category, subcategory, set, figure and
question."""
_NUMBER = re.compile(r"(\d+)(?:\.\w+)?$")
_PAIRED = "#"
"""Before the number of a question, where several have the id of their picture."""
_SHARE = 0.9
"""Of the rows whose question is known, so many must be those of the data."""
_HALF = 0.5


class _Row(NamedTuple):
    """What tells a row of the data."""

    id: str
    cells: Mapping[str, str]
    gold: tuple[str, ...]
    asked: str


def joined(read: Predictions, table: Table) -> Predictions:
    """The predictions with the ids of the rows of `table` that they answer.

    Raises DataError where the ids of both do not tell it, and nothing else in the file does.
    """
    if read.id_columns == ("index",) and "index" in table.columns and DATA_ROW not in read.columns:
        return read
    shared = _shared_column(read, table)
    if shared == read.id_columns:
        own = next((name for name in ID_COLUMNS if name in table.columns), None)
        if shared == (own,) and DATA_ROW not in read.columns:
            return read
    rows = _rows(table)
    by_value = _by_value(read, rows, shared) if shared else []
    by_name = _by_name(read, rows)
    # The number of a picture may be the id of another's row.
    by_id = [] if read.id_columns == ("image_id",) else _by_id(read, rows)
    ways = [by_value, _by_question(read, rows), by_id, _by_place(read, rows), by_name]
    agreed = [way for way in (*ways, _by_text(read, rows)) if any(way) and _agrees(read, way)]
    if agreed:
        return _renamed(read, max(agreed, key=_joined_rows))
    by_names = next((way for way in (by_value, by_id, by_name) if any(way)), None)
    if by_names is not None and not _known(read, rows):
        return _renamed(read, by_names)
    if not any(map(any, ways)):
        return read
    raise DataError(
        f"{read.path}: its ids ({'+'.join(read.id_columns)}) do not say which row of {table.path} "
        f"was asked: questions or answers differ between rows that they join; {_ADVICE}"
    )


def _joined_rows(way: Sequence[_Row | None]) -> int:
    return sum(row is not None for row in way)


def _by_value(read: Predictions, rows: Sequence[_Row], columns: Sequence[str]) -> list[_Row | None]:
    known = {value: row for row in rows if (value := _value(row.cells, columns))}
    return [known.get(_value(one.cells, columns)) for one in read]


def _rows(table: Table) -> list[_Row]:
    """The rows of the data; the second question of an id that a pair shares is `<id>#2`."""
    seen: Counter[str] = Counter()
    rows = []
    for row in table:
        name = row_id(row)
        seen[name] += 1
        name = name if seen[name] == 1 else f"{name}#{seen[name]}"
        golds = (*row_gold(row), *([row.cells[PLACE]] if PLACE in row.cells else []))
        rows.append(_Row(name, row.cells, golds, words_of(row.cells.get("question", ""))))
    return rows


def _value(cells: Mapping[str, str], columns: Sequence[str]) -> str:
    return "/".join([id_text(cells.get(column, "")) for column in columns])


def _shared_column(read: Predictions, table: Table) -> tuple[str, ...] | None:
    """The columns that both call alike and whose values are unique, those of the ids first."""
    candidates = [read.id_columns, *((name,) for name in _KEYS)]
    for columns in filter(None, dict.fromkeys(candidates)):
        if not set(columns) <= set(table.columns) or not set(columns) <= set(read.columns):
            continue
        ours = _unique(_value(one.cells, columns) for one in _distinct(read))
        if ours and _PAIRED not in "".join(ours) and ours & _values_in(table, columns):
            return columns
    return None


def _values_in(table: Table, columns: Sequence[str]) -> set[str]:
    own = next((name for name in ID_COLUMNS if name in table.columns), None)
    if columns == (own,) and isinstance(table, Listed):
        return _unique(table.ids())
    return _unique(_value(row.cells, columns) for row in table)


def _unique(values: Iterable[str]) -> set[str]:
    """The values; none where one is empty or stands there twice."""
    seen: set[str] = set()
    for value in values:
        if not value.strip("/") or value in seen:
            return set()
        seen.add(value)
    return seen


def _distinct(read: Predictions) -> Iterator[Prediction]:
    """The rows without those that only repeat an earlier one."""
    first: dict[str, Prediction] = {}
    for one in read:
        known = first.setdefault(one.id, one)
        if known is one or known.cells != one.cells:
            yield one


def _each_once(read: Predictions) -> bool:
    return bool(_unique(one.id for one in _distinct(read)))


def _by_id(read: Predictions, rows: Sequence[_Row]) -> list[_Row | None]:
    """The rows of the same ids, whatever the columns are called; those of figures by their place.

    Empty where ids are not unique.
    """
    if not _each_once(read):
        return []
    known = {row.id: row for row in rows}
    figures = {place: row for row in rows if (place := _figure(row.id))}
    return [known.get(one.id) or figures.get(_figure(one.id) or "") for one in read]


def _figure(name: str) -> str | None:
    found = _FIGURE.fullmatch(name)
    return "/".join(found.groups()) if found else None


def _by_name(read: Predictions, rows: Sequence[_Row]) -> list[_Row | None]:
    """The rows whose picture bears the name, or the number, that is the id."""
    if not _each_once(read):
        return []
    for column in _NAMES:
        named = {name: row for row in rows for name in _names(row.cells.get(column, ""))}
        if named:
            found = [named.get(one.id) or named.get(_number(one.id)) for one in read]
            if any(found):
                return found
    return []


def _names(cell: str) -> list[str]:
    if not cell:
        return []
    path = PurePath(cell)
    if not path.suffix and not cell.isdecimal():
        return [cell]
    return [cell, path.name, path.stem, _number(path.name)]


def _number(name: str) -> str:
    """The number at the end of a picture's name: 42 of COCO_val2014_000000000042.jpg."""
    found = _NUMBER.search(name)
    return str(int(found[1])) if found else name


def _by_place(read: Predictions, rows: Sequence[_Row]) -> list[_Row | None]:
    places = [one.cells.get(DATA_ROW, "") if read.id_columns else one.id for one in read]
    return [
        rows[int(place)] if place.isdecimal() and int(place) < len(rows) else None
        for place in places
    ]


def _by_text(read: Predictions, rows: Sequence[_Row]) -> list[_Row | None]:
    """The rows of the same questions, where no two ask the same."""
    asked = {row.asked: row for row in rows if row.asked}
    texts = [question_words(one.cells) for one in read]
    if len(asked) < len(rows) or not _unique(texts):
        return []
    return [asked.get(text) for text in texts]


def _by_question(read: Predictions, rows: Sequence[_Row]) -> list[_Row | None]:
    """The rows by id and question, where an id is a picture's and stands there once for each of
    its questions; none where ids do not repeat, or the rows hold no questions."""
    if _each_once(read) and not any(_PAIRED in one.id for one in read):
        return []
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        for key in _group_keys(row):
            groups.setdefault(key, []).append(row)
    found: list[_Row | None] = []
    for one in read:
        asked = question_words(one.cells)
        of_picture = groups.get(one.id.split(_PAIRED)[0], [])
        fitting = [row for row in of_picture if row.asked and row.asked in asked]
        longest = max((len(row.asked) for row in fitting), default=0)
        fitting = [row for row in fitting if len(row.asked) == longest]
        found.append(fitting[0] if len(fitting) == 1 else None)
    return found if _joined_rows(found) > len(found) * _HALF else []


def _group_keys(row: _Row) -> set[str]:
    """What a tool may call the picture of a row: its name, or the row's id without the number of
    the question."""
    cells = row.cells
    names = {cells.get(column, "") for column in (*_NAMES, "question_id")}
    category = cells.get("category", "")
    names |= {f"{category}/{PurePath(name).name}" for name in names if name and category}
    return {name for name in names | {row.id.split(_PAIRED)[0], row.id.rpartition("/")[0]} if name}


def _known(read: Predictions, rows: Sequence[_Row]) -> bool:
    """Whether the predictions hold anything by which a join can be checked."""
    return any(one.gold or question_words(one.cells) for one in read) and any(
        row.gold or row.asked for row in rows
    )


def _agrees(read: Predictions, way: Sequence[_Row | None]) -> bool:
    """Whether questions and golds of the predictions are those of the rows they are joined to.

    Golds alone may agree by chance, so that without questions nearly all rows have to be joined.
    """
    asked = any(
        row is not None and row.asked and question_words(one.cells)
        for one, row in zip(read, way, strict=True)
    )
    if not asked and _joined_rows(way) < _SHARE * len(way):
        return False
    told: Counter[bool] = Counter()
    for one, row in zip(read, way, strict=True):
        if row is not None and (same := _same(one, row)) is not None:
            told[same] += 1
    return told[True] > 0 and told[True] >= _SHARE * told.total()


def _same(one: Prediction, row: _Row) -> bool | None:
    """Whether a prediction is about a row; None where the two files do not say it."""
    gold = _same_gold(one, row)
    asked = question_words(one.cells)
    if not asked or not row.asked:
        return gold
    if row.asked in asked or asked in row.asked:
        return gold is not False
    return False


def _same_gold(one: Prediction, row: _Row) -> bool | None:
    """Whether the golds are equal; None where one is missing or the two are of different kinds, as
    a letter and a text."""
    ours, theirs = _texts(one.gold), _texts(row.gold)
    if not ours or not theirs:
        return None
    if ours & theirs:
        return True
    labels = _texts([row.cells[label.upper()] for label in theirs if label.upper() in row.cells])
    if ours & labels:
        return True
    alike = {len(text) == 1 for text in ours | theirs}
    return False if len(alike) == 1 else None


def _texts(golds: Iterable[str]) -> set[str]:
    return {text for gold in golds if (text := words_of(gold))}


def _renamed(read: Predictions, way: Sequence[_Row | None]) -> Predictions:
    """The predictions by the ids of the data; those of no row keep theirs, marked if taken."""
    taken = {row.id for row in way if row is not None}
    rows = []
    for one, row in zip(read, way, strict=True):
        kept = one.id if one.id not in taken else f"{one.id} (row {one.number})"
        rows.append(structs.replace(one, id=kept if row is None else row.id))
    return replace(read, rows=tuple(rows))
