"""The report as text: contradictions first, then counts, then what is in other sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from snellen.curate.duplicates.descriptions import describe_keep, describe_picture_match, share_row
from snellen.curate.duplicates.report import DuplicateReport, ItemPair, OverlapReport
from snellen.report import format as fmt
from snellen.report.terminal.lines import print_text

if TYPE_CHECKING:
    from rich.console import Console

_MAX_LINES = 10
"""Pairs that are listed; the page and the JSON have more."""


def print_report(report: DuplicateReport, console: Console) -> None:
    """Print the report."""
    from rich.table import Table

    for line in _lines(report):
        print_text(console, line)
    for one in report.against:
        console.print()
        print_text(console, _overlap_heading(one))
        table = Table(box=None, pad_edge=False, show_edge=False)
        table.add_column("what is there too")
        for name in ("items", "of", "share", "95 % interval"):
            table.add_column(name, justify="right")
        for share in one.shares:
            table.add_row(*share_row(share))
        console.print(table, highlight=False, markup=False)
        for note in one.notes:
            print_text(console, f"note: {note}")


def _lines(report: DuplicateReport) -> Iterator[str]:
    """One line for each kind of finding, followed by its first pairs."""
    yield (
        f"{report.data}: {fmt.plural(report.items, 'item')}, "
        f"{fmt.plural(report.pictures, 'picture')}"
    )
    certain = [pair for pair in report.contradictions if pair.kind == "contradiction"]
    possible = len(report.contradictions) - len(certain)
    yield f"contradictions      {len(certain):,}" + (f", {possible:,} possible" if possible else "")
    yield from _pair_lines(report.contradictions)
    count = len(report.clusters)
    repeated = fmt.plural(len(report.exclusions), "item")
    yield f"duplicate items     {repeated} in {fmt.plural(count, 'cluster')}; kept of each: " + (
        describe_keep(report.settings)
    )
    yield from _pair_lines(report.duplicates)
    if report.possible:
        yield f"possibly the same   {fmt.plural(len(report.possible), 'pair')}: to be reviewed"
        yield from _pair_lines(report.possible)
    yield f"pictures alike      {fmt.plural(len(report.picture_pairs), 'pair')} of different files"
    shared = sum(len(one.items) for one in report.shared_pictures)
    yield (
        f"shared pictures     {fmt.plural(len(report.shared_pictures), 'picture')} with "
        f"{fmt.plural(shared, 'item')}: normal, other questions"
    )
    yield f"repeated questions  {fmt.plural(len(report.repeated_questions), 'question')}: templates"
    if report.flat:
        pictures = fmt.plural(report.flat, "picture")
        yield f"no contrast         {pictures}: compared by bytes and pixels alone"
    if report.broken:
        yield f"not compared        {len(report.broken):,}"
        for one in report.broken[:_MAX_LINES]:
            yield f"  {', '.join(one.items[:5])}: {one.reason}"


def _pair_lines(pairs: tuple[ItemPair, ...]) -> Iterator[str]:
    for pair in pairs[:_MAX_LINES]:
        facts = list(describe_picture_match(pair.picture)) if pair.picture else ["no picture"]
        if pair.rule != "same question":
            facts.append(f"{pair.rule}, {pair.similarity:.2f}")
        if "contradiction" in pair.kind:
            facts.append(f"keys {pair.left_key} / {pair.right_key}")
        if pair.kind == "possible contradiction":
            facts.append("possible")
        yield f"  {pair.left} = {pair.right}  {'; '.join(facts)}"
    if len(pairs) > _MAX_LINES:
        yield f"  and {len(pairs) - _MAX_LINES:,} more"


def _overlap_heading(report: OverlapReport) -> str:
    entries = (
        fmt.plural(report.entries, "item")
        if report.kind == "benchmark"
        else fmt.plural(report.entries, "entry", "entries")
    )
    parts = [entries, fmt.plural(report.pictures, "picture")]
    if report.captions:
        parts.append(fmt.plural(report.captions, "caption"))
    return f"also in {report.name} ({', '.join(parts)})"
