"""How near single blocks of a reply are to those of the gold page that say the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from snellen.core.page import Block, Page
from snellen.scoring.pages.page_score import match_pages
from snellen.scoring.pages.texts import counted_formula, counted_text

HEADINGS = frozenset({"title", "heading", "section_header", "sub_title", "subtitle"})
"""What data call a heading."""


def block_similarity(golds: Sequence[Block], replies: Sequence[Block]) -> float:
    """1 - normalised edit distance of what counts of texts and of formulas, 0..1."""
    count = counted_formula if golds[0].kind == "formula" else counted_text
    first, second = ("".join(count(block.text) for block in blocks) for blocks in (golds, replies))
    return float(Levenshtein.normalized_similarity(first, second))


def scores_by_kind(replies: Sequence[Block], gold: Page) -> dict[str, list[float]]:
    """The similarity of each block of the gold that counts, but of tables, by `heading`, `text` and
    `formula`; 0 of one that the reply lacks."""
    matched = match_pages(replies, gold)
    found: dict[str, list[float]] = defaultdict(list)
    for group in matched.groups:
        golds = [matched.golds[index] for index in group.gold]
        if not golds or golds[0].kind == "table" or all(block.optional for block in golds):
            continue
        written = [matched.replies[index] for index in group.reply]
        kind = "heading" if golds[0].category in HEADINGS else golds[0].kind
        found[kind] += [block_similarity(golds, written) if written else 0.0] * len(golds)
    return found
