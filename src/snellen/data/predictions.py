"""Predictions files: the replies of some system, in any of the supported formats."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, structs

from snellen.core.benchmark import DataTable
from snellen.core.errors import DataError, UnknownName, missing_file
from snellen.core.limits import Limits
from snellen.core.media import digest_bytes
from snellen.core.output import Failure, Generated, StopReason
from snellen.core.sample import Row
from snellen.data.columns import (
    COMPOSITE_IDS,
    FIGURE_IDS,
    GOLD_COLUMNS,
    ID_COLUMNS,
    REPLY_COLUMNS,
    SUBMISSION_COLUMNS,
    canonical_column,
    column_name,
    gold_answers,
    gold_column,
    id_text,
    is_image_column,
)
from snellen.data.detect import RESULT_SUFFIXES, TABLES, detect, is_empty, refuse_pickle, table_suffix
from snellen.data.documents import read_bounded
from snellen.data.tables.derived import DerivedTable
from snellen.data.tables.index import IndexedRow, Scan
from snellen.data.tables.open_table import scan_table
from snellen.data.tables.typed_rows import plain_rows
from snellen.data.tables.unpack import unpacked_file
from snellen.settings import Settings

if TYPE_CHECKING:
    from snellen.data.foreign.layout import ResultsLayout

QUESTION_COLUMNS = ("question", "prompt", "input")
"""Columns that hold the question, the first that exists."""
EACH_COUNTED, COUNTED_ONCE = "counted as given", "counted once"
"""What becomes of repeated rows: alone, and with data that have the row once."""
_WORD = re.compile(r"\w+")
_MEDIA_SIGN = re.compile(r"<[^<>]*>")
"""Placeholder of an image or a video in a prompt."""


def normalised_question(cells: Mapping[str, str]) -> str:
    """The question as lower-case words: tools put signs and blanks around it."""
    for column in QUESTION_COLUMNS:
        if cells.get(column):
            return normalised_text(cells[column])
    return ""


def normalised_text(text: str) -> str:
    """A text's words in lower case, separated by single blanks."""
    return " ".join(_WORD.findall(_MEDIA_SIGN.sub(" ", text).lower()))


_MAX_LISTED = 12
_FAILURE_STARTS = ("Failed", "[LMMS", "Video ")
_FAILURE_TEXT = re.compile(
    r"Failed to obtain answer|\[LMMS_EVAL_REQUEST_FAILED"
    r"|Video \S+ generate failed, check the source$"
)
"""Text that VLMEvalKit and lmms-eval write in place of a failed reply."""
_ERROR_COLUMN = "error"
_NO_ERROR = frozenset({"", "None", "null"})
"""`error` cells of rows without an error."""
_SUBMISSION_EXTRAS = frozenset({"answer", "answer_id", "model_id", "metadata", "score"})
"""Other columns in a file for an evaluation server, whose `answer` is the reply."""
_ANNOTATION_COLUMN = "annotation"
"""The gold answer in Qwen-VL's result files, whose `answer` is the reply."""


_FILE_COLUMN = "file"
"""Column of a folder's rows: the path of the file, without its suffix."""
_MAX_FILES = 1000
_VERDICT = "content"
_VERDICT_FILES = (frozenset({"model", "score", _VERDICT}), frozenset({"answer1_id", "answer2_id", _VERDICT}))
"""Columns of files that hold what a judge wrote and not the replies: MM-Vet's grades and
LLaVA-Bench's reviews."""
_UNKNOWN_REPLY = "(the reply is not in the file)"


class NoReplyColumn(DataError):
    """A file without a column that holds replies."""


class Prediction(Struct, frozen=True, gc=False):
    """One row of a predictions file.

    An empty `reply` is an empty answer; a `missing` row has no answer: its cell is null or absent.
    Empty `gold` means that the file has no gold answer for this row.
    """

    id: str
    reply: str
    gold: tuple[str, ...]
    cells: dict[str, str]
    number: int
    """Row of the file, from 1."""
    failure: str | None = None
    """Why there is no reply, if the row carries an error instead."""
    stop_reason: StopReason = "stop"
    missing: bool = False

    @property
    def is_error_text(self) -> bool:
        """Whether the reply is what another tool writes in place of a failed one."""
        return self.failure is not None and self.failure == self.reply.strip()


