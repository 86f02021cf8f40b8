"""Benchmarks as the user passes them: names, paths, or rows in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from snellen.benchmarks.declaration.registry import expand_suites, is_registered
from snellen.core.benchmark import Benchmark
from snellen.core.errors import DataError, UsageError
from snellen.core.sample import origin_of
from snellen.data.in_memory import Data, is_table, keep_rows
from snellen.engine.offline.gold_check import check_golds

BenchmarkLike: TypeAlias = Any
"""A name or path, a `Benchmark`, `Data`, or rows: a list of dicts, a frame, a table, a data set."""


_NAMED = (str, PurePath, Benchmark)
"""Types of benchmarks that are no rows."""


class BenchmarkInput(NamedTuple):
    """A benchmark as `resolve_benchmark` takes it."""

    spec: str | Benchmark
    columns: Mapping[str, str] = {}
    """Column names given for these rows alone, if any: our name to theirs."""


def benchmark_inputs(benchmarks: BenchmarkLike, folder: Path, columns: Mapping[str, str]) -> list[BenchmarkInput]:
    """The benchmarks of a call: one, or several in a list, each once. Suites are expanded; rows in
    memory are kept in `folder`, with the call's `columns` if they name none. Raises UsageError for
    values of other types, and for rows that cannot be kept.
    """
    values = _as_list(benchmarks)
    if not values:
        raise UsageError(
            "no benchmark is given, and no rows: the list is empty; expected a name such as 'eyechart', a path, or rows"
        )
    tables = [index for index, value in enumerate(values) if not isinstance(value, _NAMED) and is_table(value)]
    data = {index: as_data(values[index], columns) for index in tables}
    for name, count in Counter(each.name for each in data.values()).items():
        if count > 1:
            raise UsageError(
                f"{count} sets of rows are called {name!r}; give each a name: snellen.Data(rows, name=...)"
            )
    inputs: list[BenchmarkInput] = []
    for index, value in enumerate(values):
        if index in data:
            path = keep_data(data[index], folder)
            inputs.append(BenchmarkInput(str(path), data[index].columns))
        elif isinstance(value, _NAMED):
            specs = expand_suites([str(value) if isinstance(value, PurePath) else value])
            inputs += [BenchmarkInput(spec) for spec in specs]
        else:
            raise _no_benchmark(value)
    return [each for index, each in enumerate(inputs) if each not in inputs[:index]]


def as_data(value: object, columns: Mapping[str, str] = MappingProxyType({})) -> Data:
    """Rows in memory with a name, and with these column names if they have none of their own."""
    data = value if isinstance(value, Data) else Data(value)
    return data if data.columns else replace(data, columns=columns)


def keep_data(data: Data, folder: Path) -> Path:
    """Write rows in memory to a file and return its path. Raises UsageError for the name of a
    built-in benchmark: a reopened run would look like one on that benchmark's data."""
    if is_registered(data.name):
        raise UsageError(
            f"{data.name} is a benchmark that Snellen knows; give your rows another name: "
            f"snellen.Data(rows, name='my-{data.name}')"
        )
    return keep_rows(data, folder)


def refuse_unanswered(benchmark: Benchmark) -> None:
    """Raise DataError if the benchmark is a user's data file without any answers: requests would
    cost money and give no score."""
    sentence = without_answers(benchmark)
    if sentence:
        raise DataError(
            f"{sentence}, so nothing could be scored and nothing was asked; name the column of "
            "answers with --columns gold=NAME (of boxes bbox=NAME), or ask all the same with --columns gold= (in "
            "Python: Data(rows, columns={'gold': NAME}), or require_answers=False)"
        )


def refuse_unplaced(benchmark: Benchmark) -> None:
    """Raise DataError if a benchmark of places is given data without any gold place that it can read."""
    table = benchmark.open()
    origin = origin_of(table)
    if origin is None or origin.kind != "custom" or not len(table):
        return
    for sample in benchmark.samples(table):
        if sample.kind != "place" or sample.gold:
            return
    raise DataError(
        f"{table.path}: no row has a gold place where {benchmark.name} reads it (its columns are "
        f"{', '.join(table.columns)}), so nothing could be scored and nothing was asked; name the column with "
        f"--columns gold=NAME, or ask the file by itself: -b {table.path}"
    )


def refuse_unreachable_golds(benchmark: Benchmark) -> None:
    """Raise DataError if the benchmark is a user's data file, and the reply that is its gold answer
    is wrong in one of a few rows."""
    table = benchmark.open()
    origin = origin_of(table)
    if origin is not None and origin.kind == "own":
        check_golds(benchmark, table)


def without_answers(benchmark: Benchmark) -> str:
    """A sentence that no row of the user's data file has an answer; empty if one has, or if the
    benchmark is not a plain data file."""
    table = benchmark.open()
    origin = origin_of(table)
    if origin is None or origin.kind != "own" or origin.spec or not len(table):
        return ""
    # A row without a question is an error of its own, with a sentence of its own.
    if any(sample.gold or not sample.question for sample in benchmark.samples(table)):
        return ""
    none = f"none of {len(table):,} rows has" if len(table) > 1 else "its one row does not have"
    return f"{table.path}: {none} an answer (its columns are {', '.join(table.columns)})"


def _as_list(value: BenchmarkLike) -> Sequence[Any]:
    if isinstance(value, _NAMED):
        return [value]
    if isinstance(value, list | tuple) and value and all(isinstance(each, _NAMED) for each in value):
        return value
    if is_table(value):
        return [value]
    if isinstance(value, Sequence):
        return value
    raise _no_benchmark(value)


def _no_benchmark(value: object) -> UsageError:
    return UsageError(
        f"a benchmark cannot be of type {type(value).__name__}; expected a name, a path, rows (a "
        "list of dicts, a frame, a datasets.Dataset), or snellen.Data(rows, name=...)"
    )
