"""How to score a published file of results so that it gives the published number
(`benchmarks/data/results_files.toml`).

Such files hold columns that no rule can choose between: raw replies beside the letters that a model
extracted from them, and verdicts of a judge that may be counted or asked for again.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

import msgspec
from msgspec import Struct

from snellen.data.toml_files import read_packaged

_FILE = "data/results_files.toml"


class ResultsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A layout in which authors publish results, and the advice for it."""

    columns: tuple[str, ...]
    """By these it is known; none where nothing in the file tells it from others."""
    advice: str
    verdicts: str = ""
    """Column of recorded verdicts (`A+B` for two) that are counted unless a judge is named."""
    official: str = ""
    """Column that the rule `official` reads in place of `prediction`."""
    complete: bool = False
    """Whether the verdicts make the score, without the gold answers of any data."""
    runs: bool = False
    """Whether a verdict may be a list of grades, one of each run of the judge."""
    judged: bool = False
    """Whether the advice is about verdicts, so that it is of no use to one who names a judge."""
    tool: str = "the authors' script"
    """Who wrote the columns."""


NULLS_COUNT = frozenset({"mathvision", "mathvista", "tempcompass"})
"""Benchmarks whose authors count every row of their files, one whose reply is null as wrong."""


def results_files(benchmark: str) -> tuple[ResultsFile, ...]:
    """The layouts that are known of a benchmark's results."""
    return _all_results_files().get(benchmark, ())


def results_file_of(benchmark: str, columns: Collection[str]) -> ResultsFile | None:
    """The layout of a file of these columns, if it is a known one."""
    known = (layout for layout in results_files(benchmark) if layout.columns)
    return next((layout for layout in known if set(layout.columns) <= set(columns)), None)


def benchmarks_of_layout(columns: Collection[str]) -> dict[str, str]:
    """The benchmarks that have a layout of these columns, with its advice."""
    fitting = {benchmark: results_file_of(benchmark, columns) for benchmark in _all_results_files()}
    return {benchmark: layout.advice for benchmark, layout in fitting.items() if layout is not None}


def advice_on(benchmark: str, columns: Collection[str], has_judge: bool) -> str | None:
    """The advice for a file of these columns, if it is of such a layout and needs advice."""
    layout = results_file_of(benchmark, columns)
    return None if layout is None or (layout.judged and has_judge) else layout.advice


@cache
def _all_results_files() -> dict[str, tuple[ResultsFile, ...]]:
    return msgspec.convert(read_packaged("snellen.benchmarks", _FILE), dict[str, tuple[ResultsFile, ...]])
