"""Inputs of `score`: files, or questions and predictions in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, NamedTuple, TypeAlias

from snellen.api._inputs import BenchmarkLike, as_data, keep_data
from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.api.results import Run, SampleResult, Samples
from snellen.benchmarks.declaration.registry import is_data_source, split_spec
from snellen.core.benchmark import Benchmark, BenchmarkFactory, DataTable, Variant
from snellen.core.errors import UsageError
from snellen.data.columns import row_id
from snellen.data.in_memory import Data, is_table, keep_rows
from snellen.settings import Settings

PredictionsLike: TypeAlias = Any
"""A file; a dict id -> reply; a list or column of replies in the order of the rows; rows with ids:
a list of dicts, a frame, a table, `Data`; a run or its samples; or the name of a column."""

_FOLDER = "in-memory"
"""Folder of the cache for rows that do not belong to a run."""
NAME_IN_MEMORY = "predictions"
"""Name of predictions in memory, in tables and as a file."""
_REPLY_ROLES = ("id", "prediction")
"""Columns that belong to the predictions, if these are separate from the data."""


class ColumnNames(NamedTuple):
    """Column names: our name to theirs."""

    call: Mapping[str, str]
    """Given in the call."""
    questions: Mapping[str, str] = {}
    """Given by the `Data` of the questions."""
    replies: Mapping[str, str] | None = {}
    """Given by the `Data` of the predictions; None if their columns have our names."""

    @property
    def single(self) -> dict[str, str]:
        """The columns of rows that hold questions and replies."""
        return {**self.questions, **self.call}

    def split(self, has_separate_data: bool) -> tuple[dict[str, str], dict[str, str]]:
        """The columns of the data and of the predictions. Without separate data, all belong to the
        predictions."""
        data_columns: dict[str, str] = {}
        reply_columns = dict(self.call)
        if has_separate_data:
            own = {role: name for role, name in self.call.items() if role not in _REPLY_ROLES}
            data_columns = {**self.questions, **own}
            reply_columns = {role: name for role, name in self.call.items() if role in _REPLY_ROLES}
        return data_columns, {} if self.replies is None else {**self.replies, **reply_columns}


class ScoringInputs(NamedTuple):
    """The arguments of `score`, with files in place of values in memory."""

    benchmark: str
    predictions: Path | str | None
    data: Path | str | None
    columns: ColumnNames
    name: str
    """Name of the predictions, that of their file if they have one."""
    own_benchmarks: Mapping[str, Benchmark | BenchmarkFactory]
    """Those of loaded files, by name."""


def scoring_inputs(
    benchmark: BenchmarkLike,
    predictions: PredictionsLike,
    data: BenchmarkLike,
    variant: Variant,
    columns: Mapping[str, str],
    load: Sequence[Path | str] = (),
) -> ScoringInputs:
    """Write inputs in memory to files of the cache. Raises UsageError for values that cannot be
    stored."""
    folder = Settings.from_environment().cache / _FOLDER
    named = benchmark if predictions is None else predictions
    if predictions is None and isinstance(benchmark, str):
        named = split_spec(benchmark).name
    name = Path(named).name if isinstance(named, str | PurePath) else NAME_IN_MEMORY
    names = ColumnNames(columns)
    is_kept = is_table(benchmark)
    if is_kept:
        names = names._replace(questions=as_data(benchmark).columns)
        benchmark = keep_data(as_data(benchmark, columns), folder)
    elif not isinstance(benchmark, str | PurePath):
        raise UsageError(
            f"a benchmark cannot be of type {type(benchmark).__name__}; expected a name, a path, or rows in memory"
        )
    if is_table(data):
        names = names._replace(questions=as_data(data).columns)
        data = keep_data(as_data(data, columns), folder)
    if is_kept and isinstance(predictions, str) and not Path(predictions).exists():
        names = names._replace(call={**columns, "prediction": predictions})
        name, predictions = NAME_IN_MEMORY, None
    elif predictions is not None and not isinstance(predictions, str | PurePath):
        own = predictions.columns if isinstance(predictions, Data) else {}
        names = names._replace(replies=own if _has_columns(predictions) else None)
        where = variant if data is None else replace(variant, data=str(data))
        if is_kept or where.data is not None or is_data_source(str(benchmark)):
            where = replace(where, columns=names.split(True)[0])
        predictions = _predictions_file(predictions, folder, str(benchmark), where)
    loaded: Mapping[str, Benchmark | BenchmarkFactory] = {}
    if load:
        from snellen.models.naming.custom import load_files

        loaded = load_files(load).benchmarks
    return ScoringInputs(str(benchmark), predictions, data, names, name, loaded)


def _predictions_file(predictions: Any, folder: Path, benchmark: str, variant: Variant) -> Path:
    """Predictions in memory as a file; replies without ids are those of the benchmark's rows."""
    if isinstance(predictions, Run):
        predictions = predictions.samples()
    if isinstance(predictions, Samples):
        predictions = {sample.id: sample.reply for sample in predictions if sample.failure is None}
    if _has_columns(predictions):
        rows = predictions.rows if isinstance(predictions, Data) else predictions
        return keep_rows(Data(rows, NAME_IN_MEMORY), folder)
    if isinstance(predictions, Mapping):
        return _keep_replies(predictions, predictions.values(), folder)
    replies, ids = _column(predictions)
    if ids is None:
        ids = list(_row_ids(replies, resolve_benchmark(benchmark, variant).open()))
    return _keep_replies(ids, replies, folder)


def _keep_replies(ids: Iterable[object], replies: Iterable[Any], folder: Path) -> Path:
    rows = [{"id": str(name), "prediction": reply} for name, reply in zip(ids, replies, strict=True)]
    return keep_rows(Data(rows, NAME_IN_MEMORY), folder)


def _has_columns(value: object) -> bool:
    """Whether predictions are rows with columns, rather than replies by id."""
    if isinstance(value, Mapping):
        return bool(value) and all(isinstance(item, list | tuple) for item in value.values())
    return is_table(value)


def _column(value: Any) -> tuple[list[Any], list[object] | None]:
    """The replies of a list or a column, and their ids if a pandas series has them as index."""
    if type(value).__name__ == "Series" and hasattr(value, "index"):
        is_numbered = type(value.index).__name__ == "RangeIndex"
        return list(value), None if is_numbered else list(value.index)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [item.reply if isinstance(item, SampleResult) else item for item in value], None
    for convert in ("to_list", "to_pylist", "tolist"):  # polars, Arrow, numpy
        if hasattr(value, convert):
            return list(getattr(value, convert)()), None
    raise UsageError(
        f"predictions cannot be of type {type(value).__name__}; expected a file, a dict id -> "
        "reply, a list of replies in the order of the data, or a frame with ids and replies"
    )


def _row_ids(replies: Sequence[Any], table: DataTable) -> list[str]:
    """The ids of the rows that a list of replies answers, in order. Raises UsageError if their
    numbers differ."""
    ids = [row_id(row) for row in table]
    if len(ids) != len(replies):
        raise UsageError(
            f"{len(replies):,} replies for the {len(ids):,} rows of {table.path}; give one for "
            "each row, in their order, or a dict id -> reply"
        )
    return ids
