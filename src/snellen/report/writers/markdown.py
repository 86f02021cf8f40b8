"""Documents as Markdown (CommonMark, with the tables of GitHub)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from snellen.report.document import Block, Document, EmptyLine, Line, Table, Verbatim, best_cells, cell_texts

_SIGNS = re.compile(r"[\\`*_{}\[\]<>|~]|&(?=#?\w+;)")


def write(document: Document) -> str:
    """The blocks, with empty lines between them."""
    shown = [block for block in document.blocks if not isinstance(block, EmptyLine)]
    parts = ["\n".join(_lines(list(group))) for _, group in groupby(shown, _kind)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _kind(block: Block) -> object:
    """What stands in one paragraph or list: notices that follow each other; all else by itself."""
    return "notice" if isinstance(block, Line) and block.style == "notice" else id(block)


def _lines(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Table():
                yield from table_lines(block)
            case Verbatim():
                yield from ("```text", *block.lines, "```")
            case Line(style="notice"):
                yield f"- {literal(block.text)}"
            case Line(style="heading"):
                detail = f" {literal(block.detail)}" if block.detail else ""
                yield f"**{literal(block.text)}**{detail}"
            case Line():
                yield literal(block.text)


def table_lines(table: Table) -> Iterator[str]:
    """A table with its title and notes; numbers are aligned to the right, the best in bold."""
    if table.title:
        yield from (f"**{literal(table.title)}**", "")
    yield _row(literal(column.name) for column in table.columns)
    yield f"| {' | '.join('---:' if column.is_number else '---' for column in table.columns)} |"
    best = best_cells(table)
    for number, texts in enumerate(cell_texts(table)):
        yield _row(
            f"**{literal(text)}**" if (number, index) in best else literal(text) for index, text in enumerate(texts)
        )
    for note in table.notes:
        yield from ("", literal(note))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def literal(text: str) -> str:
    """A text escaped so that Markdown shows it unchanged, in a line or in a table's cell; its white
    space is folded."""
    return _SIGNS.sub(r"\\\g<0>", " ".join(text.split()))
