"""Gold pages of rows: Markdown or HTML, a JSON list of blocks, or a page as OmniDocBench annotates it.

A block of a list is an object with a `category` and a `text` (or `html`, `latex`, `content`); `order` is
its place in the reading order, which else is that of the list; `optional` says whether a reply may leave
it out, which captions, headers, footers, footnotes and page numbers may unless it says otherwise, as in
OmniDocBench (Ouyang et al. 2024, https://arxiv.org/abs/2412.07626). Pictures are no blocks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from snellen.core.errors import DataError
from snellen.core.page import Block, Page
from snellen.core.sample import Row
from snellen.data.columns import gold_column
from snellen.extract.pages.blocks import block_of, page_blocks
from snellen.scoring.pages.teds import check_tree_packages

OPTIONAL = frozenset(
    {
        "figure_caption",
        "figure_footnote",
        "table_caption",
        "table_footnote",
        "code_algorithm",
        "code_algorithm_caption",
        "code_txt_caption",
        "equation_caption",
        "caption",
        "header",
        "footer",
        "page_header",
        "page_footer",
        "page_footnote",
        "footnote",
        "page_number",
    }
)
"""Categories of blocks that a reply may have or leave out."""
_IN_OMNIDOCBENCH = frozenset({"code_txt_caption"})
"""Of these, what OmniDocBench counts all the same."""
_ANNOTATED = "layout_dets"
_TWICE = "text_with_repeats"
"""Key of the text of a cut paragraph in which the authors count parts several times."""
_OTHERS = frozenset({"equation_semantic", "table_mask", "text_mask", "need_mask", "organic_chemical_formula_mask"})


def page_golds(row: Row) -> tuple[str, ...]:
    """The gold page of a row as the text of a `Page`; none without a gold answer. Raises DataError for a
    list of what are no blocks and for a page without any, MissingExtra for tables that cannot be compared."""
    gold = row.cells.get(gold_column(row.cells) or "", "").strip()
    return (read_page(gold).text(),) if gold else ()


def read_page(gold: str) -> Page:
    """The page of a gold answer. Raises DataError."""
    try:
        value = json.loads(gold) if gold.startswith(("[", "{")) else None
    except ValueError:
        value = None
    if isinstance(value, dict) and isinstance(value.get(_ANNOTATED), list):
        page = _annotated_page(value)
    elif isinstance(value, list):
        page = Page(tuple(_blocks_of_list(value)))
    else:
        page = Page(tuple(page_blocks(gold)))
    if not page.blocks:
        raise DataError(f"the gold page {gold[:60]!r} has no text, table or formula; leave the cell empty")
    if any(block.kind == "table" for block in page.blocks):
        check_tree_packages()
    return page


def _blocks_of_list(values: Sequence[Any]) -> list[Block]:
    blocks = []
    for number, value in enumerate(values, 1):
        try:
            block = block_of(value)
        except ValueError as error:
            got = json.dumps(value)[:60]
            raise DataError(f"block {number} of the gold page is {got}; expected an object with a text") from error
        if block is not None:
            optional = value.get("optional", block.category in OPTIONAL)
            blocks.append(structs.replace(block, order=_order_of(value), optional=bool(optional)))
    return blocks


def _order_of(value: Mapping[str, Any]) -> int:
    order = value.get("order", value.get("reading_order"))
    return order if isinstance(order, int) and not isinstance(order, bool) and order > 0 else 0


def _annotated_page(annotated: Mapping[str, Any]) -> Page:
    """A page of OmniDocBench. Blocks that are parts of one paragraph, cut by a column or a picture, are one
    block in the place of the first."""
    values = [value for value in annotated[_ANNOTATED] if value.get("category_type") not in _OTHERS]
    chains = _cut_paragraphs(annotated.get("extra") or {})
    of_id = {value.get("anno_id"): value for value in values}
    joined = {name for chain in chains for name in chain}
    kept = [value for value in values if value.get("anno_id") not in joined]
    for chain in chains:
        parts = sorted((of_id[name] for name in chain if name in of_id), key=lambda part: part.get("order") or 0)
        if parts:
            texts = {part["anno_id"]: part.get("text") or "" for part in parts}
            kept.append({**parts[0], "text": "".join(texts.values())})
            if len(texts) < len(parts):
                kept[-1][_TWICE] = "".join(texts[part["anno_id"]] for part in parts)
    blocks = []
    for value in kept:
        block = block_of(value)
        if block is None and isinstance(value.get("text"), str):
            # One without text is there for the authors' rule.
            block = Block("", category=value.get("category_type", ""))
        if block is not None:
            optional = block.category in OPTIONAL - _IN_OMNIDOCBENCH
            written = value.get("latex") if block.kind == "formula" else value.get(_TWICE)
            source = written if written not in (None, block.text) else ""
            blocks.append(structs.replace(block, order=_order_of(value), optional=optional, source=source))
    return Page(tuple(blocks))


def _cut_paragraphs(extra: Mapping[str, Any]) -> list[list[Any]]:
    """The ids of blocks that are parts of one paragraph, in the order of the relations: those in the middle of one
    several times, as the authors count their text."""
    chains: list[list[Any]] = []
    for relation in extra.get("relation") or ():
        if relation.get("relation_type") != "truncated":
            continue
        ends = [relation["source_anno_id"], relation["target_anno_id"]]
        known = [chain for chain in chains if set(chain) & set(ends)]
        for chain in known:
            chain += ends
        if not known:
            chains.append(ends)
    return chains
