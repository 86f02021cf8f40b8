"""The output of `snellen items`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from snellen.analysis.samples.items import ItemAnalysis, ItemDifficulty
from snellen.core.csv_cells import text_cells
from snellen.core.terminal_text import shorten
from snellen.report import format as fmt
from snellen.report.markdown import bullets
from snellen.report.terminal.text_table import TextTable, markdown_lines, print_table
from snellen.stats.items import LEVEL

if TYPE_CHECKING:
    from rich.console import Console

_MAX_LENGTH = 60


class SimilarImages(NamedTuple):
    """Pairs of ids of samples whose images look alike; None if images were not compared."""

    pairs: Sequence[tuple[str, str]] | None = None


def item_tables(
    items: ItemAnalysis, similar_images: SimilarImages, max_rows: int
) -> Iterator[TextTable]:
    """Tables of samples that separate models worst, of doubted labels, of similar images, and of
    subsets."""
    low = [(*_cells(item), f"{item.low:.3f}") for item in low_items(items)[:max_rows]]
    heads = ("id", "question", "difficulty", "discrimination")
    title = "discrimination below that of 95 of 100 permutations"
    yield TextTable(title, 2, (*heads, "chance of one as low"), low)
    hardest = sorted(items.items, key=lambda item: -item.difficulty)[:max_rows]
    yield TextTable("hardest", 2, heads, [_cells(item) for item in hardest])
    if items.suspects:
        rows = [
            (
                suspect.id,
                shorten(suspect.question, _MAX_LENGTH),
                suspect.gold,
                suspect.answer,
                f"{suspect.agree} of {suspect.runs}",
                f"{100 * suspect.probability:.0f} %",
            )
            for suspect in items.suspects[:max_rows]
        ]
        title = "labels in doubt, with the probability that they are wrong"
        yield TextTable(title, 4, ("id", "question", "gold", "answer", "runs", "wrong"), rows)
    if similar_images.pairs:
        yield TextTable("images that look alike", 2, ("id", "id"), similar_images.pairs[:max_rows])
    if items.sizes:
        yield _sizes_table(items)


def low_items(items: ItemAnalysis) -> list[ItemDifficulty]:
    """Items that discriminate less than 95 of 100 permutations do, the lowest first."""
    low = [item for item in items.items if item.low is not None and item.low <= LEVEL]
    return sorted(low, key=lambda item: (item.low, item.discrimination, item.id))


def _cells(item: ItemDifficulty) -> tuple[str, ...]:
    return (
        item.id,
        shorten(item.question, _MAX_LENGTH),
        f"{item.difficulty:.2f}",
        fmt.NONE if item.discrimination is None else f"{item.discrimination:+.2f}",
    )


def _sizes_table(items: ItemAnalysis) -> TextTable:
    rows = [
        (
            fmt.count_text(size.samples),
            f"{size.agreement:.0f} %",
            fmt.score_text(size.error),
            fmt.score_text(size.largest),
            f"{size.random_agreement:.0f} %",
            fmt.score_text(size.random_error),
            fmt.score_text(size.detectable),
        )
        for size in items.sizes
    ]
    heads = (
        "samples",
        "pairs in order",
        "error",
        "largest",
        "random: in order",
        "error",
        "detectable",
    )
    return TextTable("subsets, on models that had no part in choosing them", 0, heads, rows)


def item_lines(items: ItemAnalysis, similar_images: SimilarImages) -> Iterator[str]:
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
    if similar_images.pairs is not None:
        yield f"{fmt.plural(len(similar_images.pairs), 'pair')} of images look alike"
    if items.subset:
        text = f"subset that keeps the ranking: {fmt.plural(len(items.subset), 'sample')}"
        if items.subset_agreement is not None:
            text += (
                f"; it orders about {items.subset_agreement:.0f} % of the pairs of new models as "
                "the whole does, the choice of its size included"
            )
        yield text


def print_items(
    items: ItemAnalysis, console: Console, *, similar_images: SimilarImages, max_rows: int
) -> None:
    from rich.text import Text

    for notice in items.notices:
        console.print(Text(f"! {notice}", style="yellow"))
    for line in item_lines(items, similar_images):
        console.print(Text(line))
    for grid in item_tables(items, similar_images, max_rows):
        if grid.rows:
            console.print()
            console.print(Text(grid.title, style="bold"))
            print_table(grid, console)


def to_json(items: ItemAnalysis, similar_images: SimilarImages) -> str:
    """One JSON object with every sample; numbers are not rounded."""
    content = msgspec.to_builtins(items) | {"pictures": similar_images.pairs}
    return msgspec.json.encode(content).decode() + "\n"


def to_csv(items: ItemAnalysis) -> str:
    """Every sample with its difficulty, its discrimination, the probability of a discrimination as
    low, the probability that its label is wrong, and whether it is in the subset."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("id", "difficulty", "discrimination", "low", "label_wrong", "in_subset"))
    subset = set(items.subset)
    for item in items.items:
        telling = "" if item.discrimination is None else f"{item.discrimination:.4f}"
        row = (
            item.id,
            f"{item.difficulty:.4f}",
            telling,
            "" if item.low is None else f"{item.low:.4f}",
            "" if item.label_wrong is None else f"{item.label_wrong:.4f}",
            int(item.id in subset),
        )
        writer.writerow(text_cells(row))
    return file.getvalue()


def to_markdown(items: ItemAnalysis, similar_images: SimilarImages, max_rows: int) -> str:
    lines = bullets((*items.notices, *item_lines(items, similar_images)))
    for grid in item_tables(items, similar_images, max_rows):
        if grid.rows:
            lines += ["", *markdown_lines(grid)]
    return "\n".join(lines) + "\n"
