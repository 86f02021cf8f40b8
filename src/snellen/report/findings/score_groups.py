"""Findings about places and documents: of what kind those are that a model misses."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from snellen.analysis.findings.score_groups import ScoreGroups
from snellen.core.errors import UsageError
from snellen.report import format as fmt
from snellen.report.document import Column, Document, Table, titled_document
from snellen.store.runs import RunFolder


def place_failures(runs: Sequence[RunFolder], names: Sequence[str]) -> Document:
    """Scores by size, position and label of the gold places, and the share of each outcome, of every
    run. Raises UsageError if no run asks for places."""
    from snellen.analysis.findings.place_groups import place_groups

    tables = _group_tables(runs, names, place_groups)
    if not tables:
        raise UsageError(
            f"none of the {len(runs)} runs asks for places; give runs of a benchmark such as eyechart-places"
        )
    return titled_document("places, by size, position, label and outcome", tables, [])


def document_failures(runs: Sequence[RunFolder], names: Sequence[str]) -> Document:
    """Scores by language, kind of block and of value, length and number of fields, and the share of each
    outcome, of every run. Raises UsageError if no run asks for pages, records or long texts."""
    from snellen.analysis.findings.document_groups import LONG, document_groups

    tables = _group_tables(runs, names, document_groups)
    if not tables:
        raise UsageError(
            f"none of the {len(runs)} runs asks for a page, a record or a text of at least {LONG} characters; give "
            "runs of a benchmark such as eyechart-pages"
        )
    return titled_document("documents, by language, kind of block, length and outcome", tables, [])


def _group_tables(
    runs: Sequence[RunFolder], names: Sequence[str], groups_of: Callable[[RunFolder], list[ScoreGroups]]
) -> list[Table]:
    """A table for each grouping, with the groups of every run."""
    tables: dict[str, Table] = {}
    for run, name in zip(runs, names, strict=True):
        for each in groups_of(run):
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
    return list(tables.values())
