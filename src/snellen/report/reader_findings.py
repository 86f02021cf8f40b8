"""Findings about how well replies are read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from snellen.analysis.reading_quality import Quality, known_qualities, score_error
from snellen.core.sample import Kind
from snellen.core.summary import Interval
from snellen.report import format as fmt
from snellen.report.findings import Cell, Column, Finding, Grid, percent


def readers(found: Sequence[Quality]) -> Finding:
    """Precision and recall of readers, and the error they leave in a score."""
    rows: list[Sequence[Cell]] = []
    for one in found:
        errors = score_error(one)
        rows.append(
            (one.reader, one.kind.replace("_", "/"), one.labelled_by, one.replies,
             _hundred(one.precision), percent(one.precision_interval),
             _hundred(one.recall), percent(one.recall_interval), -errors.down, errors.up)
        )  # fmt: skip
    columns = (
        Column("reader"), Column("kind"), Column("labelled by"), Column("replies", "count"),
        Column("precision", "points"), Column("95 % interval", "interval"),
        Column("recall", "points"), Column("95 %  interval", "interval"),
        Column("error down", "signed"), Column("error up", "signed"),
    )  # fmt: skip
    return Finding("replies read as they were labelled", (Grid("", columns, rows),))


def _hundred(share: float | None) -> float | None:
    return None if share is None else 100 * share


def quality_lines(readers: Collection[str], kinds: Collection[Kind]) -> Iterator[tuple[str, str]]:
    """For a card: how well the named readers read questions of these kinds, a line for each set
    of labelled replies."""
    for one in known_qualities():
        if one.reader in readers and one.kind in kinds:
            told = (
                f"precision {_with(one.precision, one.precision_interval)}, recall "
                f"{_with(one.recall, one.recall_interval)} on {fmt.number(one.replies)} replies "
                f"labelled by {one.labelled_by}"
            )
            yield f"{one.reader}, {one.kind.replace('_', '/')}", told


def _with(share: float | None, interval: Interval | None) -> str:
    return f"{fmt.points(_hundred(share))} ({fmt.span(percent(interval))})"
