"""The report as text: what its values are called in the terminal and in decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from snellen.report import format as fmt
from snellen.report.document import Block, Cell, Column, Document, EmptyLine, IntervalEstimate, Line, Table
from snellen_curate.duplicates.report import DuplicateReport, ImageMatch, ItemPair, OverlapMatch, OverlapReport

_HOW = {
    "bytes": "the same file",
    "pixels": "the same pixels",
    "near": "near duplicate",
    "overlap": "near duplicate, cropped or framed",
    "turned": "near duplicate, mirrored or turned",
}
_SHARE_COLUMNS = (
    Column("what is there too"),
    Column("items", "count"),
    Column("of", "count"),
    Column("share", "share"),
)
_MAX_LINES = 10
"""Pairs that are listed in the terminal; the JSON has all."""
_KEEP = {
    "first": "the first of the data",
    "last": "the last of the data",
    "largest": "the one whose pictures have the most pixels, of several the first",
}


def describe_image_match(match: ImageMatch) -> tuple[str, ...]:
    """How two images match, then the distances that are known."""
    facts = [f"pictures: {_HOW[match.how]}"]
    if match.how in ("near", "turned"):
        if match.phash is not None:
            facts.append(f"pHash {match.phash} of 64 bits")
        if match.dhash is not None:
            facts.append(f"dHash {match.dhash} of 64 bits")
        if match.likeness is not None:
            facts.append(f"likeness {match.likeness:.3f}")
    if match.points is not None and match.share is not None:
        facts.append(f"{match.points} corners alike, {match.share:.0%} of the larger in both")
    return tuple(facts)


def describe_overlap(match: OverlapMatch) -> tuple[str, ...]:
    """How an item matches something of another data set."""
    facts = list(describe_image_match(match.image)) if match.image else []
    if match.relation is not None:
        facts.append(f"{match.relation}, {match.rule}")
    elif match.similarity is not None:
        facts.append(f"text similarity {match.similarity:.2f}")
    return tuple(facts)


def _share_table(report: OverlapReport) -> Table:
    """What there is of the data in another set, with intervals."""
    rows = [
        (share.name, share.count, share.n, IntervalEstimate(share.share if share.n else None, share.interval))
        for share in report.shares
    ]
    return Table(f"also in {report.name} ({_describe_entries(report)})", _SHARE_COLUMNS, rows)


def duplicates_document(report: DuplicateReport) -> Document:
    """Counts, the first pairs of each finding, contradictions first, then what is in other sets."""
    items, images = fmt.plural(report.items, "item"), fmt.plural(report.images, "picture")
    columns = (Column("finding"), Column("count", "count"), Column("what it says"))
    blocks: list[Block] = [
        Line(f"{one.name}: {note}", "notice", is_unbroken=True) for one in report.against for note in one.notes
    ]
    blocks += [
        Line(f"{report.data}: {items}, {images}", "heading", is_unbroken=True),
        Table("findings", columns, list(_findings(report))),
    ]
    pairs = {
        "contradictions": report.contradictions,
        "duplicates": report.duplicates,
        "possibly the same": report.possible,
    }
    tables = [_pair_table(title, found) for title, found in pairs.items() if found]
    if report.broken:
        rows = [(", ".join(one.items[:5]), one.reason) for one in report.broken[:_MAX_LINES]]
        tables.append(Table("not compared", (Column("items"), Column("reason")), rows))
    for table in (*tables, *map(_share_table, report.against)):
        blocks += [EmptyLine(), table]
    return Document(blocks, report_data(report))


def report_data(report: DuplicateReport) -> dict[str, Any]:
    """The report as JSON holds it, with the exclusion list."""
    return {**msgspec.to_builtins(report), "excluded": list(report.exclusions)}


def _describe_entries(report: OverlapReport) -> str:
    """What there is in another data set."""
    is_list = report.kind == "list"
    parts = [
        fmt.plural(report.entries, "entry", "entries") if is_list else fmt.plural(report.entries, "item"),
        fmt.plural(report.images, "picture"),
    ]
    if report.captions:
        parts.append(fmt.plural(report.captions, "caption"))
    return ", ".join(parts)


def _findings(report: DuplicateReport) -> Iterator[tuple[str, int, str]]:
    """A row for each kind of finding."""
    certain = sum(pair.kind == "contradiction" for pair in report.contradictions)
    possible = len(report.contradictions) - certain
    yield "contradictions", certain, f"{possible:,} more possible" if possible else ""
    clusters = fmt.plural(len(report.clusters), "cluster")
    kept = _KEEP[report.settings.keep]
    yield "duplicate items", len(report.exclusions), f"in {clusters}; kept of each: {kept}"
    if report.possible:
        yield "possibly the same", len(report.possible), "pairs, to be reviewed"
    yield "pictures alike", len(report.image_pairs), "pairs of different files"
    if report.flat:
        yield "no contrast", report.flat, "pictures, compared by bytes and pixels alone"
    if report.broken:
        yield "not compared", len(report.broken), ""


def _pair_table(title: str, pairs: Sequence[ItemPair]) -> Table:
    columns = (Column("item"), Column("other"), Column("how they match"))
    rows: list[list[Cell]] = [[pair.left, pair.right, "; ".join(_pair_facts(pair))] for pair in pairs[:_MAX_LINES]]
    more = len(pairs) - _MAX_LINES
    return Table(title, columns, rows, (f"and {more:,} more",) if more > 0 else ())


def _pair_facts(pair: ItemPair) -> Iterator[str]:
    yield from describe_image_match(pair.image) if pair.image else ("no picture",)
    if pair.rule != "same question":
        yield f"{pair.rule}, {pair.similarity:.2f}"
    if "contradiction" in pair.kind:
        yield f"keys {pair.left_key} / {pair.right_key}"
    if pair.kind == "possible contradiction":
        yield "possible"
