"""Match the rows of a predictions file to the rows of the data.

By id, if both files use the same column and its values are unique. If a tool names the column
otherwise, or its id identifies an image rather than a question, then questions and gold answers
have to agree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from snellen.core.benchmark import DataTable, HasIds
from snellen.core.errors import DataError
from snellen.data.columns import DATA_ROW, ID_COLUMNS, id_text, row_gold, row_id
from snellen.data.predictions import distinct_rows, normalised_question, normalised_text
from snellen.data.tables.cells import INDEXED_ANSWER

if TYPE_CHECKING:
    from snellen.data.predictions import Prediction, Predictions

_KEY_COLUMNS = (*ID_COLUMNS, "questionid", "image_id", "question_key")
_IMAGE_NAME_COLUMNS = ("image_path", "image", "image_id", "img_id", "filename", "file_name", "question_id")
"""Columns that name a row's image; `question_id` does so in lmms-eval's captions."""
_ADVICE = (
    "say which columns name the question with --columns id=... (id=split+question_id joins two), "
    "or give the data file that was asked with --data"
)
_FIGURE_ID = re.compile(r"(?:\d+_)?([A-Z]+)[-_/]([A-Za-z]+)[_/](\d+)[_/](\d+)[_/](\d+)")
"""HallusionBench's ids: a number (in VLMEvalKit's file), category, subcategory, set, figure and
question."""
_TRAILING_NUMBER = re.compile(r"(\d+)(?:\.\w+)?$")
_INSTRUCTION = re.compile(
    r"(?:^| )(?:please )?(?:"
    r"answer (?:the question )?(?:with )?(?:only )?yes or no"
    r"|answer the question using a single word or phrase"
    r"|answer with the option s letter from the given choices directly"
    r")$"
)
"""What a model is told behind a question, as words; tools replace it by their own."""
_QUESTION_SIGN = "#"
"""Precedes the question's number if several questions have their image's id."""
_MIN_AGREEMENT = 0.9
"""Fraction of the rows with a known question or answer that must agree with the data."""
_MIN_MATCHED = 0.5


class _DataRow(NamedTuple):
    """A row of the data with the parts that predictions are matched by."""

    id: str
    cells: Mapping[str, str]
    gold: frozenset[str]
    question: str


_Matches = list[_DataRow | None]
"""The row of the data that each prediction answers, as far as it is known; empty if a way of
matching cannot be used."""


def match_rows(predictions: Predictions, table: DataTable) -> Predictions:
    """The predictions with the ids of the data rows that they answer.

    Several matchings are tried; of those whose questions and gold answers agree with the data, the
    one that matches most rows is used. Raises DataError if ids are ambiguous and no matching
    agrees.
    """
    has_row_numbers = DATA_ROW in predictions.columns
    if predictions.id_columns == ("index",) and "index" in table.columns and not has_row_numbers:
        return predictions
    shared = _shared_column(predictions, table)
    # Unique ids in the data's own id column: nothing to match, and the rows need not be read.
    if shared and shared == predictions.id_columns == _own_column(table) and not has_row_numbers:
        return predictions
    matching = _Matching(predictions, _data_rows(table))
    by_value = matching.by_value(shared) if shared else []
    by_name = matching.by_image_name()
    # An image's number may by chance be the id of a row with another image.
    by_id = [] if predictions.id_columns == ("image_id",) else matching.by_id()
    candidates = [by_value, matching.by_question(), by_id, matching.by_row_number(), by_name]
    agreed = [
        matches for matches in (*candidates, matching.by_text()) if any(matches) and matching.is_consistent(matches)
    ]
    if agreed:
        return matching.with_row_ids(max(agreed, key=_matched_count))
    # Without questions or gold answers to check, ids and names are all there is to go by.
    by_names = next((matches for matches in (by_value, by_id, by_name) if any(matches)), None)
    if by_names is not None and (not matching.is_checkable() or matching.have_same_questions(by_names)):
        return matching.with_row_ids(by_names)
    if not any(map(any, candidates)):
        return predictions
    raise DataError(
        f"{predictions.path}: its ids ({'+'.join(predictions.id_columns)}) do not say which row "
        f"of {table.path} was asked: questions or answers differ between rows that they join; "
        f"{_ADVICE}"
    )


@dataclass(frozen=True)
class _Matching:
    """The predictions and the rows of the data: ways to match them, and checks of a matching."""

    predictions: Predictions
    rows: Sequence[_DataRow]

    @cached_property
    def questions(self) -> list[str]:
        """The question of each prediction, as words."""
        return [normalised_question(prediction.cells) for prediction in self.predictions]

    @cached_property
    def has_unique_ids(self) -> bool:
        return bool(_unique_values(prediction.id for prediction in distinct_rows(self.predictions)))

    def by_value(self, columns: Sequence[str]) -> _Matches:
        """Equal values of columns that both have."""
        row_by_value = {value: row for row in self.rows if (value := _joint_value(row.cells, columns))}
        return [row_by_value.get(_joint_value(prediction.cells, columns)) for prediction in self.predictions]

    def by_id(self) -> _Matches:
        """Equal ids, whatever the columns are called; HallusionBench's ids by their figure.

        Empty if the ids of the predictions are not unique.
        """
        if not self.has_unique_ids:
            return []
        row_by_id = {row.id: row for row in self.rows}
        row_by_figure = {figure: row for row in self.rows if (figure := _figure_id(row.id))}
        return [
            row_by_id.get(prediction.id) or row_by_figure.get(_figure_id(prediction.id) or "")
            for prediction in self.predictions
        ]

    def by_image_name(self) -> _Matches:
        """Ids that are the names, or numbers, of the rows' images."""
        for column in _IMAGE_NAME_COLUMNS if self.has_unique_ids else ():
            row_by_name = {name: row for row in self.rows for name in _image_names(row.cells.get(column, ""))}
            matches = [
                row_by_name.get(prediction.id) or row_by_name.get(_image_number(prediction.id))
                for prediction in self.predictions
            ]
            if any(matches):
                return matches
        return []

    def by_row_number(self) -> _Matches:
        """lmms-eval's row number, or the ids as numbers, with the rows of the data in order."""
        has_ids = bool(self.predictions.id_columns)
        numbers = [each.cells.get(DATA_ROW, "") if has_ids else each.id for each in self.predictions]
        size = len(self.rows)
        return [self.rows[int(number)] if number.isdecimal() and int(number) < size else None for number in numbers]

    def by_text(self) -> _Matches:
        """Equal questions; empty if two rows have the same question."""
        row_by_question = {row.question: row for row in self.rows if row.question}
        texts = list(map(_without_instruction, self.questions))
        if len(row_by_question) < len(self.rows) or not _unique_values(texts):
            return []
        return [row_by_question.get(text) for text in texts]

    def by_question(self) -> _Matches:
        """Image id and question, for files with one row for each question about an image.

        Empty if ids do not repeat, or at most half of the rows match.
        """
        if self.has_unique_ids and not any(_QUESTION_SIGN in prediction.id for prediction in self.predictions):
            return []
        groups: dict[str, list[_DataRow]] = {}
        for row in self.rows:
            for key in _group_keys(row):
                groups.setdefault(key, []).append(row)
        matches: _Matches = []
        for prediction, question in zip(self.predictions, self.questions, strict=True):
            image = prediction.id.split(_QUESTION_SIGN)[0]
            # LLaVA's names of MME images: landmark/images/0001.jpg.
            rows_of_image = groups.get(image) or groups.get(image.replace("/images/", "/"), [])
            candidates = [row for row in rows_of_image if row.question and row.question in question]
            max_length = max((len(row.question) for row in candidates), default=0)
            candidates = [row for row in candidates if len(row.question) == max_length]
            matches.append(candidates[0] if len(candidates) == 1 else None)
        return matches if _matched_count(matches) > len(matches) * _MIN_MATCHED else []

    def is_checkable(self) -> bool:
        """Whether predictions and data both hold questions or gold answers to check a matching
        by."""
        has_golds = any(prediction.gold for prediction in self.predictions)
        return (has_golds or any(self.questions)) and any(row.gold or row.question for row in self.rows)

    def is_consistent(self, matches: _Matches) -> bool:
        """Whether questions and gold answers of the predictions agree with the matched rows.

        Gold answers alone may agree by chance, so without questions nearly all rows have to be
        matched.
        """
        matched = list(zip(self.predictions, self.questions, matches, strict=True))
        has_questions = any(row is not None and row.question and question for _, question, row in matched)
        if not has_questions and _matched_count(matches) < _MIN_AGREEMENT * len(matches):
            return False
        agreement: Counter[bool] = Counter()
        for prediction, question, row in matched:
            if row is not None and (is_same := _is_about(prediction, question, row)) is not None:
                agreement[is_same] += 1
        return agreement[True] > 0 and agreement[True] >= _MIN_AGREEMENT * agreement.total()

    def have_same_questions(self, matches: _Matches) -> bool:
        """Whether the questions agree with the matched rows and tell these apart: then gold answers
        may differ, as where a tool has written them in another form."""
        questions = [
            (_without_instruction(question), row.question)
            for question, row in zip(self.questions, matches, strict=True)
            if row is not None and row.question
        ]
        same = sum(bool(one) and _is_same_question(one, other) for one, other in questions)
        distinct = len({other for _, other in questions})
        return same >= _MIN_AGREEMENT * len(matches) and distinct > len(matches) / 2

    def with_row_ids(self, matches: _Matches) -> Predictions:
        """The predictions with the ids of the data; unmatched ones keep theirs, marked if it is in
        use."""
        row_ids = {row.id for row in matches if row is not None}
        rows = []
        for prediction, row in zip(self.predictions, matches, strict=True):
            own_id = prediction.id if prediction.id not in row_ids else f"{prediction.id} (row {prediction.number})"
            rows.append(structs.replace(prediction, id=own_id if row is None else row.id))
        return replace(self.predictions, rows=tuple(rows))


