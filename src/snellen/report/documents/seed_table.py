"""SEED-Bench runs as Tables 2 and 3 of the paper, and as its Fig. 10.

A value is printed and ranked only if all of its dimensions have values, otherwise it is "–". The
two protocols are always told apart: the name of a model that generated its answers says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from snellen.benchmarks.abilities.seedbench.levels import (
    ASSUMED_FORM,
    ASSUMED_MARK,
    DimensionGroup,
    Version,
    dimensions_of_version,
    group_by_level,
    group_by_part,
    group_by_subpart,
    level_of,
)
from snellen.benchmarks.abilities.seedbench.rows import DIMENSION
from snellen.benchmarks.abilities.seedbench.summary import MARK
from snellen.core.errors import UsageError
from snellen.core.run import Report
from snellen.report.document import Cell, Column, Document, Line, Table
from snellen.report.format import NONE
from snellen.report.plots.figure import to_svg
from snellen.report.plots.ranks import Values, heat_map
from snellen.scoring.grouped import mean_of_all
from snellen.scoring.ranks import competition_ranks

NAME = "seedbench"


def seed_document(runs: Sequence[Report]) -> Document:
    """Levels and parts, subparts, and dimensions, each with value and rank."""
    version = shared_version(runs)
    selected, values = dimensions_of_version(version), dimension_scores(runs)
    by_level = {group.name: group for group in (*group_by_level(selected), *group_by_part(selected))}
    order = [name for name in ("L1", "part-2", "L2", "part-3", "L3") if name in by_level]
    single = [DimensionGroup(_heading(dimension.name), (dimension.name,)) for dimension in selected]
    marked = {
        (name, _heading(dimension))
        for name, report in _labelled_reports(runs)
        for dimension, metric in report.summary.groups.get(DIMENSION, {}).items()
        if metric.note.startswith(MARK)
    }
    # The level that each model reaches according to its declared capabilities.
    able = {name: report.run.capabilities for name, report in _labelled_reports(runs)}
    reached = {name: (level_of(can) if can else None) or NONE for name, can in able.items()}
    tables = (
        _table("Levels and parts", values, [by_level[name] for name in order], set(), reached),
        _table("Subparts", values, group_by_subpart(selected), set()),
        _table("Dimensions", values, single, marked),
    )
    note = f"{MARK} at most half of the answers are valid; – a dimension has no value."
    if any(dimension in ASSUMED_FORM for cells in values.values() for dimension in cells):
        note += (
            f" {ASSUMED_MARK} the form of the authors' files of this dimension is not documented; "
            "they are read as those of the others."
        )
    return Document([*tables, Line(note, "note")])


def seed_heat_map(runs: Sequence[Report]) -> str:
    """Ranks per dimension as the text of an SVG file. Raises MissingExtra without matplotlib."""
    version = shared_version(runs)
    title = f"SEED-Bench {version}: rank of each model in each dimension"
    groups = group_by_subpart(dimensions_of_version(version))
    return to_svg(heat_map(dimension_scores(runs), groups, title))


def dimension_scores(runs: Sequence[Report]) -> Values:
    """Accuracy in percent by model and dimension, without dimensions that were not asked."""
    return {
        name: {dimension: metric.value for dimension, metric in report.summary.groups.get(DIMENSION, {}).items()}
        for name, report in _labelled_reports(runs)
    }


def shared_version(runs: Sequence[Report]) -> Version:
    """The version that all runs share. Raises UsageError for other benchmarks and for mixed
    versions."""
    other = [report.run.name for report in runs if report.run.benchmark != NAME]
    if other:
        raise UsageError(f"{other[0]} is not a run of {NAME}; give runs of {NAME} alone")
    versions = sorted({report.run.config.parameters["version"] for report in runs})
    if len(versions) != 1:
        raise UsageError(f"the runs are of the versions {', '.join(versions)}; give runs of one")
    return cast(Version, versions[0])


def _labelled_reports(runs: Sequence[Report]) -> Iterable[tuple[str, Report]]:
    protocols = {report.run.config.parameters["protocol"] for report in runs}
    seen: dict[str, int] = {}
    for report in runs:
        name = report.run.model
        if len(protocols) > 1:
            name += f" ({report.run.config.parameters['protocol']})"
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name} #{seen[name]}"), report


def _heading(dimension: str) -> str:
    """The dimension's name, marked if the form of its files is not documented."""
    return f"{dimension}{ASSUMED_MARK if dimension in ASSUMED_FORM else ''}"


def _table(
    title: str,
    values: Values,
    groups: Sequence[DimensionGroup],
    marked: set[tuple[str, str]],
    reached: Mapping[str, str] | None = None,
) -> Table:
    """A table of values and ranks; `reached` becomes a column after the model's name."""
    columns = {
        group.name: {name: mean_of_all(cells, group.members) for name, cells in values.items()} for group in groups
    }
    ranked = {name: competition_ranks(column) for name, column in columns.items()}
    headings = [Column("model", "name"), *([Column("level")] if reached else [])]
    for name in columns:
        headings += [Column(name, "points", best="highest"), Column(f"{name} rank", "count", best="lowest")]
    rows: list[list[Cell]] = []
    for model in values:
        row: list[Cell] = [model, reached[model]] if reached else [model]
        for name, column in columns.items():
            row += _cells(column, ranked[name], model, (model, name) in marked)
        rows.append(row)
    return Table(title, headings, rows)


def _cells(
    column: Mapping[str, float | None], ranked: Mapping[str, int], model: str, marked: bool
) -> tuple[Cell, Cell]:
    """A value and its rank."""
    value = column[model]
    if value is None:
        return None, None
    return f"{value:.1f}{MARK}" if marked else value, ranked[model]
