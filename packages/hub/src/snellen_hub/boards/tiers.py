"""Tiers: groups of models on a board that cannot be told apart.

The first tier is the best model and those that no test separates from it; the next is made likewise
of the models that are left. Two submissions that were scored here over the same samples are
compared by the paired tests of `stats.paired`. All other pairs
are compared by their intervals, as independent estimates (G. Y. Zou and A. Donner, Statistics in
Medicine 27, 2008): the difference is tested against the ends of the intervals that face each other.
That is too careful for models on the same samples, whose errors go together. p-values are adjusted
by Holm over all pairs of a column, as in every comparison of Snellen.

A number without an interval belongs to no tier: nothing says what it differs from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

from msgspec import structs

from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.paired import holm
from snellen_hub.boards.paired_scores import Pair, paired_tests
from snellen_hub.boards.published import PublishedScore
from snellen_hub.boards.tables import BoardCell, BoardTable, TableRow
from snellen_hub.storage import Storage

MOST_ROWS = 150
"""Rows of a table that are compared, the best ones: the number of pairs grows with the square."""


class ColumnTiers(NamedTuple):
    """Tiers by the position of the row, and how they were found."""

    tiers: Mapping[int, int]
    notice: str


def table_with_tiers(
    table: BoardTable, p_values: Mapping[tuple[str, str], float] | None = None, *, why: str = ""
) -> BoardTable:
    """The table with the tiers of its main column. `p_values` are those of paired tests, by the
    submissions of two rows in either order, in suites by the models in lower case; `why` says why
    there are none."""
    rows = [row for row in table.rows if _tested_cell(row, table.main) is not None]
    cells = [row.cells[table.main] for row in rows[:MOST_ROWS]]
    paired: dict[Pair, float] = {}
    for first, second in combinations(range(len(cells)), 2):
        names = _row_name(rows[first]), _row_name(rows[second])
        p = (p_values or {}).get(names, (p_values or {}).get((names[1], names[0])))
        if p is not None:
            paired[first, second] = p
    found = column_tiers(cells, paired)
    tier_of = {id(rows[position]): tier for position, tier in found.tiers.items()}
    ranked = []
    for row in table.rows:
        tier = tier_of.get(id(row))
        own = row.cells if tier is None else {**row.cells, "tier": BoardCell(float(tier))}
        ranked.append(structs.replace(row, tier=tier, cells=own))
    untested = sum(table.main in row.cells and row.cells[table.main].value is not None for row in table.rows) - len(
        cells
    )
    notices = [note for note in (found.notice, why if found.notice else "") if note]
    if found.notice and untested:
        notices.append(
            f"{untested} of {len(table.rows)} models belong to no tier: their number has no "
            "interval, is of another protocol or version, or is not among the "
            f"{MOST_ROWS} highest"
        )
    return structs.replace(
        table,
        rows=tuple(ranked),
        notices=(*table.notices, *notices),
        columns=tuple(column for column in table.columns if column.key != "tier" or tier_of),
    )


def headline_p_values(storage: Storage, published: Sequence[PublishedScore]) -> dict[tuple[str, str], float]:
    """p of each pair of submissions whose headlines a paired test compares, by their public ids."""
    names = [one.row.submission for one in published[:MOST_ROWS]]
    return {
        (names[first], names[second]): test.p
        for (first, second), test in paired_tests(storage, published[:MOST_ROWS]).items()
        if test.p is not None
    }


def column_tiers(cells: Sequence[BoardCell], paired: Mapping[Pair, float], level: float = DEFAULT_LEVEL) -> ColumnTiers:
    """The tiers of numbers with intervals, the highest first; `paired` has the p-values of paired
    tests."""
    if len(cells) < 2:
        return ColumnTiers({}, "")
    pairs = list(combinations(range(len(cells)), 2))
    p_values = [
        paired[pair] if pair in paired else interval_p_value(cells[pair[0]], cells[pair[1]], level) for pair in pairs
    ]
    different = {pair for pair, adjusted in zip(pairs, holm(p_values), strict=True) if adjusted < 1 - level}
    tiers: dict[int, int] = {}
    tier = 0
    for best in range(len(cells)):
        if best in tiers:
            continue
        tier += 1
        for other in range(best, len(cells)):
            if other not in tiers and (best, other) not in different:
                tiers[other] = tier
    by_samples, by_intervals = len(paired), len(pairs) - len(paired)
    how = " and ".join(
        f"{count:,} pairs by {what}"
        for count, what in (
            (by_samples, "paired tests over the samples"),
            (by_intervals, "their intervals, as if their samples were different ones"),
        )
        if count
    )
    return ColumnTiers(tiers, f"tiers: {how}, at {100 * level:g} % after Holm's correction")


def interval_p_value(first: BoardCell, second: BoardCell, level: float = DEFAULT_LEVEL) -> float:
    """Two-sided p of the difference of two independent numbers, from the facing ends of their
    intervals; 1 for equal numbers."""
    higher, lower = sorted((first, second), key=lambda cell: -(cell.value or 0.0))
    assert higher.value is not None
    assert lower.value is not None
    assert higher.low is not None
    assert lower.high is not None
    difference = higher.value - lower.value
    if difference <= 0:
        return 1.0
    width = math.hypot(higher.value - higher.low, lower.high - lower.value)
    if width <= 0:
        return 0.0
    z = NormalDist().inv_cdf(0.5 + level / 2) * difference / width
    return math.erfc(z / math.sqrt(2))


def _tested_cell(row: TableRow, main: str) -> BoardCell | None:
    """The cell of a number that can be compared."""
    cell = row.cells.get(main)
    if cell is None or cell.mark or cell.value is None or cell.low is None or cell.high is None:
        return None
    return cell


def _row_name(row: TableRow) -> str:
    return row.submission or " ".join(row.model.casefold().split())