def _matched_count(matches: _Matches) -> int:
    return sum(row is not None for row in matches)


def _data_rows(table: DataTable) -> list[_DataRow]:
    """The rows of the data; the second row with the same id gets `<id>#2`."""
    id_counts: Counter[str] = Counter()
    rows = []
    for row in table:
        name = row_id(row)
        id_counts[name] += 1
        name = name if id_counts[name] == 1 else f"{name}#{id_counts[name]}"
        golds = _normalised_texts([*row_gold(row), row.cells.get(INDEXED_ANSWER, "")])
        question = _without_instruction(normalised_text(row.cells.get("question", "")))
        rows.append(_DataRow(name, row.cells, golds, question))
    return rows


def _without_instruction(question: str) -> str:
    return _INSTRUCTION.sub("", question) or question


def _joint_value(cells: Mapping[str, str], columns: Sequence[str]) -> str:
    return "/".join([id_text(cells.get(column, "")) for column in columns])


def _own_column(table: DataTable) -> tuple[str, ...]:
    """The column that the data call their rows by."""
    return tuple(name for name in ID_COLUMNS if name in table.columns)[:1]


def _shared_column(predictions: Predictions, table: DataTable) -> tuple[str, ...] | None:
    """Columns that both files have and whose values are unique, the id columns first."""
    shared = set(table.columns) & set(predictions.columns)
    for columns in dict.fromkeys([predictions.id_columns, *((name,) for name in _KEY_COLUMNS)]):
        if not columns or not shared.issuperset(columns):
            continue
        values = _unique_values(_joint_value(each.cells, columns) for each in distinct_rows(predictions))
        if values and _QUESTION_SIGN not in "".join(values) and values & _values_in(table, columns):
            return columns
    return None


