"""Reported numbers before they are put on a board: rows with their source, boards, suites."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files

from msgspec import Struct

from snellen.core.errors import DataError, UsageError
from snellen.core.summary import Interval, Metric, Summary
from snellen.stats.intervals import wilson
from snellen_hub.benchmark_data import NewBenchmark
from snellen_hub.boards.suite_members import NewSuite
from snellen_hub.intake import ModelFacts

_LONGEST_TEXT = 500
_LONGEST_NAME = 200
_ADDRESS = re.compile(r"https?://[^\s<>\"']{1,490}")

Groups = dict[str, dict[str, Metric]]


class ReportSource(Struct, frozen=True, omit_defaults=True):
    """Where reported numbers are from."""

    title: str
    url: str = ""
    table: str = ""
    note: str = ""
    """What a reader must know of the row, in a sentence."""


def make_source(title: str, url: str = "", table: str = "", note: str = "") -> ReportSource:
    """A source that somebody typed. Raises UsageError for an address that is none."""
    texts = [" ".join(text.split()) for text in (title, table, note)]
    if not all(text.isprintable() and len(text) <= _LONGEST_TEXT for text in texts):
        raise UsageError(f"a source is described in printable characters, at most {_LONGEST_TEXT} a field")
    if url and not _ADDRESS.fullmatch(url):
        raise UsageError(f"url={url}: expected an address such as https://arxiv.org/abs/...")
    return ReportSource(texts[0], url, texts[1], texts[2])


def clean_model_name(text: str, where: str) -> str:
    """The name in one line. Raises DataError for one that is empty, too long or not printable."""
    name = " ".join(text.split())
    if not name:
        raise DataError(f"{where}: the model has no name")
    if len(name) > _LONGEST_NAME:
        raise DataError(f"{where}: the model's name has {len(name)} characters; expected at most {_LONGEST_NAME}")
    if not name.isprintable() or "\ufffd" in name:
        raise DataError(f"{where}: the model is called {name!r}; expected printable characters")
    return name


class ReportedRow(Struct, frozen=True, kw_only=True):
    """The numbers of one model."""

    model: str
    summary: Summary
    """With the names of the benchmark's own scoring. `n` is 0 where no sample count is known."""
    source: ReportSource
    facts: ModelFacts = ModelFacts()
    other_protocol: str = ""
    """How the numbers were made, if otherwise than the benchmark's protocol: a sentence."""


class ReportedBoard(Struct, frozen=True):
    """The rows of one benchmark, and what its owner would say of it on a hub that lacks it."""

    benchmark: NewBenchmark
    rows: tuple[ReportedRow, ...]


class ReportedTables(Struct, frozen=True, kw_only=True):
    """What one import brings."""

    boards: tuple[ReportedBoard, ...]
    suites: tuple[NewSuite, ...] = ()
    warnings: tuple[str, ...] = ()
    """Cells that contradict others, one sentence each. Numbers stay as printed."""


def make_summary(
    headline: Metric,
    metrics: Iterable[Metric] = (),
    groups: Mapping[str, Mapping[str, Metric]] | None = None,
    notices: tuple[str, ...] = (),
) -> Summary:
    """A summary of numbers without records."""
    named = {metric.name: metric for metric in (headline, *metrics)}
    held = {column: dict(labels) for column, labels in (groups or {}).items() if labels}
    return Summary(
        headline=headline, metrics=named, groups=held, outcomes={}, n=headline.n, total=headline.n, notices=notices
    )


def read_paper_table(name: str) -> list[dict[str, str]]:
    """The rows of a table of this package."""
    file = files(__package__) / "tables" / name
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def parse_cell(cell: str) -> float | None:
    """A printed number; None for an empty cell and a dash."""
    return None if cell.strip() in ("", "-") else float(cell)


def share_interval(right: float, n: int) -> Interval:
    """Wilson's interval in percent, of `right` answers of `n`."""
    return wilson(right, n).scale()
