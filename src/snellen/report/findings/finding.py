"""What an analysis found: tables, remarks and a plot, printed, as JSON, or as an SVG file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from snellen.core.summary import Interval
from snellen.report import format as fmt

if TYPE_CHECKING:
    from rich.console import Console

Kind = Literal["text", "count", "points", "signed", "share", "p", "interval"]
"""How a column is written: `points` with one decimal, `signed` with a sign, `share` (0..1) in
percent, `interval` both ends in the unit of the column before it."""
Cell = str | int | float | Interval | None


_WIDEST = 400
WHOLE = 28
"""Longest words of a column that is not broken into lines."""


class Column(NamedTuple):
    name: str
    kind: Kind = "text"


class Grid(NamedTuple):
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


class Finding(NamedTuple):
    """`plot` makes the SVG; None where there is nothing to draw. `detail` is for JSON alone."""

    title: str
    grids: Sequence[Grid]
    notices: Sequence[str] = ()
    plot: Callable[[], str] | None = None


def print_finding(found: Finding, console: Console) -> None:
    from rich.text import Text

    console.print(Text(found.title, style="bold"))
    for notice in found.notices:
        console.print(Text(f"! {notice}", style="yellow"))
    for at, grid in enumerate(found.grids):
        if at:
            console.print()
        print_grid(grid, console)


def to_json(found: Finding) -> str:
    """`as_object` as text."""
    return json.dumps(as_object(found), ensure_ascii=False)


def as_object(found: Finding) -> dict[str, object]:
    """Title, notices, and tables whose rows are objects; numbers are not rounded and shares run
    from 0 to 1."""
    return {
        "title": found.title,
        "notices": list(found.notices),
        "tables": [{"title": grid.title, "rows": list(_objects(grid))} for grid in found.grids],
    }


def written(cell: Cell, kind: Kind) -> str:
    """A cell as text."""
    if cell is None:
        return fmt.NONE
    if isinstance(cell, Interval):
        return fmt.signed_span(cell) if kind == "signed" else fmt.span(cell)
    if isinstance(cell, str):
        return cell
    match kind:
        case "count":
            return fmt.number(int(cell))
        case "share":
            return f"{100 * cell:.1f} %"
        case "signed":
            return fmt.signed(cell)
        case "p":
            return fmt.p_text(cell)
        case _:
            return fmt.points(cell)


def _objects(grid: Grid) -> Iterator[dict[str, object]]:
    for row in grid.rows:
        yield {
            column.name: [cell.low, cell.high] if isinstance(cell, Interval) else cell
            for column, cell in zip(grid.columns, row, strict=True)
        }


def print_grid(grid: Grid, console: Console) -> None:
    """A table for the terminal: numbers stand right and are never cut."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from snellen.report.console import Terminal

    table = Table(
        title=Text(grid.title, style="dim") if grid.title else None, title_justify="left",
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False, header_style="",
    )  # fmt: skip
    rows = [
        [written(cell, column.kind) for cell, column in zip(row, grid.columns, strict=True)]
        for row in grid.rows
    ]
    for at, column in enumerate(grid.columns):
        longest = max(len(column.name), *(len(row[at]) for row in rows), 0)
        whole = column.kind != "text" or longest <= WHOLE
        table.add_column(
            Text(column.name), justify="left" if column.kind == "text" else "right",
            overflow="fold", no_wrap=whole, min_width=longest if whole else None,
        )  # fmt: skip
    for cells in rows:
        table.add_row(*map(Text, cells))
    least = Terminal(file=console.file, width=_WIDEST).measure(table).minimum
    if least > console.width:
        # Lines that a terminal breaks can still be read; cut numbers cannot.
        console = Terminal(file=console.file, width=least)
    console.print(table)


def percent(interval: Interval | None) -> Interval | None:
    """An interval of a share in points of 100."""
    if interval is None:
        return None
    return Interval(100 * interval.low, 100 * interval.high, interval.method, interval.level)
