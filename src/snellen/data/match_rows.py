"""Match the rows of a predictions file to the rows of the data.

By id, if both files use the same column and its values are unique. If a tool names the column
otherwise, or its id identifies an image rather than a question, then questions and gold answers
have to agree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from snellen.core.benchmark import DataTable, HasIds
from snellen.core.errors import DataError
from snellen.data.columns import DATA_ROW, ID_COLUMNS, id_text, row_gold, row_id
from snellen.data.predictions import normalised_question, normalised_text
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
    gold: tuple[str, ...]
    question: str


def match_rows(predictions: Predictions, table: DataTable) -> Predictions:
    """The predictions with the ids of the data rows that they answer.

    Several matchings are tried; of those whose questions and gold answers agree with the data, the
    one that matches most rows is used. Raises DataError if ids are ambiguous and no matching
    agrees.
    """
    if predictions.id_columns == ("index",) and "index" in table.columns and DATA_ROW not in predictions.columns:
        return predictions
    shared = _shared_column(predictions, table)
    if shared == predictions.id_columns:
        # Unique ids in the data's own id column: nothing to match, and the rows need not be read.
        own = next((name for name in ID_COLUMNS if name in table.columns), None)
        if shared == (own,) and DATA_ROW not in predictions.columns:
            return predictions
    rows = _data_rows(table)
    by_value = _match_by_value(predictions, rows, shared) if shared else []
    by_name = _match_by_image_name(predictions, rows)
    # An image's number may by chance be the id of a row with another image.
    by_id = [] if predictions.id_columns == ("image_id",) else _match_by_id(predictions, rows)
    candidates = [
        by_value,
        _match_by_question(predictions, rows),
        by_id,
        _match_by_row_number(predictions, rows),
        by_name,
    ]
    agreed = [
        matches
        for matches in (*candidates, _match_by_text(predictions, rows))
        if any(matches) and _is_consistent(predictions, matches)
    ]
    if agreed:
        return _with_row_ids(predictions, max(agreed, key=_matched_count))
    # Without questions or gold answers to check, ids and names are all there is to go by.
    by_names = next((matches for matches in (by_value, by_id, by_name) if any(matches)), None)
    if by_names is not None and (not _is_checkable(predictions, rows) or _have_same_questions(predictions, by_names)):
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
    row_by_value = {value: row for row in rows if (value := _joint_value(row.cells, columns))}
    return [row_by_value.get(_joint_value(prediction.cells, columns)) for prediction in predictions]


def _data_rows(table: DataTable) -> list[_DataRow]:
    """The rows of the data; the second row with the same id gets `<id>#2`."""
    id_counts: Counter[str] = Counter()
    rows = []
    for row in table:
        name = row_id(row)
        id_counts[name] += 1
        name = name if id_counts[name] == 1 else f"{name}#{id_counts[name]}"
        golds = (*row_gold(row), *([row.cells[INDEXED_ANSWER]] if INDEXED_ANSWER in row.cells else []))
        rows.append(
            _DataRow(name, row.cells, golds, _without_instruction(normalised_text(row.cells.get("question", ""))))
        )
    return rows


def _without_instruction(question: str) -> str:
    return _INSTRUCTION.sub("", question) or question


def _joint_value(cells: Mapping[str, str], columns: Sequence[str]) -> str:
    return "/".join([id_text(cells.get(column, "")) for column in columns])


def _shared_column(predictions: Predictions, table: DataTable) -> tuple[str, ...] | None:
    """Columns that both files have and whose values are unique, the id columns first."""
    candidates = [predictions.id_columns, *((name,) for name in _KEY_COLUMNS)]
    for columns in filter(None, dict.fromkeys(candidates)):
        if not set(columns) <= set(table.columns) or not set(columns) <= set(predictions.columns):
            continue
        prediction_values = _unique_values(
            _joint_value(prediction.cells, columns) for prediction in _distinct_rows(predictions)
        )
        if (
            prediction_values
            and _QUESTION_SIGN not in "".join(prediction_values)
            and prediction_values & _values_in(table, columns)
        ):
            return columns
    return None


def _values_in(table: DataTable, columns: Sequence[str]) -> set[str]:
    own = next((name for name in ID_COLUMNS if name in table.columns), None)
    if columns == (own,) and isinstance(table, HasIds):
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


def _distinct_rows(predictions: Predictions) -> Iterator[Prediction]:
    """The rows without exact repeats of an earlier row."""
    first: dict[str, Prediction] = {}
    for prediction in predictions:
        earlier = first.setdefault(prediction.id, prediction)
        if earlier is prediction or earlier.cells != prediction.cells:
            yield prediction


def _has_unique_ids(predictions: Predictions) -> bool:
    return bool(_unique_values(prediction.id for prediction in _distinct_rows(predictions)))


def _match_by_id(predictions: Predictions, rows: Sequence[_DataRow]) -> list[_DataRow | None]:
    """Match equal ids, whatever the columns are called; HallusionBench's ids by their figure.

    Empty if the ids of the predictions are not unique.
    """
    if not _has_unique_ids(predictions):
        return []
    row_by_id = {row.id: row for row in rows}
    row_by_figure = {figure: row for row in rows if (figure := _figure_id(row.id))}
    return [
        row_by_id.get(prediction.id) or row_by_figure.get(_figure_id(prediction.id) or "") for prediction in predictions
    ]


def _figure_id(name: str) -> str | None:
    match = _FIGURE_ID.fullmatch(name)
    return "/".join(match.groups()) if match else None


def _match_by_image_name(predictions: Predictions, rows: Sequence[_DataRow]) -> list[_DataRow | None]:
    """Match ids with the names, or numbers, of the rows' images."""
    if not _has_unique_ids(predictions):
        return []
    for column in _IMAGE_NAME_COLUMNS:
        row_by_name = {name: row for row in rows for name in _image_names(row.cells.get(column, ""))}
        if row_by_name:
            matches = [
                row_by_name.get(prediction.id) or row_by_name.get(_image_number(prediction.id))
                for prediction in predictions
            ]
            if any(matches):
                return matches
    return []


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