def _values_in(table: DataTable, columns: tuple[str, ...]) -> set[str]:
    if columns == _own_column(table) and isinstance(table, HasIds):
        return _unique_values(table.ids())
    return _unique_values(_joint_value(row.cells, columns) for row in table)


def _unique_values(values: Iterable[str]) -> set[str]:
    """The set of the values; empty if a value is empty or a duplicate."""
    seen: set[str] = set()
    for value in values:
        if not value.strip("/") or value in seen:
            return set()
        seen.add(value)
    return seen


def _figure_id(name: str) -> str | None:
    match = _FIGURE_ID.fullmatch(name)
    return "/".join(match.groups()) if match else None


def _image_names(cell: str) -> list[str]:
    if not cell:
        return []
    path = PurePath(cell)
    if not path.suffix and not cell.isdecimal():
        return [cell]
    return [cell, path.name, path.stem, _image_number(path.name)]


def _image_number(name: str) -> str:
    """The number at the end of an image's name: 42 for COCO_val2014_000000000042.jpg."""
    match = _TRAILING_NUMBER.search(name)
    return str(int(match[1])) if match else name


def _group_keys(row: _DataRow) -> set[str]:
    """Names that a tool may use for the image of a row: the image's name, or the row's id without
    the question's number."""
    cells = row.cells
    names = {cells.get(column, "") for column in (*_IMAGE_NAME_COLUMNS, "question_id")}
    category = cells.get("category", "")
    names |= {f"{category}/{PurePath(name).name}" for name in names if name and category}
    return {name for name in names | {row.id.split(_QUESTION_SIGN)[0], row.id.rpartition("/")[0]} if name}


def _is_about(prediction: Prediction, question: str, row: _DataRow) -> bool | None:
    """Whether a prediction is about a row; None if the two files do not tell."""
    same_gold = _has_same_gold(prediction, row)
    question = _without_instruction(question)
    if not question or not row.question:
        return same_gold
    return _is_same_question(question, row.question) and same_gold is not False


def _is_same_question(one: str, other: str) -> bool:
    """Whether one holds the other: tools put a context or instructions around a question."""
    return one in other or other in one


def _has_same_gold(prediction: Prediction, row: _DataRow) -> bool | None:
    """Whether the gold answers are equal; None if one is missing or they differ in kind (letter,
    text)."""
    golds = _normalised_texts(prediction.gold)
    if not golds or not row.gold:
        return None
    labels = _normalised_texts([row.cells[label.upper()] for label in row.gold if label.upper() in row.cells])
    if golds & (row.gold | labels):
        return True
    is_letter = {len(text) == 1 for text in golds | row.gold}
    return False if len(is_letter) == 1 else None


def _normalised_texts(golds: Iterable[str]) -> frozenset[str]:
    return frozenset(text for gold in golds if (text := normalised_text(gold)))
