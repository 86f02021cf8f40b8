"""Tables in HTML as elements: rows and cells with their spans and texts, and nothing else of what a model
wrote. No attribute but a span, and no tag, is taken over."""

from __future__ import annotations

from collections.abc import Sequence
from html.parser import HTMLParser
from typing import NamedTuple

from snellen.report.elements import Element
from snellen.report.word_marks import shared_items

MOST_CELLS = 2000
"""Cells that are drawn of a table."""
_MOST_SPAN = 100


class TableCell(NamedTuple):
    """One cell; spans are 1 to 100."""

    text: str
    columns: int = 1
    rows: int = 1
    is_heading: bool = False


class _TableReader(HTMLParser):
    """The rows of the first table; what stands in tables within it is text of its cell."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[TableCell]] = []
        self._depth = 0
        self._open: TableCell | None = None
        self._texts: list[str] = []
        self._is_over = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._depth += 1
        if self._depth > 1 or self._is_over:
            self._texts.append(" ")
        elif tag == "tr":
            self._close()
            self.rows.append([])
        elif tag in ("td", "th"):
            self._close()
            spans = dict(attrs)
            self._open = TableCell("", _span(spans.get("colspan")), _span(spans.get("rowspan")), tag == "th")
        elif tag == "br":
            self._texts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._depth -= 1
            if self._depth <= 0:
                self._close()
                self._is_over = True
        elif self._depth <= 1 and tag in ("td", "th", "tr"):
            self._close()

    def handle_data(self, data: str) -> None:
        if not self._is_over:
            self._texts.append(data)

    def close(self) -> None:
        super().close()
        self._close()

    def _close(self) -> None:
        text = "".join(self._texts).strip()
        self._texts.clear()
        if self._open is None:
            return
        if not self.rows:
            self.rows.append([])
        self.rows[-1].append(self._open._replace(text=text))
        self._open = None


def _span(text: str | None) -> int:
    digits = text.strip() if text else ""
    return min(int(digits), _MOST_SPAN) if digits.isascii() and digits.isdecimal() and 0 < len(digits) < 5 else 1


def table_rows(html: str) -> list[list[TableCell]]:
    """The rows of the first table of a piece of HTML."""
    reader = _TableReader()
    reader.feed(html)
    reader.close()
    return [row for row in reader.rows if row]


def draw_tables(gold: str, reply: str) -> tuple[Element | None, Element | None]:
    """Two tables in HTML with the cells marked that the other does not have in this place; None for one
    without a cell."""
    sides = table_rows(gold), table_rows(reply)
    flat = [[" ".join(cell.text.split()) for row in rows for cell in row] for rows in sides]
    shared = shared_items(*flat) if flat[0] and flat[1] else (bytearray(len(flat[0])), bytearray(len(flat[1])))
    drawn = [_draw(rows, flags) if rows else None for rows, flags in zip(sides, shared, strict=True)]
    return drawn[0], drawn[1]


def _draw(rows: Sequence[Sequence[TableCell]], shared: bytearray) -> Element:
    table: Element = ["table", {"class": "drawn"}]
    index = 0
    for row in rows:
        line: Element = ["tr", {}]
        for cell in row:
            spans = {"colspan": cell.columns, "rowspan": cell.rows}
            attributes = {name: str(count) for name, count in spans.items() if count > 1}
            content = cell.text if shared[index] or not cell.text else ["mark", {"class": "differs"}, cell.text]
            line.append(["th" if cell.is_heading else "td", attributes, content])
            index += 1
        table.append(line)
        if index > MOST_CELLS:
            return ["div", {}, table, ["p", {"class": "said-in-words"}, f"the first {index:,} cells are shown"]]
    return table
