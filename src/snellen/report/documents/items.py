"""What `snellen items` shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from snellen.analysis.samples.items import ItemAnalysis, ItemDifficulty
from snellen.core.terminal_text import shorten
from snellen.report import format as fmt
from snellen.report.document import Block, Cell, Column, Document, EmptyLine, Line, Table, table_of
from snellen.stats.items import LEVEL

_MAX_LENGTH = 60
_ITEM_COLUMNS: list[tuple[Column, Callable[[ItemDifficulty], Cell]]] = [
    (Column("id"), lambda item: item.id),
    (Column("question"), lambda item: shorten(item.question, _MAX_LENGTH)),
    (Column("difficulty", "number", digits=2), lambda item: item.difficulty),
    (Column("discrimination", "number", digits=2), lambda item: item.discrimination),
]

NearCopies = Sequence[tuple[str, str]] | None
"""Pairs of ids of samples whose images look alike; None if images were not compared."""


def items_document(items: ItemAnalysis, near_copies: NearCopies, top: int) -> Document:
    """Sentences, and tables of at most `top` rows; JSON and CSV have every sample."""
    blocks: list[Block] = [Line(notice, "notice") for notice in items.notices]
    first, *others = item_lines(items, near_copies)
    blocks += [Line(first, "heading"), *map(Line, others)]
    for table in item_tables(items, near_copies, top):
        if table.rows:
            blocks += [EmptyLine(), table]
    data = msgspec.to_builtins(items) | {"pictures": near_copies}
    return Document(blocks, data, _records(items))


def item_tables(items: ItemAnalysis, near_copies: NearCopies, top: int) -> Iterator[Table]:
    """Tables of samples that separate models worst, of doubted labels, of similar images, and of
    subsets."""
    yield table_of(
        "discrimination below that of 95 of 100 permutations",
        low_items(items)[:top],
        [*_ITEM_COLUMNS, (Column("chance of one as low", "number", digits=3), lambda item: item.low)],
    )
    yield table_of("hardest", sorted(items.items, key=lambda item: -item.difficulty)[:top], _ITEM_COLUMNS)
    yield _suspects_table(items, top)
    pairs = list(near_copies or ())[:top]
    yield Table("images that look alike", (Column("id"), Column("looks like")), pairs)
    yield _sizes_table(items)


def low_items(items: ItemAnalysis) -> list[ItemDifficulty]:
    """Items that discriminate less than 95 of 100 permutations do, the lowest first."""
    low = [item for item in items.items if item.low is not None and item.low <= LEVEL]
    return sorted(low, key=lambda item: (item.low, item.discrimination, item.id))


def _suspects_table(items: ItemAnalysis, top: int) -> Table:
    return table_of(
        "labels in doubt, with the probability that they are wrong",
        items.suspects[:top],
        [
            (Column("id"), lambda suspect: suspect.id),
            (Column("question"), lambda suspect: shorten(suspect.question, _MAX_LENGTH)),
            (Column("gold"), lambda suspect: suspect.gold),
            (Column("answer"), lambda suspect: suspect.answer),
            (Column("runs", "count"), lambda suspect: f"{suspect.agree} of {suspect.runs}"),
            (Column("wrong", "share", digits=0), lambda suspect: suspect.probability),
        ],
    )


def _sizes_table(items: ItemAnalysis) -> Table:
    return table_of(
        "subsets, on models that had no part in choosing them",
        items.sizes,
        [
            (Column("samples", "count"), lambda size: size.samples),
            (Column("pairs in order", "share", digits=0), lambda size: size.agreement / 100),
            (Column("error", "points"), lambda size: size.error),
            (Column("largest", "points"), lambda size: size.largest),
            (Column("random: in order", "share", digits=0), lambda size: size.random_agreement / 100),
            (Column("random: error", "points"), lambda size: size.random_error),
            (Column("detectable", "points"), lambda size: size.detectable),
        ],
    )


def _records(items: ItemAnalysis) -> Table:
    """Every sample with its difficulty, its discrimination, the probability of a discrimination as
    low, the probability that its label is wrong, and whether it is in the subset."""
    subset = set(items.subset)
    return table_of(
        "",
        items.items,
        [
            (Column("id"), lambda item: item.id),
            (Column("difficulty", "number"), lambda item: item.difficulty),
            (Column("discrimination", "number"), lambda item: item.discrimination),
            (Column("low", "number"), lambda item: item.low),
            (Column("label_wrong", "number"), lambda item: item.label_wrong),
            (Column("in_subset", "count"), lambda item: int(item.id in subset)),
        ],
    )


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
