"""How near the blocks of a reply come to those of a gold page, part by part.

* Text: normalised edit distance of the letters and digits of groups of blocks that say the same
  (`matching`): edits over the length of the longer text, both added up over the page. Text that the
  reply leaves out or invents counts in full. Blocks that are optional count in no way.
* Reading order: normalised edit distance of the order in which the reply has the gold blocks.
* Tables: TEDS and TEDS of the structure alone (`teds`), each gold table with the likest of the reply;
  a table that is left out counts 0. Its cells are compared without tags and white space.
* Formulas: normalised edit distance of their LaTeX (`texts.counted_formula`): two ways to write one formula
  differ. Or CDM, which draws both (`cdm`), under a name of its own.

Tables and formulas that match none of the gold page count as text, since a page may set a formula in a
line of text, and a reply may draw a table where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

from snellen.core.page import Block, Page
from snellen.scoring.assignment import least_sum_pairs
from snellen.scoring.pages.matching import Edits, Group, count_edits, match_blocks, sum_edits
from snellen.scoring.pages.texts import counted_formula, counted_text

TEXT, ORDER, FORMULA = "text_similarity", "reading_order", "formula_edit_similarity"
TEDS, TEDS_STRUCTURE = "teds", "teds_structure"
CDM = "cdm"
"""Character detection matching of drawn formulas, where TeX draws them."""
TABLE_EDITS = "table_edit_similarity"
"""1 - normalised edit distance of the HTML of tables, in rules of other tools."""
OVERALL_PARTS = (TEXT, FORMULA, TEDS)
"""The parts whose mean is the score of a page."""


class PageScores(NamedTuple):
    """What a page scores in each part that its gold has; None or empty for the others."""

    text: Edits | None = None
    order: Edits | None = None
    formula: Edits | None = None
    tables: tuple[float, ...] = ()
    """TEDS of each gold table."""
    structures: tuple[float, ...] = ()

    def parts(self) -> dict[str, float]:
        """Each part by the name of its metric, 0..1, higher is better."""
        found = {TEXT: self.text, ORDER: self.order, FORMULA: self.formula}
        parts = {name: edits.similarity for name, edits in found.items() if edits is not None}
        for name, values in ((TEDS, self.tables), (TEDS_STRUCTURE, self.structures)):
            if values:
                parts[name] = sum(values) / len(values)
        return parts

    def overall(self) -> float:
        """The mean of `OVERALL_PARTS` that the gold has; 1 if it has none."""
        return mean_of_parts(self.parts(), OVERALL_PARTS)


class MatchedPage(NamedTuple):
    """The blocks of both pages in the order in which they are read, and which say the same."""

    golds: Sequence[Block]
    replies: Sequence[Block]
    groups: Sequence[Group]
    """Of all kinds of blocks, by the first block of the gold; then what the reply invents."""


def mean_of_parts(parts: Mapping[str, float], names: Sequence[str]) -> float:
    """The mean of the named parts that there are; 1 if there are none."""
    values = [parts[name] for name in names if name in parts]
    return sum(values) / len(values) if values else 1.0


def match_pages(replies: Sequence[Block], gold: Page) -> MatchedPage:
    """Which blocks of two pages say the same: tables, then formulas, then all else as text."""
    golds = gold.in_reading_order()
    tables = _pairs(golds, replies, "table", lambda block: counted_text(block.text))
    formulas = _pairs(golds, replies, "formula", lambda block: counted_formula(block.text))
    pairs = [*tables, *formulas]
    matched = {reply for _, reply in pairs}
    texts = [index for index, block in enumerate(golds) if block.kind == "text"]
    others = [index for index in range(len(replies)) if index not in matched]
    found = match_blocks(
        [counted_text(golds[index].text) for index in texts], [counted_text(replies[index].text) for index in others]
    )
    groups = [Group(tuple(texts[one] for one in gold), tuple(others[one] for one in reply)) for gold, reply in found]
    groups += [Group((one,), (other,)) for one, other in pairs]
    paired = {one for one, _ in pairs}
    groups += [Group((index,), ()) for index, block in enumerate(golds) if block.kind != "text" and index not in paired]
    return MatchedPage(golds, replies, sorted(groups, key=lambda group: (not group.gold, group)))


def score_page(replies: Sequence[Block], gold: Page) -> PageScores:
    """The scores of a page, by the blocks of the reply in the order in which they are written. Raises
    MissingExtra where tables are to be compared and a package for it is missing."""
    return score_matched_page(match_pages(replies, gold))


def score_matched_page(matched: MatchedPage) -> PageScores:
    """The scores of a page whose blocks are matched. Raises as `score_page`."""
    golds = matched.golds
    counted = [block for block in golds if not block.optional]
    kinds = {block.kind for block in counted}
    tables = [group for group in matched.groups if group.gold and golds[group.gold[0]].kind == "table"]
    return PageScores(
        text=_text_edits(matched) if "text" in kinds or not golds else None,
        order=_order_edits(matched) if len(counted) > 1 else None,
        formula=_formula_edits(matched) if "formula" in kinds else None,
        tables=tuple(_teds(matched, group) for group in tables),
        structures=tuple(_teds(matched, group, structure_only=True) for group in tables),
    )


def _pairs(
    golds: Sequence[Block], replies: Sequence[Block], kind: str, counted: Callable[[Block], str]
) -> list[tuple[int, int]]:
    """Blocks of a kind, paired so that the sum of the normalised distances is least. Those of which no
    sign is alike are no pair."""
    of_gold = [index for index, block in enumerate(golds) if block.kind == kind]
    of_reply = [index for index, block in enumerate(replies) if block.kind == kind]
    texts = [counted(golds[index]) for index in of_gold], [counted(replies[index]) for index in of_reply]
    costs = [[Levenshtein.normalized_distance(one, other) for other in texts[1]] for one in texts[0]]
    pairs = least_sum_pairs(costs)
    return [(of_gold[row], of_reply[column]) for row, column in pairs if costs[row][column] < 1]


def _text_edits(matched: MatchedPage) -> Edits:
    pairs = []
    for group in matched.groups:
        golds = [matched.golds[index] for index in group.gold]
        if golds and (golds[0].kind != "text" or all(block.optional for block in golds)):
            continue
        pairs.append((_text_of(golds), _text_of([matched.replies[index] for index in group.reply])))
    return sum_edits(pairs)


def _text_of(blocks: Sequence[Block]) -> str:
    return "".join(counted_text(block.text) for block in blocks)


def _order_edits(matched: MatchedPage) -> Edits:
    """Edits of the sequence of gold blocks as the reply has them. A block that is left out is missing in
    the sequence."""
    counted = [index for index, block in enumerate(matched.golds) if not block.optional]
    groups = [group for group in matched.groups if group.gold and group.reply]
    written = [index for group in sorted(groups, key=lambda group: group.reply) for index in group.gold]
    return count_edits(counted, [index for index in written if not matched.golds[index].optional])


def formula_pairs(matched: MatchedPage) -> list[tuple[str, str]]:
    """Each formula of the gold page that counts, and that of the reply, which is empty if it has none."""
    return [
        (golds[0].text, "".join(matched.replies[index].text for index in group.reply))
        for group in matched.groups
        if (golds := [matched.golds[index] for index in group.gold])
        and golds[0].kind == "formula"
        and not golds[0].optional
    ]


def _formula_edits(matched: MatchedPage) -> Edits:
    return sum_edits((counted_formula(gold), counted_formula(reply)) for gold, reply in formula_pairs(matched))


def _teds(matched: MatchedPage, group: Group, *, structure_only: bool = False) -> float:
    """TEDS of a gold table and that of the reply; 0 without one."""
    from snellen.scoring.pages.teds import plain_table, table_similarity

    if not group.reply:
        return 0.0
    gold, reply = matched.golds[group.gold[0]].text, matched.replies[group.reply[0]].text
    return table_similarity(plain_table(reply), plain_table(gold), structure_only=structure_only)
