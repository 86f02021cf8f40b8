"""What `snellen items` says."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from snellen.analysis.samples.items import Item, Items
from snellen.core.csv_cells import text_cells
from snellen.report import format as fmt
from snellen.report.markdown import bullets
from snellen.report.terminal.comparison import Grid, markdown_of, table_of
from snellen.stats.items import LEVEL

if TYPE_CHECKING:
    from rich.console import Console

_LONGEST = 60


class Pictures(NamedTuple):
    """Ids of samples whose pictures look alike, pair by pair; None where nobody looked."""

    pairs: Sequence[tuple[str, str]] | None = None


def grids(found: Items, pictures: Pictures, most: int) -> Iterator[Grid]:
    """Samples that tell models apart worst, doubted labels, alike pictures, subsets."""
    low = [(*_cells(one), f"{one.low:.3f}") for one in low_items(found)[:most]]
    heads = ("id", "question", "difficulty", "discrimination")
    title = "discrimination below that of 95 of 100 permutations"
    yield Grid(title, 2, (*heads, "chance of one as low"), low)
    hardest = sorted(found.items, key=lambda one: -one.difficulty)[:most]
    yield Grid("hardest", 2, heads, [_cells(one) for one in hardest])
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


def low_items(found: Items) -> list[Item]:
    """Those that discriminate less than 95 of 100 permutations do, the lowest first."""
    low = [one for one in found.items if one.low is not None and one.low <= LEVEL]
    return sorted(low, key=lambda one: (one.low, one.discrimination, one.id))


def _cells(one: Item) -> tuple[str, ...]:
    return (
        one.id,
        _short(one.question),
        f"{one.difficulty:.2f}",
        fmt.NONE if one.discrimination is None else f"{one.discrimination:+.2f}",
    )


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
        if found.expected is not None and found.expected_range is not None:
            low, high = found.expected_range
            told += (
                f"; {found.expected:.1f} expected without a wrong label, {low:.0f} to {high:.0f} "
                "in 95 of 100 such benchmarks"
            )
        yield f"{told} (strong: {', '.join(found.strong)})"
    if found.low_expected is not None:
        count = fmt.plural(len(low_items(found)), "sample")
        yield (
            f"{count} with a discrimination below that of 95 of 100 permutations; "
            f"{found.low_expected:.1f} expected if all discriminated alike"
        )
    if pictures.pairs is not None:
        yield f"{fmt.plural(len(pictures.pairs), 'pair')} of pictures look alike"
    if found.subset:
        kept = f"subset that keeps the ranking: {fmt.plural(len(found.subset), 'sample')}"
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
    """Every sample with its difficulty, its discrimination and the chance of one as low, and
    whether the subset has it."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("id", "difficulty", "discrimination", "low", "label_in_doubt", "in_subset"))
    doubted, kept = {one.id for one in found.suspects}, set(found.subset)
    for one in found.items:
        telling = "" if one.discrimination is None else f"{one.discrimination:.4f}"
        row = (
            one.id,
            f"{one.difficulty:.4f}",
            telling,
            "" if one.low is None else f"{one.low:.4f}",
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
