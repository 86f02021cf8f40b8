"""TEDS: tree edit distance based similarity of two tables as HTML.

Zhong et al. 2020 (https://arxiv.org/abs/1911.10683, Sec. 4): 1 - edits / nodes of the larger tree.
Inserting or deleting a node costs 1. Renaming costs 1 if the tags or spans differ; between two
cells it costs the edit distance of their contents, divided by the length of the longer one.

The trees are those that libxml2 makes of the HTML, because its repairs of broken HTML are part of
the published scores, and the distance is that of the package `apted` (extra `documents`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from rapidfuzz.distance import Levenshtein

from snellen.core.errors import MissingExtra

_CELL = "td"
_PAGE = "<html><body>{}</body></html>"


def check_tree_packages() -> None:
    """Raises MissingExtra without the packages that tables and fields are compared with."""
    try:
        import apted
        import lxml
    except ImportError as error:
        name = error.name or "apted"
        raise MissingExtra("comparing tables and fields as trees", "documents", name) from None
    del apted, lxml


class TableNode(NamedTuple):
    """A node of a table: the table itself, a row, a cell, ...; only cells have spans and content.

    A tag is a text, but for processing instructions, which are compared by identity.
    """

    tag: object
    column_span: int | None
    row_span: int | None
    content: tuple[str, ...]
    """The characters of a cell and the tags in it."""
    children: Sequence[TableNode]


def table_similarity(reply: str, gold: str, *, structure_only: bool = False) -> float:
    """TEDS of the first tables of two pieces of HTML, 0..1; 0 if either has none. With
    `structure_only` what stands in cells does not count. The formula leaves out the root among the
    nodes, and would fall below 0 where nothing is alike."""
    reply_table, gold_table = _first_table(reply), _first_table(gold)
    if reply_table is None or gold_table is None:
        return 0.0
    nodes = max(len(reply_table.xpath(".//*")), len(gold_table.xpath(".//*")), 1)
    distance = _distance(_node(reply_table, structure_only), _node(gold_table, structure_only))
    return max(0.0, 1 - distance / nodes)


def plain_table(table: str) -> str:
    """A table as HTML of rows and cells alone, so that it is compared by what it says: header cells as
    others, without groups of rows, columns and attributes but for spans, cells without tags. White
    space in cells is collapsed, and full-width characters are plain ones (NFKC)."""
    found = _first_table(table)
    rows = [] if found is None else found.xpath(".//tr[not(ancestor::td or ancestor::th)]")
    return "<table>" + "".join(f"<tr>{''.join(map(_plain_cell, _cells(row)))}</tr>" for row in rows) + "</table>"


def _cells(row: Any) -> list[Any]:
    return list(row.iterchildren("td", "th"))


def _plain_cell(cell: Any) -> str:
    columns, rows = _span(cell, "colspan"), _span(cell, "rowspan")
    spans = f' colspan="{columns}"' * (columns > 1) + f' rowspan="{rows}"' * (rows > 1)
    text = " ".join(unicodedata.normalize("NFKC", "".join(cell.itertext())).split())
    return f"<td{spans}>{escape(text, quote=False)}</td>"


def _first_table(content: str) -> Any:
    """The first table right below the body, as lxml's element; None without one."""
    from lxml import html

    parser = html.HTMLParser(remove_comments=True, encoding="utf-8")
    page = html.fromstring(_PAGE.format(content), parser=parser)
    return next(iter(page.xpath("body/table")), None)


def _node(element: Any, structure_only: bool) -> TableNode:
    if element.tag != _CELL:
        children = [_node(child, structure_only) for child in element.getchildren()]
        return TableNode(element.tag, None, None, (), children)
    tokens: list[str] = []
    if not structure_only:
        _add_tokens(element, tokens)
    # The first and last token are the cell's own tags.
    content = tuple(tokens[1:-1])
    return TableNode(_CELL, _span(element, "colspan"), _span(element, "rowspan"), content, ())


def _span(element: Any, name: str) -> int:
    """A span; one that is no number counts as 1, as in browsers."""
    try:
        return int(element.attrib.get(name, "1"))
    except ValueError:
        return 1


def _add_tokens(element: Any, tokens: list[str]) -> None:
    """Append the tags and characters of an element in the order of the text. Text behind a nested
    cell is left out, as in the authors' script."""
    tokens.append(f"<{element.tag}>")
    tokens += list(element.text or "")
    for child in element.getchildren():
        _add_tokens(child, tokens)
    if element.tag != "unk":
        tokens.append(f"</{element.tag}>")
    if element.tag != _CELL:
        tokens += list(element.tail or "")


def _rename_cost(first: TableNode, second: TableNode) -> float:
    # Tag and spans.
    if first[:3] != second[:3]:
        return 1.0
    return float(Levenshtein.normalized_distance(first.content, second.content))


def _distance(first: TableNode, second: TableNode) -> float:
    from apted import APTED, Config

    class TableCosts(Config):  # type: ignore[misc]
        def rename(self, node1: TableNode, node2: TableNode) -> float:
            return _rename_cost(node1, node2)

    return float(APTED(first, second, TableCosts()).compute_edit_distance())