@dataclass(frozen=True, slots=True)
class Predictions:
    """The rows of a file, in order, including exact repeats."""

    path: str
    digest: str
    """SHA-256 of the unpacked file, in hex."""
    columns: tuple[str, ...]
    rows: tuple[Prediction, ...]
    id_columns: tuple[str, ...]
    """Empty if the ids are the rows' indices in the file, from 0."""
    reply_column: str
    gold_column: str | None
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Prediction]:
        return iter(self.rows)

    @property
    def has_unique_ids(self) -> bool:
        return len({row.id for row in self.rows}) == len(self.rows)

    def names(self) -> list[str]:
        """An id for each row; the second row with the same id has its number appended."""
        if self.has_unique_ids:
            return [row.id for row in self.rows]
        earlier_ids: set[str] = set()
        names = []
        for row in self.rows:
            names.append(f"{row.id} (row {row.number})" if row.id in earlier_ids else row.id)
            earlier_ids.add(row.id)
        return names

    def replies(self, *, errors_as_text: bool = False) -> dict[str, Generated | Failure]:
        """Replies by row name. A row with an error is a Failure, or with `errors_as_text` the reply
        that another tool takes its message for; a row without a reply is left out."""
        named_rows = zip(self.names(), self.rows, strict=True)
        return {
            name: Generated(row.reply, row.stop_reason) if row.failure is None else _as_output(row, errors_as_text)
            for name, row in named_rows
            if not row.missing
        }

    def with_empty_replies(self) -> Predictions:
        """The same with empty replies in place of missing ones."""
        return replace(self, rows=tuple(structs.replace(row, missing=False) for row in self.rows))

    def with_replies(self, cells: Mapping[str, str]) -> Predictions:
        """The same with these replies, by row name, in place of all others; a list, as logs hold
        several readings, leaves the reply."""
        rows = [
            row
            if (cell := cells.get(name, "")).startswith("[")
            else structs.replace(row, reply=cell, failure=None, missing=False)
            for name, row in zip(self.names(), self.rows, strict=True)
        ]
        return replace(self, rows=tuple(rows))

    def without_repeats(self) -> Predictions:
        """The same without exact repeats of earlier rows, for data that have each row once."""
        rows = self.rows if self.has_unique_ids else tuple(distinct_rows(self))
        warnings = tuple(warning.replace(EACH_COUNTED, COUNTED_ONCE) for warning in self.warnings)
        return replace(self, rows=rows, warnings=warnings)

    def column(self, name: str) -> dict[str, str]:
        """The non-empty cells of a column by row name. Raises UnknownName."""
        column = name if name in self.columns else column_name(name, 0)
        if column not in self.columns:
            raise UnknownName("column", name, self.columns)
        named_rows = zip(self.names(), self.rows, strict=True)
        return {row: prediction.cells[column] for row, prediction in named_rows if prediction.cells.get(column)}

    def table(self) -> PredictionTable:
        """The file's own rows as data, for files that include questions and options."""
        return PredictionTable(
            self.path, self.columns, self.digest, len(self), self._data_rows, None, self.names(), self.reply_column
        )

    def _data_rows(self) -> Iterator[Row]:
        for number, (name, row) in enumerate(zip(self.names(), self.rows, strict=True)):
            cells = {**row.cells, ID_COLUMNS[0]: name}
            if self.reply_column in GOLD_COLUMNS:
                cells.pop(self.reply_column, None)
            yield Row(number, cells)