def _match_by_row_number(predictions: Predictions, rows: Sequence[_DataRow]) -> list[_DataRow | None]:
    """Match lmms-eval's row number, or the ids as numbers, with the rows of the data in order."""
    numbers = [
        prediction.cells.get(DATA_ROW, "") if predictions.id_columns else prediction.id for prediction in predictions
    ]
    return [rows[int(number)] if number.isdecimal() and int(number) < len(rows) else None for number in numbers]


def _match_by_text(predictions: Predictions, rows: Sequence[_DataRow]) -> list[_DataRow | None]:
    """Match equal questions; empty if two rows have the same question."""
    row_by_question = {row.question: row for row in rows if row.question}
    texts = [_without_instruction(normalised_question(prediction.cells)) for prediction in predictions]
    if len(row_by_question) < len(rows) or not _unique_values(texts):
        return []
    return [row_by_question.get(text) for text in texts]


def _match_by_question(predictions: Predictions, rows: Sequence[_DataRow]) -> list[_DataRow | None]:
    """Match by image id and question, for files with one row for each question about an image.

    Empty if ids do not repeat, or at most half of the rows match.
    """
    if _has_unique_ids(predictions) and not any(_QUESTION_SIGN in prediction.id for prediction in predictions):
        return []
    groups: dict[str, list[_DataRow]] = {}
    for row in rows:
        for key in _group_keys(row):
            groups.setdefault(key, []).append(row)
    matches: list[_DataRow | None] = []
    for prediction in predictions:
        question = normalised_question(prediction.cells)
        image = prediction.id.split(_QUESTION_SIGN)[0]
        # LLaVA's names of MME images: landmark/images/0001.jpg.
        rows_of_image = groups.get(image) or groups.get(image.replace("/images/", "/"), [])
        candidates = [row for row in rows_of_image if row.question and row.question in question]
        max_length = max((len(row.question) for row in candidates), default=0)
        candidates = [row for row in candidates if len(row.question) == max_length]
        matches.append(candidates[0] if len(candidates) == 1 else None)
    return matches if _matched_count(matches) > len(matches) * _MIN_MATCHED else []


