"""What `snellen items` says."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from snellen.analysis.items import Item, Items
from snellen.core.sheets import text_cells
from snellen.report import format as fmt
from snellen.report.comparison import Grid, markdown_of, table_of
from snellen.report.markdown import bullets

if TYPE_CHECKING:
    from rich.console import Console

_LONGEST = 60


class Pictures(NamedTuple):
    """Ids of samples whose pictures look alike, pair by pair; None where nobody looked."""

    pairs: Sequence[tuple[str, str]] | None = None


def grids(found: Items, pictures: Pictures, most: int) -> Iterator[Grid]:
    """Samples that tell models apart worst, doubted labels, alike pictures, subsets."""
    yield _items("lowest discrimination (weaker models do better)", _worst(found)[:most])
    yield _items("hardest", sorted(found.items, key=lambda one: -one.difficulty)[:most])
    if found.suspects:
        rows = [
            (one.id, _short(one.question), one.gold, one.answer, f"{one.agree} of {one.runs}")
            for one in found.suspects[:most]
        ]
        title = "labels in doubt: every strong model gives the same other answer"
        yield Grid(title, 4, ("id", "question", "gold", "answer", "runs"), rows)
    if pictures.pairs:
        yield Grid("pictures that look alike", 2, ("id", "id"), pictures.pairs[:most])
    if found.sizes:
        yield _sizes(found)


def _worst(found: Items) -> list[Item]:
    told = [one for one in found.items if one.discrimination is not None]
    return sorted(told, key=lambda one: (one.discrimination, one.id))


def _items(title: str, items: Sequence[Item]) -> Grid:
    rows = [
        (
            one.id,
            _short(one.question),
            f"{one.difficulty:.2f}",
            fmt.NONE if one.discrimination is None else f"{one.discrimination:+.2f}",
        )
        for one in items
    ]
    return Grid(title, 2, ("id", "question", "difficulty", "discrimination"), rows)


def _sizes(found: Items) -> Grid:
    rows = [
        (
            fmt.number(one.samples),
            f"{one.agreement:.0f} %",
            fmt.points(one.error),
            fmt.points(one.largest),
            f"{one.random_agreement:.0f} %",
            fmt.points(one.random_error),
            fmt.points(one.detectable),
        )
        for one in found.sizes
    ]
    heads = ("samples", "pairs in order", "error", "largest", "random: in order", "error", "finds")
    return Grid("subsets, on models that had no part in choosing them", 0, heads, rows)


def lines(found: Items, pictures: Pictures) -> Iterator[str]:
    """What is said beside the tables."""
    yield (
        f"{found.benchmark}: {fmt.plural(found.n, 'sample')} over {len(found.runs)} runs; "
        f"{fmt.number(found.all_right)} right in all, {fmt.number(found.all_wrong)} in none"
    )
    if found.strong:
        told = f"{fmt.plural(len(found.suspects), 'label')} in doubt"
        if found.expected is not None:
            told += f", {found.expected:.1f} expected if the strong models erred by lot"
        yield f"{told} (strong: {', '.join(found.strong)})"
    if pictures.pairs is not None:
        yield f"{fmt.plural(len(pictures.pairs), 'pair')} of pictures look alike"
    if found.subset:
        kept = f"smallest subset that keeps the ranking: {fmt.plural(len(found.subset), 'sample')}"
        if found.subset_agreement is not None:
            kept += (
                f"; it orders about {found.subset_agreement:.0f} % of the pairs of new models as "
                "the whole does, the choice of its size included"
            )
        yield kept


def print_items(found: Items, console: Console, *, pictures: Pictures, most: int) -> None:
    from rich.text import Text

    for notice in found.notices:
        console.print(Text(f"! {notice}", style="yellow"))
    for line in lines(found, pictures):
        console.print(Text(line))
    for grid in grids(found, pictures, most):
        if grid.rows:
            console.print()
            console.print(Text(grid.title, style="bold"))
            console.print(table_of(grid))


def to_json(found: Items, pictures: Pictures) -> str:
    """One object, unrounded, with every sample."""
    told = msgspec.to_builtins(found) | {"pictures": pictures.pairs}
    return msgspec.json.encode(told).decode() + "\n"


def to_csv(found: Items) -> str:
    """Every sample with its difficulty and discrimination, and whether the subset has it."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("id", "difficulty", "discrimination", "label_in_doubt", "in_subset"))
    doubted, kept = {one.id for one in found.suspects}, set(found.subset)
    for one in found.items:
        telling = "" if one.discrimination is None else f"{one.discrimination:.4f}"
        row = (
            one.id,
            f"{one.difficulty:.4f}",
            telling,
            int(one.id in doubted),
            int(one.id in kept),
        )
        writer.writerow(text_cells(row))
    return file.getvalue()


def to_markdown(found: Items, pictures: Pictures, most: int) -> str:
    told = bullets((*found.notices, *lines(found, pictures)))
    for grid in grids(found, pictures, most):
        if grid.rows:
            told += ["", *markdown_of(grid)]
    return "\n".join(told) + "\n"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
