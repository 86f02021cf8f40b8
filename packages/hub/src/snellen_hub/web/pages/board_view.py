"""How the table of a board is drawn: numbers as texts, intervals as positions on a scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from msgspec.structs import replace

from snellen_hub.boards.queries import BoardQuery, apply_query
from snellen_hub.boards.tables import BoardCell, BoardColumn, BoardTable, TableRow
from snellen_hub.web.pages.scales import IntervalBar, NumberScale, scale_of

_MODEL = BoardColumn("model", "", "text")
"""The heads of the rows, as `BoardQuery.sort` calls them."""
_DRAWN_OTHERWISE = {"rank", "tier"}
"""Columns that every table has at its left, and bands of rows."""
_MISSING = BoardCell()


class CellView(NamedTuple):
    """A cell as it is drawn."""

    column: BoardColumn
    cell: BoardCell
    bar: IntervalBar | None
    mark: str
    """The letters of its footnotes."""


class RowView(NamedTuple):
    """A row as it is drawn."""

    row: TableRow
    cells: Sequence[CellView]
    starts_group: bool
    """Whether a group of rows that cannot be told apart starts here."""
    is_even: bool
    """Whether it has the second of the two shades of groups."""
    about: str
    """Organisation and level in one line."""
    link: str
    """To the submission, or to a comparison of those of all benchmarks of a suite."""


class ColumnView(NamedTuple):
    """The head of a column as it is drawn."""

    key: str
    label: str
    unit: str
    note: str
    is_number: bool
    is_main: bool
    natural: str
    """The order of the first click: `down` (the highest first) or `up`."""
    sorting: str
    """As the attribute aria-sort has it: `ascending`, `descending` or `none`."""
    address: str
    """Sorts by this column, or turns its order."""


class TableView(NamedTuple):
    """A table as it is drawn."""

    table: BoardTable
    model: ColumnView
    columns: Sequence[ColumnView]
    rows: Sequence[RowView]
    footnotes: Mapping[str, str]
    """The letter of each text."""
    is_grouped: bool
    """Whether the order is that of the ranks, so that groups are drawn."""
    has_groups: bool
    can_compare: bool


def letter_of(position: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    text, left = "", position + 1
    while left:
        left, digit = divmod(left - 1, 26)
        text = chr(ord("a") + digit) + text
    return text


def view_table(table: BoardTable, query: BoardQuery, path: str) -> TableView:
    """The rows and columns that `query` asks for. `path` is that of the page."""
    chosen = apply_query(table, query)
    # The main column is the first one.
    columns = sorted(drawn_columns(chosen.columns), key=lambda column: column.key != table.main)
    scales = {
        column.key: scale
        for column in columns
        if (scale := _scale(table.rows, column, is_main=column.key == table.main))
    }
    main = table.column(table.main)
    natural = main is None or main.kind != "rank"
    letters: dict[str, str] = {}
    rows: list[RowView] = []
    tier: int | None = None
    is_even = False
    for row in chosen.rows:
        # A row that was not tested stays in the group that it stands in.
        starts = row.tier is not None and row.tier != tier
        is_even = is_even != (starts and tier is not None)
        tier = row.tier or tier
        cells = []
        for column in columns:
            cell, scale = row.cells.get(column.key, _MISSING), scales.get(column.key)
            bar = scale.bar(cell.value, cell.low, cell.high) if scale else None
            notes = filter(None, (cell.mark, cell.note))
            marks = [letters.setdefault(note, letter_of(len(letters))) for note in notes]
            cells.append(CellView(column, cell, bar, " ".join(dict.fromkeys(marks))))
        about = (str(row.facts.get(name) or "") for name in ("team", "organisation"))
        rows.append(RowView(row, cells, starts, is_even, " · ".join(filter(None, (*about, row.level))), row_link(row)))
    return TableView(
        table=chosen,
        model=_column_head(_MODEL, table, query, path),
        columns=[_column_head(column, table, query, path) for column in columns],
        rows=rows,
        footnotes=letters,
        is_grouped=query.sort in ("", table.main) and query.descending in (None, natural),
        has_groups=any(row.tier is not None for row in table.rows),
        can_compare=any(row.submission for row in table.rows),
    )


def drawn_columns(columns: Sequence[BoardColumn]) -> list[BoardColumn]:
    """Without those that are drawn in another way."""
    return [column for column in columns if column.key not in _DRAWN_OTHERWISE]


def address(path: str, query: BoardQuery) -> str:
    """The address of a view of a board."""
    text = query.text()
    return f"{path}?{text}" if text else path


def row_link(row: TableRow) -> str:
    """The page of the submissions behind a row; empty for none."""
    if row.submission:
        return f"/submissions/{row.submission}"
    pairs = [("s", public_id) for public_id in dict.fromkeys(row.submissions.values())]
    return f"/compare?{urlencode(pairs)}" if pairs else ""


def _scale(rows: Sequence[TableRow], column: BoardColumn, *, is_main: bool) -> NumberScale | None:
    """The scale of all rows, so that bars stay where they are when a filter leaves some out. None
    for a column without any interval, such as the number of parameters, unless it is the main
    one."""
    cells = [row.cells[column.key] for row in rows if column.key in row.cells]
    if column.kind != "number" or not (is_main or any(cell.low is not None for cell in cells)):
        return None
    return scale_of(end for cell in cells for end in (cell.value, cell.low, cell.high))


def _column_head(column: BoardColumn, table: BoardTable, query: BoardQuery, path: str) -> ColumnView:
    is_main = column.key == table.main
    natural = column.kind in ("number", "date")
    is_sorted = query.sort == column.key or (is_main and not query.sort)
    descending = natural if query.descending is None else query.descending
    turned = not descending if is_sorted else natural
    order = None if turned == natural else turned
    sort = "" if is_main and order is None else column.key
    direction = "descending" if descending else "ascending"
    return ColumnView(
        key=column.key,
        label=column.label,
        unit=column.unit,
        note=column.note,
        is_number=column.kind in ("number", "rank"),
        is_main=is_main,
        natural="down" if natural else "up",
        sorting=direction if is_sorted else "none",
        address=address(path, replace(query, sort=sort, descending=order)),
    )