def _group_keys(row: _DataRow) -> set[str]:
    """Names that a tool may use for the image of a row: the image's name, or the row's id without
    the question's number."""
    cells = row.cells
    names = {cells.get(column, "") for column in (*_IMAGE_NAME_COLUMNS, "question_id")}
    category = cells.get("category", "")
    names |= {f"{category}/{PurePath(name).name}" for name in names if name and category}
    return {name for name in names | {row.id.split(_QUESTION_SIGN)[0], row.id.rpartition("/")[0]} if name}


def _is_checkable(predictions: Predictions, rows: Sequence[_DataRow]) -> bool:
    """Whether predictions and data both hold questions or gold answers to check a matching by."""
    return any(prediction.gold or normalised_question(prediction.cells) for prediction in predictions) and any(
        row.gold or row.question for row in rows
    )


def _is_consistent(predictions: Predictions, matches: Sequence[_DataRow | None]) -> bool:
    """Whether questions and gold answers of the predictions agree with the matched rows.

    Gold answers alone may agree by chance, so without questions nearly all rows have to be matched.
    """
    has_questions = any(
        row is not None and row.question and normalised_question(prediction.cells)
        for prediction, row in zip(predictions, matches, strict=True)
    )
    if not has_questions and _matched_count(matches) < _MIN_AGREEMENT * len(matches):
        return False
    agreement: Counter[bool] = Counter()
    for prediction, row in zip(predictions, matches, strict=True):
        if row is not None and (is_same := _is_about(prediction, row)) is not None:
            agreement[is_same] += 1
    return agreement[True] > 0 and agreement[True] >= _MIN_AGREEMENT * agreement.total()


def _have_same_questions(predictions: Predictions, matches: Sequence[_DataRow | None]) -> bool:
    """Whether the questions agree with the matched rows and tell these apart: then gold answers may
    differ, as where a tool has written them in another form."""
    questions = [
        (_without_instruction(normalised_question(prediction.cells)), row.question)
        for prediction, row in zip(predictions, matches, strict=True)
        if row is not None and row.question
    ]
    same = sum(bool(one) and _is_same_question(one, other) for one, other in questions)
    distinct = len({other for _, other in questions})
    return same >= _MIN_AGREEMENT * len(matches) and distinct > len(matches) / 2


def _is_about(prediction: Prediction, row: _DataRow) -> bool | None:
    """Whether a prediction is about a row; None if the two files do not tell."""
    same_gold = _has_same_gold(prediction, row)
    question = _without_instruction(normalised_question(prediction.cells))
    if not question or not row.question:
        return same_gold
    return _is_same_question(question, row.question) and same_gold is not False


def _is_same_question(one: str, other: str) -> bool:
    """Whether one holds the other: tools put a context or instructions around a question."""
    return one in other or other in one


def _has_same_gold(prediction: Prediction, row: _DataRow) -> bool | None:
    """Whether the gold answers are equal; None if one is missing or they differ in kind (letter,
    text)."""
    prediction_golds, row_golds = _normalised_texts(prediction.gold), _normalised_texts(row.gold)
    if not prediction_golds or not row_golds:
        return None
    if prediction_golds & row_golds:
        return True
    labels = _normalised_texts([row.cells[label.upper()] for label in row_golds if label.upper() in row.cells])
    if prediction_golds & labels:
        return True
    is_letter = {len(text) == 1 for text in prediction_golds | row_golds}
    return False if len(is_letter) == 1 else None


def _normalised_texts(golds: Iterable[str]) -> set[str]:
    return {text for gold in golds if (text := normalised_text(gold))}


def _with_row_ids(predictions: Predictions, matches: Sequence[_DataRow | None]) -> Predictions:
    """The predictions with the ids of the data; unmatched ones keep theirs, marked if it is in
    use."""
    row_ids = {row.id for row in matches if row is not None}
    rows = []
    for prediction, row in zip(predictions, matches, strict=True):
        own_id = prediction.id if prediction.id not in row_ids else f"{prediction.id} (row {prediction.number})"
        rows.append(structs.replace(prediction, id=own_id if row is None else row.id))
    return replace(predictions, rows=tuple(rows))
