"""Rows of a user's own table that ask for places.

A row does if its column `type` says `box`, `point`, `polygon`, `mask` or `span`; or if it has no gold answer but a
filled column of gold places: `bbox`, `point`, `polygon`, `mask` or `span`, or four columns with the
numbers of a box (`BOX_NUMBERS`). A column `label` beside boxes or points is no gold answer, but what
a reply is to name with them. All such rows of a table ask for places of one shape.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import NamedTuple, get_args

from msgspec import structs

from snellen.benchmarks.declaration.place_rules import PlaceRules, ReplyShape
from snellen.benchmarks.declaration.rows import PLACE_TYPE
from snellen.core.errors import DataError
from snellen.core.place import PlaceShape
from snellen.core.sample import Row
from snellen.data.columns import BOX_NUMBERS, GOLD_COLUMNS, KIND_COLUMNS, PLACE_COLUMNS, gold_column

_TYPES: dict[str, ReplyShape] = {
    **{shape: shape for shape in get_args(ReplyShape)},
    "bbox": "box",
    "bounding_box": "box",
}
_LABELS = ("labels", "label")
"""Columns of the labels of gold places, the first that exists."""
_BESIDE_LABELS = ("map", "ap@0.5", "count")
_SEARCHED_ROWS = 1_000
"""Rows of a table in which the first that asks for a place is searched."""


class OwnPlaces(NamedTuple):
    """What a table asks of places, and whether it asks for nothing else."""

    rules: PlaceRules
    alone: bool


def own_places(columns: Sequence[str], rows: Iterable[Row]) -> OwnPlaces | None:
    """What a table asks of places, by the first of its rows that do; None if none does."""
    numbers = _number_columns(columns)
    held = _gold_of_columns(columns) or (("bbox", "box") if numbers else None)
    if held is None and not set(columns).intersection(KIND_COLUMNS):
        return None
    searched = [_with_box(row, numbers) for row in islice(rows, _SEARCHED_ROWS)]
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
    labels = next((name for name in _LABELS if name in columns), "") if shape in ("box", "point") else ""
    several = several or bool(labels)
    # Points in boxes, polygons or masks are graded by the share of them that lie inside.
    is_inside = shape == "point" and gold != "point"
    metric = f"f1@{0.95 if shape == 'point' else 0.5}" if several and not is_inside else ""
    rules = PlaceRules(
        shape=shape,
        count=0 if several else 1,
        gold=held[0] if held is not None else "",
        gold_shape=gold,
        labelled=bool(labels),
        labels=labels or _LABELS[0],
        metric=metric,
        beside=_BESIDE_LABELS if labels and gold == "box" else (),
    )
    return OwnPlaces(rules, is_whole or gold_column(columns) is None)


def mark_place(rules: PlaceRules) -> Callable[[Row], Row]:
    """Marks rows that ask for places as being of that kind, with their gold answer in the usual
    column. Raises DataError for a row that asks for another shape or number of places than the others."""
    from snellen.benchmarks.declaration.place_golds import count_places

    def mark(original: Row) -> Row:
        row = _with_box(original, _number_columns(original.cells))
        shape = _shape_of(row)
        if shape is None:
            return original
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


def _number_columns(columns: Collection[str]) -> tuple[str, ...]:
    """The four columns of the numbers of a box; () if a column holds the whole box, or none does."""
    if _gold_of_columns(columns) is not None:
        return ()
    present = set(columns)
    return next((names for names in BOX_NUMBERS if present.issuperset(names)), ())


def _with_box(row: Row, numbers: tuple[str, ...]) -> Row:
    """The row with the box of four columns in one, where cells that are no numbers stand as they are."""
    if not numbers:
        return row
    cells = {name: cell for name, cell in row.cells.items() if name not in numbers}
    texts = {name: row.cells[name] for name in numbers if name in row.cells}
    if not texts:
        return structs.replace(row, cells=cells)
    try:
        one, two, three, four = map(float, texts.values())
        corners = (one + three, two + four) if BOX_NUMBERS[numbers] == "corner-size" else (three, four)
        box = json.dumps([one, two, *corners])
    except ValueError:
        box = ", ".join(f"{name} {text[:20]!r}" for name, text in texts.items())
    return structs.replace(row, cells={**cells, PLACE_COLUMNS["box"][0]: box})


def _shape_of(row: Row) -> ReplyShape | None:
    """The shape of the places that a row asks for; None if it asks for something else."""
    for column in KIND_COLUMNS:
        if column in row.cells and (shape := _TYPES.get(row.cells[column].strip().lower())):
            return shape
    held, answer = _gold_of_columns(row.cells), gold_column(row.cells)
    is_label = answer in _LABELS and held is not None and held[1] in ("box", "point") and "A" not in row.cells
    if held is None or (answer is not None and not is_label):
        return None
    return held[1] if held[1] in ("box", "span") else "point"


def _gold_cell(row: Row, held: tuple[str, PlaceShape] | None) -> str:
    return row.cells.get(held[0] if held is not None else gold_column(row.cells) or "", "")
