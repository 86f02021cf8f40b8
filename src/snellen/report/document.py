"""What a command shows: lines and tables in order, which every format writes
(`snellen.report.writers`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from snellen.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
