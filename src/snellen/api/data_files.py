"""Data files and the benchmarks that are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from snellen.benchmarks.declaration.data_file import data_file_declaration
from snellen.benchmarks.declaration.registry import is_data_source, is_description, open_benchmark, split_spec
from snellen.core.benchmark import Benchmark, DataTable, Variant
from snellen.data.detect import is_results
from snellen.data.predictions import read_predictions
from snellen.data.tables.open_table import open_table
from snellen.models.naming.registry import is_provider


def is_data_file(name: str) -> bool:
    """Whether a name means a file or folder of rows, and neither a model, a registered benchmark
    nor the description of one."""
    stem = split_spec(name).name
    if name.startswith(("http://", "https://")) or is_provider(name.partition("/")[0]):
        return False
    return is_results(stem) or (is_data_source(stem) and not is_description(stem))


def open_data(name: str, columns: Mapping[str, str] | None = None) -> DataTable:
    """The table of a data file, or of a benchmark by its name. Raises UsageError subclasses."""
    if is_results(name) or name.lower().endswith(".xlsx"):
        return read_predictions(name, columns=columns).table()
    if is_data_source(name) and not is_description(name):
        return open_table(name, columns=columns)
    return open_benchmark(name, Variant(columns=columns or {})).open()


def open_with_data(name: str, columns: Mapping[str, str]) -> tuple[Benchmark, DataTable]:
    """A benchmark, or the one that a data file makes, and its table. Raises UsageError
    subclasses."""
    variant = Variant(columns=columns)
    if is_results(name):
        table = open_data(name, columns)
        return replace(data_file_declaration(name)(variant), open=lambda: table), table
    benchmark = open_benchmark(name, variant)
    return benchmark, benchmark.open()
