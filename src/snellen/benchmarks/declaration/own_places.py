"""Rows of a user's own table that ask for places.

A row does if its column `type` says `box`, `point` or `span`; or if it has no gold answer but a
filled column of gold places: `bbox`, `point`, `polygon`, `mask` or `span`. All such rows of a table
ask for places of one shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple, get_args

from msgspec import structs

from snellen.benchmarks.declaration.place_rules import PlaceRules, ReplyShape
from snellen.benchmarks.declaration.rows import PLACE_TYPE
from snellen.core.errors import DataError
from snellen.core.place import PlaceShape
from snellen.core.sample import Row
from snellen.data.columns import GOLD_COLUMNS, KIND_COLUMNS, PLACE_COLUMNS, gold_column

_TYPES: dict[str, ReplyShape] = {
    **{shape: shape for shape in get_args(ReplyShape)},
    "bbox": "box",
    "bounding_box": "box",
}
_SEARCHED_ROWS = 1_000
"""Rows of a table in which the first that asks for a place is searched."""


class OwnPlaces(NamedTuple):
    """What a table asks of places, and whether it asks for nothing else."""

    rules: PlaceRules
    alone: bool


def own_places(columns: Sequence[str], rows: Iterable[Row]) -> OwnPlaces | None:
    """What a table asks of places, by the first of its rows that do; None if none does."""
    held = _gold_of_columns(columns)
    if held is None and not set(columns).intersection(KIND_COLUMNS):
        return None
    searched = list(islice(rows, _SEARCHED_ROWS))
    asked = [row for row in searched if _shape_of(row) is not None]
    if not asked:
        return None
    is_whole = len(searched) < _SEARCHED_ROWS and len(asked) == len(searched)
    from snellen.benchmarks.declaration.place_golds import count_places

    shape = _shape_of(asked[0])
    assert shape is not None
    gold = held[1] if held is not None else shape
    # In a row with an empty list nothing is there, which a question for one place cannot say.
    several = any(count_places(cell, gold) not in (1, None) for row in asked if (cell := _gold_cell(row, held)))
    labelled = "labels" in columns and shape != "span"
    several = several or labelled
    # Points in boxes, polygons or masks are graded by the share of them that lie inside.
    is_inside = shape == "point" and gold != "point"
    metric = f"f1@{0.95 if shape == 'point' else 0.5}" if several and not is_inside else ""
    rules = PlaceRules(
        shape=shape,
        count=0 if several else 1,
        gold=held[0] if held is not None else "",
        gold_shape=gold,
        labelled=labelled,
        metric=metric,
    )
    return OwnPlaces(rules, is_whole or gold_column(columns) is None)


def mark_place(rules: PlaceRules) -> Callable[[Row], Row]:
    """Marks rows that ask for places as being of that kind, with their gold answer in the usual
    column. Raises DataError for a row that asks for another shape or number of places than the others."""
    from snellen.benchmarks.declaration.place_golds import count_places

    def mark(row: Row) -> Row:
        shape = _shape_of(row)
        if shape is None:
            return row
        if shape != rules.shape:
            raise DataError(
                f"it asks for a {shape}, and rows before it for a {rules.shape}; put each shape into a table of its own"
            )
        gold = row.cells.get(rules.gold or gold_column(row.cells) or "")
        count = count_places(gold, rules.shape_of_gold) if gold and rules.count else None
        if count not in (rules.count, None):
            raise DataError(
                f"it has {count} gold places, and the rows that were looked at for the question have one each; "
                f"put a row like it among the first {_SEARCHED_ROWS:,}"
            )
        cells = {**row.cells, KIND_COLUMNS[0]: PLACE_TYPE}
        if rules.gold in cells:
            cells[GOLD_COLUMNS[0]] = cells[rules.gold]
        return structs.replace(row, cells=cells)

    return mark


def _gold_of_columns(columns: Iterable[str]) -> tuple[str, PlaceShape] | None:
    """The first column of gold places, and their shape."""
    present = set(columns)
    named = ((name, shape) for shape, names in PLACE_COLUMNS.items() for name in names)
    return next(((name, shape) for name, shape in named if name in present), None)


def _shape_of(row: Row) -> ReplyShape | None:
    """The shape of the places that a row asks for; None if it asks for something else."""
    for column in KIND_COLUMNS:
        if column in row.cells and (shape := _TYPES.get(row.cells[column].strip().lower())):
            return shape
    if gold_column(row.cells) is not None:
        return None
    held = _gold_of_columns(row.cells)
    if held is None:
        return None
    return _TYPES.get(held[1], "point")


def _gold_cell(row: Row, held: tuple[str, PlaceShape] | None) -> str:
    return row.cells.get(held[0] if held is not None else gold_column(row.cells) or "", "")