def distinct_rows(predictions: Iterable[Prediction]) -> Iterator[Prediction]:
    """The rows without exact repeats of an earlier row."""
    first: dict[str, Prediction] = {}
    for prediction in predictions:
        earlier = first.setdefault(prediction.id, prediction)
        if earlier is prediction or earlier.cells != prediction.cells:
            yield prediction


@dataclass(frozen=True, slots=True)
class PredictionTable(DerivedTable):
    """A predictions file as a `DataTable` without images."""

    names: Sequence[str]
    reply_column: str

    def ids(self, at_least: int = 0) -> Iterator[str]:
        return (name for name in self.names if len(name) >= at_least)


def reply_columns(table: DataTable) -> tuple[str, ...]:
    """The column of a table that holds the replies, if it is a predictions file."""
    return (table.reply_column,) if isinstance(table, PredictionTable) else ()


def _as_output(row: Prediction, errors_as_text: bool) -> Generated | Failure:
    if row.failure is not None and not (errors_as_text and row.is_error_text):
        return Failure("request", row.failure)
    return Generated(row.reply, row.stop_reason)


def read_predictions(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
    settings: Settings | None = None,
    repeats: bool = False,
    max_rows: int | None = None,
) -> Predictions:
    """Read CSV, TSV, JSON Lines, JSON, XLSX or Parquet, by suffix; `.gz` is unpacked.

    A folder is read file by file; the column `file` then holds the path without its suffix. Sample
    logs of lmms-eval, logs of Inspect, MME's result files (one, or their folder) and SEED-Bench's
    results.json are detected by content. `columns` names the columns of `id`,
    `prediction` and `gold` (`id=split+question_id` joins two columns); `where` keeps the rows with
    these values; with `repeats`, two different replies to one question both count. Raises DataError
    (unreadable, no ids or replies, rows with one id that differ, more than `max_rows`) and
    UnknownName (no such column).
    """
    column_map, name = dict(columns or {}), str(path)
    scan = _scan_file(Path(path).expanduser(), column_map, name, settings or Settings.from_environment())
    numbered = [(number, row.cells) for number, row in enumerate(islice(scan.rows, max_rows), 1)]
    if next(scan.rows, None) is not None:
        raise DataError(f"{name} has more than {max_rows:,} rows; at most these are taken")
    columns_of_rows = {tuple(cells): None for _, cells in numbered}
    names = tuple(dict.fromkeys([*scan.columns, *chain.from_iterable(columns_of_rows)]))
    new_names = {column_name(name_in_file, 0): canonical_column(key) for key, name_in_file in column_map.items()}
    numbered = _select_rows(numbered, where or {}, new_names, names, name)
    id_columns, reply_column, gold = column_roles(names, name)
    # In a table every row has the reply column, so an empty cell is an empty reply.
    has_reply_column = reply_column in scan.columns
    rows = [
        _prediction(cells, number, id_columns, reply_column, gold, has_reply_column, name) for number, cells in numbered
    ]
    found = Predictions(name, scan.digest(), names, tuple(rows), id_columns, reply_column, gold)
    warnings = _repeat_warnings(found, count_each=repeats)
    if reply_column == _VERDICT:
        rows = [structs.replace(row, reply=_UNKNOWN_REPLY) for row in rows]
        warnings = (*warnings, f"{name} holds what a judge wrote and no replies")
    return replace(found, rows=tuple(rows), warnings=warnings)


class ColumnRoles(NamedTuple):
    """What the columns of a predictions file hold, as in `Predictions`."""

    ids: tuple[str, ...]
    reply: str
    gold: str | None


def column_roles(names: Sequence[str], name: str) -> ColumnRoles:
    """Raises DataError for a file without replies, or whose rows nothing tells apart."""
    ids = _id_columns(names)
    reply = _reply_column(names, ids, name)
    gold = gold_column(column for column in names if column != reply)
    if not ids and gold is None:
        raise DataError(
            f"{name}: no column says which question a row answers; expected one of "
            f"{', '.join(ID_COLUMNS)}, but the columns are {_column_list(names)}; "
            "choose one with --columns id=..."
        )
    return ColumnRoles(ids, reply, gold)


