"""What a command shows: lines and tables in order, which every format writes
(`snellen.report.writers`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from snellen.core.summary import Interval, Metric
from snellen.report import format as fmt

if TYPE_CHECKING:
    from matplotlib.figure import Figure


T = TypeVar("T")
Kind = Literal["text", "name", "count", "points", "signed", "share", "number", "p"]
"""`text`; `name`, which may be broken after a slash; `count`, a whole number; `points`, on the
scale 0..100; `signed`, a difference of points; `share`, a fraction of 1, as a percentage; `number`,
with `Column.digits` decimals; `p`, a p-value."""


class IntervalEstimate(NamedTuple):
    """A number with its interval, in the unit of its column."""

    value: float | None
    interval: Interval | None = None
    mark: str = ""
    """Behind the number where people read it, such as an asterisk."""


Cell = str | int | float | Interval | IntervalEstimate | None
"""None is a value that is not known, `""` a cell without content. A text stands for itself in a
column of any kind."""


class Column(NamedTuple):
    name: str
    """The heading, and the key in JSON and CSV."""
    kind: Kind = "text"
    digits: int = 1
    """Decimals of `points` and `number`."""
    best: Literal["", "highest", "lowest"] = ""
    """Which of the numbers papers print in bold."""
    is_optional: bool = False
    """Left out, with a line that says so, where a terminal is too narrow."""

    @property
    def is_number(self) -> bool:
        return self.kind not in ("text", "name")


class Table(NamedTuple):
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    """A cell for each column; `check_table` holds it."""
    notes: Sequence[str] = ()
    """What the columns mean, below the table."""
    baselines: int = 0
    """The last rows are baselines or counts, set apart from the others."""
    best_in_rows: bool = False
    """`Column.best` is among the columns of a row that have it, not among the rows."""
    on_terminal: Literal["whole", "untitled", "left out", "lines"] = "whole"
    """What a terminal, which has less room than a page, shows of it; `lines`: each row on a
    line that is not folded, without headings, to be searched and copied."""

    @property
    def number_columns(self) -> list[int]:
        return [index for index, column in enumerate(self.columns) if column.is_number]


def table_of(
    title: str, items: Iterable[T], columns: Iterable[tuple[Column, Callable[[T], Cell]]], notes: Sequence[str] = ()
) -> Table:
    """A row for each item; a column comes with the function that makes its cell of an item."""
    headings, cells = zip(*columns, strict=True)
    return Table(title, headings, [[cell(item) for cell in cells] for item in items], notes)


def estimate(metric: Metric) -> IntervalEstimate:
    """The value of a metric with its interval."""
    return IntervalEstimate(metric.value, metric.interval)


def check_table(table: Table) -> None:
    """Raises ValueError for two columns of one name, or a row of another length."""
    names = [column.name for column in table.columns]
    if len(set(names)) < len(names):
        raise ValueError(f"the table {table.title!r} has two columns of one name: {names}")
    for row in table.rows:
        if len(row) != len(names):
            raise ValueError(f"a row of {table.title!r} has {len(row)} cells for {len(names)}")


def cell_texts(table: Table) -> list[list[str]]:
    """The cells as texts, row by row."""
    return [[cell_text(cell, column) for cell, column in zip(row, table.columns, strict=True)] for row in table.rows]


def cell_text(cell: Cell, column: Column) -> str:
    """A cell as people read it."""
    if cell is None:
        return fmt.NONE
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Interval):
        return _interval_text(cell, column)
    if isinstance(cell, IntervalEstimate):
        value = f"{cell_text(cell.value, column)}{cell.mark}"
        return value if cell.interval is None else f"{value} ({_interval_text(cell.interval, column)})"
    return _NUMBERS.get(column.kind, _number_text)(cell, column)


def _interval_text(interval: Interval, column: Column) -> str:
    if column.kind == "signed":
        return fmt.difference_interval_text(interval)
    if column.kind == "share":
        return fmt.interval_text(interval.scale())
    if column.digits == 1:
        return fmt.interval_text(interval)
    joint = " to " if interval.low < 0 or interval.high < 0 else "–"
    return joint.join(f"{end:.{column.digits}f}" for end in (interval.low, interval.high))


def _number_text(value: float, column: Column) -> str:
    text = f"{value:.{column.digits}f}"
    return text.removeprefix("-") if not float(text) else text


_NUMBERS: dict[str, Callable[[float, Column], str]] = {
    "count": lambda value, column: fmt.count_text(int(value)),
    "share": lambda value, column: f"{100 * value:.{column.digits}f} %",
    "signed": lambda value, column: fmt.difference_text(value),
    "p": lambda value, column: fmt.p_text(value),
}
"""How the kinds that are no plain decimals are written."""


def best_cells(table: Table) -> set[tuple[int, int]]:
    """Row and column of the best numbers as they are printed, ties included; baselines do not
    count. Columns without `best`, and those whose numbers are all the same, have none."""
    rows = range(len(table.rows) - table.baselines)
    columns = [index for index, column in enumerate(table.columns) if column.best]
    if table.best_in_rows:
        lines = [[(row, column) for column in columns] for row in rows]
    else:
        lines = [[(row, column) for row in rows] for column in columns]
    return {place for line in lines for place in _best_of(table, line)}


def _best_of(table: Table, places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    numbers = {(row, column): _value(table.rows[row][column]) for row, column in places}
    present = {place: value for place, value in numbers.items() if value is not None}
    column = table.columns[places[0][1]] if places else Column("")
    texts = {place: cell_text(value, column) for place, value in present.items()}
    if len(set(texts.values())) < 2:
        return
    best = cell_text((max if column.best == "highest" else min)(present.values()), column)
    yield from (place for place, text in texts.items() if text == best)


def _value(cell: Cell) -> float | None:
    if isinstance(cell, IntervalEstimate):
        return cell.value
    return cell if isinstance(cell, int | float) else None


class Line(NamedTuple):
    """A line of text."""

    text: str
    style: Literal["plain", "heading", "notice", "note"] = "plain"
    """A `notice` is a warning; a `note` explains what stands above it."""
    detail: str = ""
    """The end of a heading, less prominent: `eyechart  accuracy`."""
    is_unbroken: bool = False
    """Not folded by a terminal, so that it can be copied: a command, a sentence to quote."""


class Verbatim(NamedTuple):
    """Lines whose spaces and breaks count, such as samples with their replies."""

    lines: Sequence[str]


class EmptyLine(NamedTuple):
    """An empty line on a terminal; the other formats set blocks apart by themselves."""


Block = Line | Table | Verbatim | EmptyLine


class Document(NamedTuple):
    """The result of a command for people and for programs."""

    blocks: Sequence[Block]
    data: Any = None
    """What JSON holds: a value that msgspec encodes, with numbers that are not rounded, or a
    function that makes it when it is written. Without it, the title, notices and tables
    (`writers.json_text`)."""
    records: Table | Callable[[], Table] | None = None
    """What CSV holds, one number or one item a row, or a function that makes it when it is written.
    Without it, the tables (`writers.csv_text`)."""
    plot: Callable[[], Figure] | None = None
    """Draws the figure, which needs matplotlib; None if there is nothing to draw."""

    @property
    def title(self) -> str:
        headings = (block for block in self.lines() if block.style == "heading")
        return next((heading.text for heading in headings), "")

    @property
    def tables(self) -> list[Table]:
        return [block for block in self.blocks if isinstance(block, Table)]

    @property
    def notices(self) -> list[str]:
        return [block.text for block in self.lines() if block.style == "notice"]

    def lines(self) -> Iterator[Line]:
        return (block for block in self.blocks if isinstance(block, Line))


def titled_document(
    title: str, tables: Sequence[Table], notices: Sequence[str] = (), plot: Callable[[], Figure] | None = None
) -> Document:
    """A heading, notices, and tables."""
    blocks: list[Block] = [Line(title, "heading"), *(Line(notice, "notice") for notice in notices)]
    for index, table in enumerate(tables):
        blocks += [EmptyLine(), table] if index else [table]
    return Document(blocks, plot=plot)
