"""Reported numbers from a file of anybody: a row for each model, a column for each number.

CSV, TSV, JSON, JSON Lines, Parquet and XLSX are read, with the limits that files of strangers have.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from snellen.core.errors import DataError, UsageError
from snellen.core.summary import Metric, Summary
from snellen.data.columns import column_name
from snellen.data.tables.open_table import open_table
from snellen_hub.benchmark_data import NewBenchmark
from snellen_hub.config import SubmissionLimits
from snellen_hub.intake import ModelFacts
from snellen_hub.reported_numbers.model_facts import facts_of_model
from snellen_hub.reported_numbers.numbers import (
    Groups,
    ReportedBoard,
    ReportedRow,
    ReportedTables,
    ReportSource,
    clean_model_name,
    make_summary,
    share_interval,
)
from snellen_hub.uploaded_replies import strict_settings

_MOST_ROWS = 10_000
_MOST_SAMPLES = 1_000_000_000
_FACT_COLUMNS = ("parameters", "weights", "released", "organisation", "link", "notes")
_SHARE_WARNING = "every score is at most 1: if they are shares, give --facts highest=1; boards show percentages"


class ScoreColumn(NamedTuple):
    """A column of numbers, and what it is on the board."""

    column: str
    metric: str = ""
    """Name of the metric; of the first column, empty: the headline of the benchmark."""
    group: str = ""
    """The grouping that it is a label of, such as `category`; empty: a metric."""


class ColumnMap(Struct, frozen=True, kw_only=True):
    """Which column is what."""

    scores: tuple[ScoreColumn, ...]
    """The first is the headline."""
    model: str = "model"
    samples: str = ""
    """The column with the number of samples; empty: unknown."""
    facts: dict[str, str] = {}
    """Facts of a model: our name to the column."""
    top: float = 100.0
    """The highest value a score can have."""


def map_columns(named: Mapping[str, str], top: float) -> ColumnMap:
    """Read the roles of columns: `model`, `samples`, facts of models, and numbers: `score`, the
    name of a metric, or `GROUP/LABEL`. Raises UsageError."""
    scores = []
    for role, column in named.items():
        if role in ("model", "samples", *_FACT_COLUMNS):
            continue
        group, slash, label = role.partition("/")
        if not column or (slash and not (group and label)):
            raise UsageError(f"--columns {role}={column}: expected score=COLUMN, METRIC=COLUMN or GROUP/LABEL=COLUMN")
        metric = label if slash else "" if role == "score" else role
        scores.append(ScoreColumn(column, metric, group if slash else ""))
    if scores and scores[0].group:
        raise UsageError(f"--columns: the first number is the headline, and {scores[0].column} is one of a group")
    return ColumnMap(
        scores=tuple(scores) or (ScoreColumn("score"),),
        model=named.get("model", "model"),
        samples=named.get("samples", ""),
        facts={fact: named[fact] for fact in _FACT_COLUMNS if fact in named},
        top=top,
    )


def read_table_file(
    path: Path,
    *,
    board: str,
    headline: str,
    columns: ColumnMap,
    source: ReportSource,
    other_protocol: str = "",
    limits: SubmissionLimits,
) -> ReportedTables:
    """The rows of a file as a board. `headline` is how the benchmark's own scoring names it.

    Raises DataError with the row and column of a mistake.
    """
    _check_size(path, limits)
    with tempfile.TemporaryDirectory(prefix="snellen-import-") as folder:
        table = open_table(str(path), settings=strict_settings(Path(folder), limits))
        names = _check_columns(path, list(table.columns), columns)
        if len(table) > _MOST_ROWS:
            raise DataError(f"{path} has {len(table):,} rows; at most {_MOST_ROWS:,} are imported")
        seen: dict[str, int] = {}
        rows = []
        for row in table:
            where = f"{path}, row {row.index + 1}"
            cells = {**row.cells, **{name: row.cells.get(own, "") for name, own in names.items()}}
            model = clean_model_name(cells[columns.model], where)
            if model in seen:
                raise DataError(f"{where}: the model {model!r} stands in row {seen[model]} already")
            seen[model] = row.index + 1
            summary = _parse_summary(cells, where, headline, columns)
            facts = _parse_facts(cells, where, model, columns)
            rows.append(
                ReportedRow(model=model, summary=summary, source=source, facts=facts, other_protocol=other_protocol)
            )
    if not rows:
        raise DataError(f"{path} holds no rows")
    values = [row.summary.headline.value for row in rows]
    low = columns.top == 100 and all(value is not None and value <= 1 for value in values)
    return ReportedTables(
        boards=(ReportedBoard(NewBenchmark(name=board, title=board, data=None), tuple(rows)),),
        warnings=(f"{path}: {_SHARE_WARNING}",) if low else (),
    )


def _check_size(path: Path, limits: SubmissionLimits) -> None:
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    size, most = path.stat().st_size, limits.megabytes * 1_000_000
    if size > most:
        raise DataError(f"{path} has {size:,} bytes; at most {most:,} are taken")


def _check_columns(path: Path, existing: list[str], columns: ColumnMap) -> dict[str, str]:
    """The name of each column as the table has it. Raises DataError for one that it lacks."""
    asked = [columns.model, *(score.column for score in columns.scores), *columns.facts.values()]
    if columns.samples:
        asked.append(columns.samples)
    names = {}
    for name in asked:
        names[name] = column_name(name, 0)
        if names[name] not in existing:
            raise DataError(f"{path} has no column {name!r}; its columns are {', '.join(existing[:20])}")
    return names


def _parse_summary(cells: Mapping[str, str], where: str, headline: str, columns: ColumnMap) -> Summary:
    n = _parse_count(cells[columns.samples], where, columns.samples) if columns.samples else 0
    metrics: list[Metric] = []
    groups: Groups = {}
    for place, score in enumerate(columns.scores):
        value = _parse_number(cells[score.column], where, score.column, columns.top)
        name = score.metric or (headline if place == 0 else score.column)
        # A count is known of the whole row, not of its groups.
        metric = _make_metric(name, value, 0 if score.group else n, columns.top)
        if score.group:
            groups.setdefault(score.group, {})[score.metric] = metric
        else:
            metrics.append(metric)
    return make_summary(metrics[0], metrics[1:], groups)


def _make_metric(name: str, value: float | None, n: int, top: float) -> Metric:
    """The number with Wilson's interval where the samples are known and it is a percentage."""
    if top == 1:
        value, top = (None if value is None else 100 * value), 100.0
    if top != 100:
        return Metric(name, value, n, unit="points", top=top)
    interval = None
    if n and value is not None:
        interval = share_interval(value * n / 100, n)
    return Metric(name, value, n, interval)