def _prediction(
    cells: dict[str, str],
    number: int,
    id_columns: Sequence[str],
    reply_column: str,
    gold: str | None,
    has_reply_column: bool,
    name: str,
) -> Prediction:
    """One row of the file. A row is missing if it has no error and its reply cell is null or
    absent."""
    reply = cells.get(reply_column, "")
    text = reply.strip()
    failure = None if text and not text.startswith(_FAILURE_STARTS) else _failure_message(cells, text)
    cell = cells.get(id_columns[0], "") if len(id_columns) == 1 else ""
    return Prediction(
        cell if cell.isalnum() else _row_id(cells, id_columns, number, name),
        reply,
        gold_answers(cells, gold) if gold else (),
        cells,
        number,
        failure,
        "length" if cells.get("stop_reason") == "length" else "stop",
        failure is None and not has_reply_column and reply_column not in cells,
    )


def _failure_message(cells: Mapping[str, str], reply: str) -> str | None:
    """The error of a row without a reply: its `error` cell, or what other tools write in its
    place. MathVista's files put an error of a program that a reply holds into `error`, so a reply
    in any column speaks against a failure."""
    if reply.startswith(_FAILURE_STARTS) and _FAILURE_TEXT.match(reply):
        return reply
    if reply or any(cells.get(column, "").strip() for column in REPLY_COLUMNS):
        return None
    error = cells.get(_ERROR_COLUMN, "").strip()
    return None if error in _NO_ERROR else error


def _scan_file(path: Path, column_map: Mapping[str, str], name: str, settings: Settings) -> Scan:
    """Recognise a file, and read it as what it is. Raises DataError."""
    refuse_pickle(path, name)
    if not path.exists():
        raise DataError(f"{name}: {missing_file(path)}")
    suffix = table_suffix(path)
    if suffix not in (*TABLES, *RESULT_SUFFIXES) and not path.is_dir():
        raise DataError(
            f"{name}: unknown kind of predictions file {suffix or path.name!r}; "
            f"expected {', '.join(TABLES)}, also with .gz, a log of Inspect (.eval), or MME's "
            "result files (.txt, or their folder)"
        )
    try:
        if path.is_dir():
            plain = path
        else:
            if is_empty(path, name):
                raise DataError(f"{name} is empty: expected rows with an id and a prediction")
            plain = unpacked_file(path, settings.cache, settings.limits)
        found = detect(plain)
        if found is not None and found.layout is not None:
            return _scan_results(found.layout, plain, column_map, name, settings.limits)
        if found is None or path.is_dir():
            return _scan_folder(path, column_map, name, settings)
        return scan_table(f".{found.kind}", plain, column_map, name, settings.limits)
    except OSError as error:
        raise DataError(f"{name} cannot be read: {error.strerror or error}") from error


def _scan_results(layout: ResultsLayout, path: Path, column_map: Mapping[str, str], name: str, limits: Limits) -> Scan:
    """The rows of another tool's results. They are read at once, as errors are about the file."""
    from snellen.data.foreign.mme import results_digest

    rows = list(plain_rows(layout.records(path, name, limits), column_map, name))
    return Scan((), iter(rows), partial(results_digest, path))


