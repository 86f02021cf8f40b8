"""Two pages block by block: what a page of the data and a page of a reply say in the same place, with the
score of each block. Formulas are text. Tables are drawn as tables: rows and cells with their spans and texts,
and nothing else of what a model wrote; no attribute but a span, and no tag, is taken over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import NamedTuple

from snellen.core.errors import MissingExtra
from snellen.core.page import Block, Page, load_page
from snellen.extract.pages.blocks import page_blocks
from snellen.report import format as fmt
from snellen.report.elements import Element, figure_element, side_element
from snellen.report.word_marks import mark_differences, shared_items
from snellen.scoring.pages.block_scores import block_similarity
from snellen.scoring.pages.matching import Group
from snellen.scoring.pages.page_score import TEDS, MatchedPage, match_pages

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


_MOST_CELLS = 150
"""Cells of tables that are compared for a drawing alone, since the time grows with their cube."""


class _DrawnBlock(NamedTuple):
    element: Element
    outcome: str


def draw_blocks(gold: str, reply: str, scores: Mapping[str, float], *, is_scored: bool = True) -> Element:
    """The figure of a gold page, the text of a `Page` or Markdown, and of the page of a reply. `scores` are
    those of the parts of the page; without `is_scored` no block has a score of its own."""
    page = load_page(gold) if is_scored else Page(tuple(page_blocks(gold)))
    matched = match_pages(page_blocks(reply), page)
    drawn = [_draw_group(matched, group, scores, is_scored) for group in matched.groups]
    outcomes = [each.outcome for each in drawn]
    counts = {name: outcomes.count(name) for name in ("missing", "invented")}
    summary = [f"{fmt.plural(len(matched.golds), 'block')} in the gold, {len(matched.replies)} in the answer"]
    summary += [f"{count} {name}" for name, count in counts.items() if count]
    blocks = [each.element for each in drawn]
    return figure_element(", ".join(summary), ["div", {"class": "blocks tall", "tabindex": "0"}, *blocks])


def _draw_group(matched: MatchedPage, group: Group, scores: Mapping[str, float], is_scored: bool) -> _DrawnBlock:
    """Blocks that say the same, their number in either page, and their score."""
    golds = [matched.golds[index] for index in group.gold]
    replies = [matched.replies[index] for index in group.reply]
    kind = (golds or replies)[0].kind
    outcome = _outcome(golds, replies)
    score = _score(golds, replies, scores, _only_table(matched)) if is_scored else None
    said = "optional, not counted" if outcome == "optional" else f"{100 * score:.0f} %" if score is not None else ""
    said = outcome if outcome in ("missing", "invented") else said
    name = (golds or replies)[0].category or kind
    head = ["div", {"class": f"block-head {outcome}"}, ["span", {}, name.replace("_", " ")], ["b", {}, said]]
    contents = _contents(golds, replies)
    sides = [
        side_element(side, content, heading=_heading(side, numbers))
        for side, content, numbers in zip(("gold", "answer"), contents, (group.gold, group.reply), strict=True)
    ]
    return _DrawnBlock(
        ["div", {"class": f"block {kind} {outcome}"}, head, ["div", {"class": "sides"}, *sides]], outcome
    )


def _outcome(golds: Sequence[Block], replies: Sequence[Block]) -> str:
    if not golds:
        return "invented"
    if all(block.optional for block in golds):
        return "optional"
    return "matched" if replies else "missing"


def _heading(side: str, numbers: Sequence[int]) -> str:
    """Which blocks of its page a side has, counted from 1."""
    listed = " and ".join(str(number + 1) for number in numbers)
    return f"{side} {listed}" if listed else side


def _contents(golds: Sequence[Block], replies: Sequence[Block]) -> tuple[list[Element], list[Element]]:
    """The elements of both sides: tables next to tables, else texts with the words that differ."""
    if {block.kind for block in (*golds, *replies)} == {"table"}:
        tables = draw_tables(_join_blocks(golds), _join_blocks(replies))
        texts = _join_blocks(golds), _join_blocks(replies)
        first, second = ([table] if table else _plain(text) for table, text in zip(tables, texts, strict=True))
        return first, second
    if not golds or not replies:
        return _plain(_join_blocks(golds)), _plain(_join_blocks(replies))
    marked = mark_differences(_readable(golds), _readable(replies))
    return [["pre", {}, *marked.first]], [["pre", {}, *marked.second]]


def _plain(text: str) -> list[Element]:
    rows = table_rows(text) if text.startswith("<table") else []
    if rows:
        table = draw_tables(text, text)[0]
        return [table] if table else []
    return [["pre", {}, text or "–"]]


def _join_blocks(blocks: Sequence[Block]) -> str:
    return "\n\n".join(block.text for block in blocks)


def _readable(blocks: Sequence[Block]) -> str:
    """The texts of blocks; of a table beside a text its cells."""
    return "\n\n".join(
        "\n".join("\t".join(cell.text for cell in row) for row in table_rows(block.text))
        if block.kind == "table"
        else block.text
        for block in blocks
    )


def _only_table(matched: MatchedPage) -> bool:
    return sum(block.kind == "table" for block in matched.golds) == 1


def _score(
    golds: Sequence[Block], replies: Sequence[Block], scores: Mapping[str, float], is_only_table: bool
) -> float | None:
    """How near the blocks are, 0..1, by the measure of their part; None where one side has none, or a
    table is too large to be compared for a drawing."""
    if not golds or not replies:
        return None
    if golds[0].kind == "table":
        of_page = scores.get(TEDS) if is_only_table else None
        return of_page if of_page is not None else _teds(golds[0].text, replies[0].text)
    return block_similarity(golds, replies)


def _teds(gold: str, reply: str) -> float | None:
    from snellen.scoring.pages.teds import plain_table, table_similarity

    if max(sum(map(len, table_rows(text))) for text in (gold, reply)) > _MOST_CELLS:
        return None
    try:
        return table_similarity(plain_table(reply), plain_table(gold))
    except MissingExtra:
        return None
    except ImportError:  # without lxml
        return None
