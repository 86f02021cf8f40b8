"""Radar charts of chosen models: the same axes for all, as shares and with the real values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from snellen.core.errors import UsageError
from snellen_hub.boards.layouts import find_layout
from snellen_hub.boards.tables import BoardCell, BoardColumn, BoardPage, BoardTable, TableRow

MOST_MODELS = 8
_MOST_AXES = 40
_FEWEST_AXES = 3
_NOT_AXES = frozenset({"size", "version", "n", "earlier", "average-available"})


class ComparedAxis(Struct, frozen=True):
    """An axis."""

    key: str
    label: str
    unit: str
    top: float
    """The highest possible number: a share of 1."""
    lowest: float | None
    """On the board, among all its models."""
    highest: float | None


class AxisValue(Struct, frozen=True):
    """A model's number on an axis."""

    key: str
    value: float
    low: float | None
    high: float | None
    n: int | None
    share: float
    """Of the highest possible number, 0 to 1."""
    relative: float
    """Between the lowest and the highest number of the board, 0 to 1."""
    mark: str = ""


class RadarModel(Struct, frozen=True):
    """A chosen model; axes without a number have no point."""

    model: str
    submission: str
    evidence: str
    points: tuple[AxisValue, ...]


class RadarChart(Struct, frozen=True):
    """What a radar chart draws."""

    board: str
    title: str
    axes: tuple[ComparedAxis, ...]
    models: tuple[RadarModel, ...]
    choices: tuple[str, ...] = ()
    """Keys of all columns that may be axes."""


_Cells = Mapping[str, BoardCell]
"""Of a column that may be an axis, by submission or model."""


def radar_chart(page: BoardPage, models: Sequence[str], axes: Sequence[str] = ()) -> RadarChart:
    """The chart of models, named by their submission or their name, the best row of a name.

    Without `axes`: the benchmarks of a suite, the groups of a layout, else the first grouping of at
    least three labels. Raises UsageError for models or axes that the
    board does not have, and for too many of them.
    """
    if not models or len(models) > MOST_MODELS:
        raise UsageError(f"got {len(models)} models; expected 1 to {MOST_MODELS}")
    columns = _columns(page)
    keys = list(axes) or _default_axes(page, columns)
    unknown = [key for key in keys if key not in columns]
    if unknown:
        raise UsageError(
            f"{page.name} has no axis {unknown[0]}; expected some of {', '.join(list(columns)[:_MOST_AXES]) or 'none'}"
        )
    if len(keys) > _MOST_AXES:
        raise UsageError(f"got {len(keys)} axes; expected at most {_MOST_AXES}")
    drawn = {}
    for key in keys:
        column, cells = columns[key]
        values = [cell.value for cell in cells.values() if cell.value is not None]
        lowest, highest = min(values, default=None), max(values, default=None)
        drawn[key] = ComparedAxis(column.key, column.label, column.unit, column.top, lowest, highest)
    return RadarChart(
        board=page.name,
        title=page.title,
        axes=tuple(drawn.values()),
        models=tuple(_model(_find_row(page, name), columns, drawn) for name in models),
        choices=tuple(columns),
    )


def _columns(page: BoardPage) -> dict[str, tuple[BoardColumn, _Cells]]:
    """What may be an axis: columns of numbers of the first table, or, where that is none of the
    whole, all tables."""
    layout = find_layout(page.layout)
    if layout is not None and layout.whole is None:
        return {
            table.name: (BoardColumn(table.name, table.title, unit="percent"), _cells(table, table.main))
            for table in page.tables
        }
    table = page.tables[0]
    return {
        column.key: (column, _cells(table, column.key))
        for column in table.columns
        if column.kind == "number" and column.key not in _NOT_AXES
    }


def _cells(table: BoardTable, key: str) -> dict[str, BoardCell]:
    return {_row_key(row): row.cells[key] for row in table.rows if key in row.cells}


def _row_key(row: TableRow) -> str:
    return row.submission or row.model


def _default_axes(page: BoardPage, columns: Iterable[str]) -> list[str]:
    if page.layout == "suite":
        return [str(member["column"]) for member in page.members][:_MOST_AXES]
    layout = find_layout(page.layout)
    if layout is not None:
        drawn = {table.name for table in layout.tables if table.group == layout.group}
        return [key for key in columns if key in drawn]
    groupings = group_keys(columns)
    named = {name: keys for name, keys in groupings.items() if name != "metric"} or groupings
    large = [keys for keys in named.values() if len(keys) >= _FEWEST_AXES]
    return (large or [list(columns)])[0][:_MOST_AXES]


def group_keys(keys: Iterable[str]) -> dict[str, list[str]]:
    """Keys of columns by the grouping that they are of, as far as they are of one."""
    groupings: dict[str, list[str]] = {}
    for key in keys:
        if "." in key:
            groupings.setdefault(key.partition(".")[0], []).append(key)
    return groupings


def _find_row(page: BoardPage, name: str) -> TableRow:
    wanted = " ".join(name.casefold().split())
    for table in page.tables:
        for row in table.rows:
            if row.submission == name or " ".join(row.model.casefold().split()) == wanted:
                return row
    raise UsageError(f"{page.name} has no model {name[:200]}")


def _model(
    row: TableRow, columns: Mapping[str, tuple[BoardColumn, _Cells]], axes: Mapping[str, ComparedAxis]
) -> RadarModel:
    points = []
    for key, axis in axes.items():
        cell = columns[key][1].get(_row_key(row))
        if cell is None or cell.value is None:
            continue
        low, high = axis.lowest or 0.0, axis.highest or 0.0
        relative = (cell.value - low) / (high - low) if high > low else 1.0
        share = min(1.0, max(0.0, cell.value / axis.top))
        points.append(AxisValue(key, cell.value, cell.low, cell.high, cell.n, share, relative, cell.mark))
    return RadarModel(row.model, row.submission, row.evidence, tuple(points))