def _scan_folder(folder: Path, column_map: Mapping[str, str], name: str, settings: Settings) -> Scan:
    """The rows of all predictions files of a folder and its folders, by name; the column `file`
    holds a file's path without its suffix. Raises DataError."""
    files = [path for path in sorted(folder.rglob("*")) if table_suffix(path) in TABLES and path.is_file()]
    pages = [page for page in sorted(folder.glob("*.md")) if page.stem.lower() != "readme"]
    if pages and not files:
        return _scan_pages(pages, column_map, name, settings.limits)
    if not 0 < len(files) <= _MAX_FILES:
        content = f"with {len(files):,} files" if files else "without result files"
        raise DataError(
            f"{name} is a folder {content}; expected MME's results, one .txt for each subtask, a page of Markdown "
            f"(.md) for each id, or up to {_MAX_FILES} predictions files ({', '.join(TABLES)})"
        )
    columns: dict[str, None] = {}
    rows: list[IndexedRow] = []
    digests = []
    for path in files:
        scan = _scan_file(path, column_map, str(path), settings)
        relative = path.relative_to(folder)
        plain = relative.with_suffix("") if relative.suffix.lower() == ".gz" else relative
        part = plain.with_suffix("").as_posix()
        rows += [structs.replace(row, cells={**row.cells, _FILE_COLUMN: part}) for row in scan.rows]
        columns |= dict.fromkeys(scan.columns)
        digests.append(f"{part} {scan.digest()}")
    return Scan(tuple(columns), iter(rows), lambda: digest_bytes("\n".join(digests).encode()))


def _scan_pages(pages: Sequence[Path], column_map: Mapping[str, str], name: str, limits: Limits) -> Scan:
    """The pages that OCR tools write, a file for each id, as their scorers take them. Raises DataError."""
    texts = {page.stem: read_bounded(page, limits, f"{name}/{page.name}") for page in pages}
    records = ({"id": stem, "prediction": text.decode("utf-8", "replace")} for stem, text in texts.items())
    digests = "\n".join(f"{stem} {digest_bytes(text)}" for stem, text in texts.items())
    return Scan((), plain_rows(records, column_map, name), lambda: digest_bytes(digests.encode()))


def _select_rows(
    rows: list[tuple[int, dict[str, str]]],
    where: Mapping[str, str],
    new_names: Mapping[str, str],
    columns: Sequence[str],
    name: str,
) -> list[tuple[int, dict[str, str]]]:
    """The rows with the requested values; `new_names` maps renamed columns to their new names."""
    for requested, value in where.items():
        column = requested if requested in columns else column_name(requested, 0)
        column = new_names.get(column, column)
        if column not in columns:
            raise UnknownName("column", requested, columns)
        selected = [row for row in rows if row[1].get(column, "") == value]
        if not selected:
            values = sorted({cells.get(column, "") for _, cells in rows})
            more = f" and {len(values) - _MAX_LISTED} more" if len(values) > _MAX_LISTED else ""
            raise DataError(
                f"{name}: no row has {requested}={value}; "
                f"values of {column!r}: {', '.join(map(repr, values[:_MAX_LISTED]))}{more}"
            )
        rows = selected
    return rows


