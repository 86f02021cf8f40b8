"""Tables as grids, in which a cell has neighbours and headings, across cells that span rows and columns.

As in olmOCR-Bench (Poznanski et al. 2025, https://arxiv.org/abs/2502.18443; olmocr/bench/table_parsing.py):
in a pipe table the first row and the first column are headings, in HTML header cells and what stands in the
head of a table. Cells that are lacking are skipped on the way to a neighbour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core import lazy_re as re

if TYPE_CHECKING:
    from bs4 import Tag

Place = tuple[int, int]
"""Row and column, from 0."""
_MAX_SPAN = 1000


class GridCell(NamedTuple):
    text: str
    is_heading: bool = False
    rows: int = 1
    columns: int = 1


class Grid:
    """Which cell covers which place. A cell is named by its first place."""

    def __init__(self, rows: Sequence[Sequence[GridCell]]) -> None:
        self.cells: dict[Place, GridCell] = {}
        self._covers: list[list[Place | None]] = []
        self._lay_out(rows)
        columns = [column for row in self._covers for column, cell in enumerate(row) if cell is not None]
        width = max(columns, default=-1) + 1
        self._covers = [[*row, *[None] * width][:width] for row in self._covers]

    def _lay_out(self, rows: Sequence[Sequence[GridCell]]) -> None:
        reaching: list[tuple[Place, int] | None] = []
        """By column the cell of a row above that reaches into this one, and how many rows more."""
        for number, cells in enumerate(rows):
            row: list[Place | None] = []
            queue = list(cells)
            while queue or len(row) < len(reaching):
                column = len(row)
                above = reaching[column] if column < len(reaching) else None
                if above is not None:
                    row.append(_reach_on(reaching, column))
                elif not queue:
                    row.append(None)
                else:
                    cell = queue.pop(0)
                    place = (number, column)
                    self.cells[place] = cell
                    reaching += [None] * (column + cell.columns - len(reaching))
                    for offset in range(column, column + cell.columns):
                        reaching[offset] = (place, cell.rows - 1) if cell.rows > 1 else None
                        row.append(place)
            self._covers.append(row)
        while any(reaching):
            self._covers.append(
                [None if one is None else _reach_on(reaching, column) for column, one in enumerate(reaching)]
            )

    def neighbours(self, place: Place, way: str) -> set[Place]:
        """The cells next to a cell: `up`, `down`, `left` or `right`. There are several where it spans rows
        or columns."""
        cell = self.cells[place]
        first_row, first_column = place
        last_row, last_column = first_row + cell.rows - 1, first_column + cell.columns - 1
        height, width = len(self._covers), len(self._covers[0])
        if way in ("left", "right"):
            others = range(last_column + 1, width) if way == "right" else range(first_column - 1, -1, -1)
            lines = [[(row, column) for column in others] for row in range(first_row, last_row + 1)]
        else:
            others = range(last_row + 1, height) if way == "down" else range(first_row - 1, -1, -1)
            lines = [[(row, column) for row in others] for column in range(first_column, last_column + 1)]
        return {found for line in lines if (found := self._first(line, place)) is not None}

    def _first(self, line: Iterable[Place], place: Place) -> Place | None:
        covers = (self._covers[row][column] for row, column in line)
        return next((cell for cell in covers if cell is not None and cell != place), None)

    def headings(self, place: Place, way: str) -> set[Place]:
        """The headings above (`up`) or to the `left` of a cell; without any the outermost cells there."""
        found, ends, seen, ahead = set[Place](), set[Place](), set[Place](), {place}
        while ahead:
            here = ahead.pop()
            seen.add(here)
            if self.cells[here].is_heading:
                found.add(here)
            further = self.neighbours(here, way)
            if not further:
                ends.add(here)
            ahead |= further - seen
        return (found - {place}) or (ends - {place})


def _reach_on(reaching: list[tuple[Place, int] | None], column: int) -> Place:
    """The cell that reaches into a column from above, which then reaches a row less far."""
    held = reaching[column]
    assert held is not None
    place, more = held
    reaching[column] = (place, more - 1) if more > 1 else None
    return place


def grids_of_pipes(text: str) -> list[Grid]:
    """The tables of lines with pipes: two lines or more."""
    found: list[Grid] = []
    block: list[str] = []
    for line in [*text.strip().split("\n"), ""]:
        if "|" in line:
            block.append(line)
            continue
        if len(block) > 1:
            rows = [
                [GridCell(text, not number or not place) for place, text in enumerate(cells)]
                for number, cells in enumerate(_pipe_rows(block))
            ]
            found += [Grid(rows)] if rows else []
        block = []
    return [grid for grid in found if grid.cells]


def _pipe_rows(lines: Sequence[str]) -> list[list[str]]:
    """The cells of lines that are no rule below a header."""
    rows = []
    rule = next((number for number, line in enumerate(lines) if _is_rule(line.replace("|", "").strip())), None)
    for number, line in enumerate(lines):
        if number == rule or _is_rule(line.replace("|", "-")):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        cells = cells[1:] if cells and not cells[0] else cells
        cells = cells[:-1] if cells and not cells[-1] else cells
        rows += [cells] if cells else []
    return rows


def _is_rule(line: str) -> bool:
    return bool(line.strip()) and not line.strip("-: ")


def grids_of_html(text: str) -> list[Grid]:
    """The tables of HTML; of a table in a table the rows belong to both. Needs beautifulsoup4 (extra
    `documents`)."""
    if "<table" not in text.lower():
        return []
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    try:
        soup = BeautifulSoup(text, "html.parser")
    except ParserRejectedMarkup:
        return []
    for end in soup.find_all("br"):
        end.replace_with("\n")
    # Once for each line: those of a table in tables are lines of them all.
    cells_of = {id(line): _cells_of(line) for line in soup.find_all("tr")}
    found = []
    for table in soup.find_all("table"):
        lines = table.find_all("tr")
        rows = [
            [cell._replace(rows=cell.rows or len(lines) - number) for cell in cells_of[id(line)]]
            for number, line in enumerate(lines)
        ]
        found += [Grid(rows)] if any(rows) else []
    return found


def _cells_of(line: Tag) -> list[GridCell]:
    """The cells of a line; 0 rows where one spans all that follow."""
    in_head = line.find_parent("thead") is not None
    cells = []
    for cell in line.find_all(["th", "td"], recursive=False):
        height, width = (str(cell.get(name) or "") for name in ("rowspan", "colspan"))
        rows = 0 if height.strip() == "0" else _span(height)
        cells.append(GridCell(cell.get_text(separator="").strip(), cell.name == "th" or in_head, rows, _span(width)))
    return cells


_INTEGER = re.compile(r"\s*\+?\d{1,6}\s*")


def _span(text: str) -> int:
    """A span of at least 1; 1 for what is no number."""
    return min(max(int(text), 1), _MAX_SPAN) if _INTEGER.fullmatch(text) else 1
