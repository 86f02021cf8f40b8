"""Checks of reported numbers before they are stored."""

from __future__ import annotations

import math
from collections.abc import Iterator

from snellen.core.errors import DataError
from snellen.core.summary import Metric, Summary
from snellen_hub.reported_numbers.numbers import ReportedBoard

_LONGEST_NAME = 200


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


def check_rows(board: ReportedBoard) -> None:
    """Raises DataError for a model that stands there twice, a name that cannot be displayed, and a
    number that is none or out of range."""
    if not board.rows:
        raise DataError(f"{board.name}: there are no rows to import")
    seen: set[str] = set()
    for row in board.rows:
        where = f"{board.name}, {row.model}"
        clean_model_name(row.model, where)
        if row.model in seen:
            raise DataError(f"{board.name}: the model {row.model!r} stands there twice")
        seen.add(row.model)
        for name, metric in _metrics(row.summary):
            value = metric.value
            if value is None:
                continue
            if not math.isfinite(value) or not 0 <= value <= metric.top:
                raise DataError(f"{where}: {name} is {value:g}; expected 0 to {metric.top:g}")


def values_of(summary: Summary) -> dict[str, float | None]:
    """Every number of a summary, by a name that says where it stands."""
    return {name: metric.value for name, metric in _metrics(summary)}


def changed_numbers(before: Summary, after: Summary) -> dict[str, float | None]:
    """The numbers that `after` has otherwise or lacks, as `before` had them; None for a new one."""
    old, new = values_of(before), values_of(after)
    return {name: old.get(name) for name in {**old, **new} if old.get(name) != new.get(name)}


def _metrics(summary: Summary) -> Iterator[tuple[str, Metric]]:
    yield summary.headline.name, summary.headline
    yield from summary.metrics.items()
    for column, labels in summary.groups.items():
        for label, metric in labels.items():
            yield f"{column} {label}", metric
