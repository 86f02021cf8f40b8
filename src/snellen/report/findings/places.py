"""Findings about places: where, of what size and in which way they are missed."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.analysis.findings.place_groups import place_groups
from snellen.core.errors import UsageError
from snellen.report import format as fmt
from snellen.report.document import Document, titled_document
from snellen.report.table import Column, Table
from snellen.store.runs import RunFolder


def place_failures(runs: Sequence[RunFolder], names: Sequence[str]) -> Document:
    """Scores by size, position and label of the gold places, and the share of each outcome, of every
    run. Raises UsageError if no run asks for places."""
    tables: dict[str, Table] = {}
    for run, name in zip(runs, names, strict=True):
        for each in place_groups(run):
            columns = (
                Column("run", "name"),
                Column(each.title),
                Column("% of questions" if each.is_share else "score", "points"),
                Column("95 % interval", "points"),
                Column("n", "count"),
            )
            rows = [
                (name, fmt.display_name(label) if each.is_share else label, metric.value, metric.interval, metric.n)
                for label, metric in each.rows
            ]
            before = tables.get(each.title)
            tables[each.title] = Table("", columns, [*(before.rows if before else ()), *rows])
    if not tables:
        raise UsageError(
            f"none of the {len(runs)} runs asks for places; give runs of a benchmark such as eyechart-places"
        )
    return titled_document("places, by size, position, label and outcome", list(tables.values()), [])