def _id_columns(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that form the id; empty if rows are only identified by their index."""
    figures = set(FIGURE_IDS) <= set(columns)
    for column in ID_COLUMNS:
        if column in columns:
            return FIGURE_IDS if figures and column == FIGURE_IDS[-1] else (column,)
    return next((columns_of_id for columns_of_id in COMPOSITE_IDS[::-1] if set(columns_of_id) <= set(columns)), ())


def _reply_column(columns: Sequence[str], ids: Sequence[str], name: str) -> str:
    for column in REPLY_COLUMNS:
        if column in columns:
            return column
    if _ERROR_COLUMN in columns:
        return REPLY_COLUMNS[0]
    for column in SUBMISSION_COLUMNS:
        other_columns = {other for other in columns if other not in ids and not is_image_column(other)}
        is_submission = other_columns <= _SUBMISSION_EXTRAS or _ANNOTATION_COLUMN in other_columns
        if column in columns and (column != "answer" or is_submission):
            return column
    if any(layout <= set(columns) for layout in _VERDICT_FILES):
        return _VERDICT
    raise NoReplyColumn(
        f"{name}: no column holds the replies; expected prediction or response, but the columns "
        f"are {_column_list(columns)}; choose one with --columns prediction=..."
    )


def _column_list(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - _MAX_LISTED} more" if len(columns) > _MAX_LISTED else ""
    return ", ".join(columns[:_MAX_LISTED]) + more


def _row_id(cells: Mapping[str, str], columns: Sequence[str], number: int, name: str) -> str:
    if not columns:
        return str(number - 1)
    values = [id_text(cells.get(column, "")) for column in columns]
    if not all(values):
        raise DataError(f"{name}, row {number}: the id ({'+'.join(columns)}) is empty")
    return "/".join(values)


def _repeat_warnings(predictions: Predictions, *, count_each: bool) -> tuple[str, ...]:
    """Warnings about rows whose id occurred before, with equal cells or (ids of images) another
    question.

    With `count_each`, two different replies to one question are both kept; otherwise they raise
    DataError.
    """
    if predictions.has_unique_ids:
        return ()
    first: dict[str, Prediction] = {}
    same: list[Prediction] = []
    others: list[Prediction] = []
    for row in predictions:
        earlier = first.setdefault(row.id, row)
        if earlier is row:
            continue
        if earlier.cells == row.cells:
            same.append(row)
        elif count_each or _has_other_question(earlier, row):
            others.append(row)
        else:
            raise DataError(_clash_message(earlier, row, predictions))
    found = (
        (same, "repeats", "repeat", f"an earlier one, {EACH_COUNTED}"),
        (others, "has", "have", "the id of an earlier one and other content, each is counted"),
    )
    return tuple(
        f"{predictions.path}: {f'1 row {one}' if len(rows) == 1 else f'{len(rows)} rows {many}'} {what} "
        f"(id {rows[0].id!r}: rows {first[rows[0].id].number} and {rows[0].number})"
        for rows, one, many, what in found
        if rows
    )


def _has_other_question(first: Prediction, second: Prediction) -> bool:
    """Whether two rows hold two questions, as for two questions about one image."""
    questions = normalised_question(first.cells), normalised_question(second.cells)
    return all(questions) and questions[0] != questions[1]


def _clash_message(first: Prediction, second: Prediction, predictions: Predictions) -> str:
    """The message for two rows that clash, with the column that would separate them, if there is
    one."""
    rows, ids, name = predictions.rows, predictions.id_columns, predictions.path
    files = first.cells.get(_FILE_COLUMN, ""), second.cells.get(_FILE_COLUMN, "")
    if files[0] != files[1] and Path(name).is_dir():
        return _clash_of_files(first.id, files, predictions)
    advice = "leave one of them out"
    for column in predictions.columns:
        if column in ids or first.cells.get(column) == second.cells.get(column):
            continue
        pairs = Counter((row.id, row.cells.get(column)) for row in rows)
        values = {row.cells.get(column) for row in rows}
        if max(pairs.values()) == 1 and 1 < len(values) <= len(rows) // 2:
            advice = (
                f"the file holds {len(values)} values of {column!r}: choose one with --where "
                f"{column}={second.cells.get(column, '')}, or count each with "
                f"--columns id={column}+{'+'.join(ids)}"
            )
            break
    return f"{name}: rows {first.number} and {second.number} have the same id {first.id!r} but differ; {advice}"


def _clash_of_files(name_of_row: str, files: tuple[str, str], predictions: Predictions) -> str:
    """The message for an id that two files of a folder hold: which of them repeats all others, as
    a table of answers beside replies by subject does, or that there are two systems in it."""
    ids: dict[str, set[str]] = {}
    for row in predictions:
        ids.setdefault(row.cells[_FILE_COLUMN], set()).add(row.id)
    clash = f"{predictions.path}: {files[0]} and {files[1]} both hold the id {name_of_row!r}, and differ"
    for file in files:
        others = [of_it for other, of_it in ids.items() if other != file and of_it & ids[file]]
        if len(others) > 1 and sum(map(len, others)) == len(ids[file]) == len(set().union(*others)):
            return (
                f"{clash}: {file} has the ids of {len(others)} other files once more; choose it "
                f"alone with --where {_FILE_COLUMN}={file}, or score a folder without it"
            )
    return f"{clash}; choose one with --where {_FILE_COLUMN}={files[0]}, or give a folder of one"
