"""What `snellen items` shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from snellen.analysis.samples.items import ItemAnalysis, ItemDifficulty
from snellen.core.terminal_text import shorten
from snellen.report import format as fmt
from snellen.report.document import Block, Document, Line, Space
from snellen.report.table import Cell, Column, Table
from snellen.stats.items import LEVEL

_MAX_LENGTH = 60
_ITEM_COLUMNS = (
    Column("id"),
    Column("question"),
    Column("difficulty", "number", digits=2),
    Column("discrimination", "number", digits=2),
)

NearCopies = Sequence[tuple[str, str]] | None
"""Pairs of ids of samples whose images look alike; None if images were not compared."""


def items_document(items: ItemAnalysis, near_copies: NearCopies, top: int) -> Document:
    """Sentences, and tables of at most `top` rows; JSON and CSV have every sample."""
    blocks: list[Block] = [Line(notice, "notice") for notice in items.notices]
    first, *others = item_lines(items, near_copies)
    blocks += [Line(first, "heading"), *map(Line, others)]
    for table in item_tables(items, near_copies, top):
        if table.rows:
            blocks += [Space(), table]
    data = msgspec.to_builtins(items) | {"pictures": near_copies}
    return Document(blocks, data, _records(items))


def item_tables(items: ItemAnalysis, near_copies: NearCopies, top: int) -> Iterator[Table]:
    """Tables of samples that separate models worst, of doubted labels, of similar images, and of
    subsets."""
    low = [(*_cells(item), item.low) for item in low_items(items)[:top]]
    columns = (*_ITEM_COLUMNS, Column("chance of one as low", "number", digits=3))
    yield Table("discrimination below that of 95 of 100 permutations", columns, low)
    hardest = sorted(items.items, key=lambda item: -item.difficulty)[:top]
    yield Table("hardest", _ITEM_COLUMNS, [_cells(item) for item in hardest])
    yield _suspects_table(items, top)
    pairs = list(near_copies or ())[:top]
    yield Table("images that look alike", (Column("id"), Column("looks like")), pairs)
    yield _sizes_table(items)


def low_items(items: ItemAnalysis) -> list[ItemDifficulty]:
    """Items that discriminate less than 95 of 100 permutations do, the lowest first."""
    low = [item for item in items.items if item.low is not None and item.low <= LEVEL]
    return sorted(low, key=lambda item: (item.low, item.discrimination, item.id))


def _cells(item: ItemDifficulty) -> tuple[Cell, ...]:
    question = shorten(item.question, _MAX_LENGTH)
    return (item.id, question, item.difficulty, item.discrimination)


def _suspects_table(items: ItemAnalysis, top: int) -> Table:
    columns = (
        *map(Column, ("id", "question", "gold", "answer")),
        Column("runs", "count"),
        Column("wrong", "share", digits=0),
    )
    rows = [
        (
            suspect.id,
            shorten(suspect.question, _MAX_LENGTH),
            suspect.gold,
            suspect.answer,
            f"{suspect.agree} of {suspect.runs}",
            suspect.probability,
        )
        for suspect in items.suspects[:top]
    ]
    return Table("labels in doubt, with the probability that they are wrong", columns, rows)


def _sizes_table(items: ItemAnalysis) -> Table:
    columns = (
        Column("samples", "count"),
        Column("pairs in order", "share", digits=0),
        Column("error", "points"),
        Column("largest", "points"),
        Column("random: in order", "share", digits=0),
        Column("random: error", "points"),
        Column("detectable", "points"),
    )
    rows = [
        (
            size.samples,
            size.agreement / 100,
            size.error,
            size.largest,
            size.random_agreement / 100,
            size.random_error,
            size.detectable,
        )
        for size in items.sizes
    ]
    return Table("subsets, on models that had no part in choosing them", columns, rows)


def _records(items: ItemAnalysis) -> Table:
    """Every sample with its difficulty, its discrimination, the probability of a discrimination as
    low, the probability that its label is wrong, and whether it is in the subset."""
    columns = (
        Column("id"),
        *(Column(name, "number") for name in ("difficulty", "discrimination", "low")),
        Column("label_wrong", "number"),
        Column("in_subset", "count"),
    )
    subset = set(items.subset)
    rows = [
        (item.id, item.difficulty, item.discrimination, item.low, item.label_wrong, int(item.id in subset))
        for item in items.items
    ]
    return Table("", columns, rows)


def item_lines(items: ItemAnalysis, near_copies: NearCopies) -> Iterator[str]:
    """Sentences that accompany the tables."""
    yield (
        f"{items.benchmark}: {fmt.plural(items.n, 'sample')} over {len(items.runs)} runs; "
        f"{fmt.count_text(items.all_right)} right in all, {fmt.count_text(items.all_wrong)} in none"
    )
    if items.wrong_labels is not None:
        yield (
            f"{fmt.plural(len(items.suspects), 'label')} in doubt; about {items.wrong_labels:.1f} "
            "labels are wrong by the answers of the runs"
        )
    if items.low_expected is not None:
        count = fmt.plural(len(low_items(items)), "sample")
        yield (
            f"{count} with a discrimination below that of 95 of 100 permutations; "
            f"{items.low_expected:.1f} expected if all discriminated alike"
        )
    if near_copies is not None:
        yield f"{fmt.plural(len(near_copies), 'pair')} of images look alike"
    if items.subset:
        text = f"subset that keeps the ranking: {fmt.plural(len(items.subset), 'sample')}"
        if items.subset_agreement is not None:
            text += (
                f"; it orders about {items.subset_agreement:.0f} % of the pairs of new models as "
                "the whole does, the choice of its size included"
            )
        yield text