def _parse_number(cell: str, where: str, column: str, top: float) -> float | None:
    text = cell.strip()
    if text in ("", "-", "–", "—", "N/A", "n/a", "nan", "NaN", "null", "None"):
        return None
    try:
        value = float(text.removesuffix("%").strip()) if len(text) < 40 else float("nan")
    except ValueError:
        value = float("nan")
    if not math.isfinite(value):
        raise DataError(f"{where}, column {column}: {text[:60]!r} is not a number")
    if not 0 <= value <= top:
        raise DataError(
            f"{where}, column {column}: {text} is out of range; expected 0 to {top:g} "
            "(--facts highest=N sets the highest value)"
        )
    return value


def _parse_count(cell: str, where: str, column: str) -> int:
    text = cell.strip().replace(",", "")
    if not text:
        return 0
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:12]) <= _MOST_SAMPLES:
        raise DataError(f"{where}, column {column}: {cell.strip()[:60]!r} is no number of samples")
    return int(text)


def _parse_facts(cells: Mapping[str, str], where: str, model: str, columns: ColumnMap) -> ModelFacts:
    """Facts from the columns that were named, and from columns that are called as a fact."""
    known: dict[str, Any] = {}
    for fact in _FACT_COLUMNS:
        cell = cells.get(columns.facts.get(fact, fact), "").strip()
        if cell in ("", "-", "N/A"):
            continue
        if fact == "parameters":
            cell = cell.upper().removesuffix("B").strip()
            try:
                known[fact] = float(cell)
            except ValueError as error:
                raise DataError(f"{where}: parameters are {cell!r}; expected billions, such as 7 or 7B") from error
        else:
            known[fact] = cell.lower() if fact == "weights" else cell
    try:
        checked = msgspec.convert(known, ModelFacts)
    except msgspec.ValidationError as error:
        raise DataError(f"{where}: {error}") from error
    listed = msgspec.to_builtins(facts_of_model(model))
    return msgspec.convert({**listed, **msgspec.to_builtins(checked)}, ModelFacts)
