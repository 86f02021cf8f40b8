"""A page of a document: its blocks in reading order, the answer of the kind `page`.

A gold page is stored as the JSON that `Page.text` gives. A reply stays the Markdown or HTML that the
model wrote; `extract.pages.blocks` takes it apart.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec
from msgspec import Struct

BlockKind = Literal["text", "table", "formula"]
_HEADING = frozenset({"title", "heading", "section_header"})


class Block(Struct, frozen=True, omit_defaults=True, gc=False):
    """One block of a page."""

    text: str
    """Markdown of a text; HTML of a table; LaTeX of a formula, without its signs."""
    kind: BlockKind = "text"
    category: str = ""
    """What the data call it: `title`, `page_footnote`, ..."""
    optional: bool = False
    """Whether a reply may have it or leave it out: captions, headers, footers, page numbers."""
    order: int = 0
    """Its place in the reading order, from 1; 0 if the data give it none."""
    source: str = ""
    """A formula as the data write it, with its signs, where that is something else."""


class Page(Struct, frozen=True, omit_defaults=True, gc=False):
    """The blocks of a page in the order of the data."""

    blocks: tuple[Block, ...] = ()

    def in_reading_order(self) -> list[Block]:
        """The blocks by `order`; those without one stay behind the block that they follow."""
        keyed: list[tuple[int, Block]] = []
        last = 0
        for block in self.blocks:
            last = block.order or last
            keyed.append((last, block))
        return [block for _, block in sorted(keyed, key=lambda one: one[0])]

    def text(self) -> str:
        """The page as JSON, which `load_page` reads."""
        return msgspec.json.encode(self.blocks).decode()

    def markdown(self) -> str:
        """The page as a model is to write it."""
        return "\n\n".join(map(_write_block, self.in_reading_order()))


def load_page(text: str) -> Page:
    """The page that `Page.text` wrote."""
    return Page(msgspec.json.decode(text, type=tuple[Block, ...]))


def _write_block(block: Block) -> str:
    if block.kind == "formula":
        return f"$$\n{block.text}\n$$"
    if block.kind == "text" and block.category in _HEADING and not block.text.startswith("#"):
        return "# " + re.sub(r"\s+", " ", block.text)
    return block.text
