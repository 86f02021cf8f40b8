"""What a search for duplicates finds: one document, as JSON, as Python values, and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from snellen.core.summary import Interval
from snellen.report import format as fmt
from snellen.report.document import Block, Cell, Column, Document, EmptyLine, IntervalEstimate, Line, Table
from snellen_curate.duplicates.compare_items import RelationKind, TextRule, TextThresholds
from snellen_curate.duplicates.image_rule import ImageRule

CONTRADICTION, DUPLICATE, POSSIBLE = "contradiction", "duplicate", "possible duplicate"
PAIR_RULES = (CONTRADICTION, DUPLICATE, POSSIBLE)
"""Rules of the decisions about items that repeat or contradict another of the same data, which the
evidence names as the reply."""
ImageHow = Literal["bytes", "pixels", "near", "overlap", "turned"]
"""`bytes`: the same file; `pixels`: the same pixels in another file; `near`: by perceptual hash;
`overlap`: by local features, one cropped or framed; `turned`: mirrored or turned by quarters."""


class ImageMatch(Struct, frozen=True, omit_defaults=True):
    """How two images match, nearest way first."""

    how: ImageHow
    phash: int | None = None
    """Bits in which the pHashes differ, of 64."""
    dhash: int | None = None
    likeness: float | None = None
    """Correlation of the small copies."""
    points: int | None = None
    """Corners that lie alike in both, of at most 300."""
    share: float | None = None
    """Of the larger image that both show."""

    @property
    def distance(self) -> tuple[int, int]:
        """How far apart the images are, for ordering."""
        return get_args(ImageHow).index(self.how), self.phash or 0


class ImagePair(Struct, frozen=True, omit_defaults=True):
    """Two images of the data set that are near duplicates of each other."""

    left: str
    right: str
    match: ImageMatch
    left_items: tuple[str, ...] = ()
    right_items: tuple[str, ...] = ()


class ItemPair(Struct, frozen=True, omit_defaults=True, rename={"image": "picture"}):
    """Two items about the same image that ask the same."""

    left: str
    right: str
    kind: RelationKind
    rule: TextRule
    similarity: float
    image: ImageMatch | None = None
    """How their images match; None if neither has an image."""
    left_key: str = ""
    right_key: str = ""


class DuplicateCluster(Struct, frozen=True):
    """Items that duplicate one another, directly or through others."""

    items: tuple[str, ...]
    kept: str
    """The one that stays, by the rule of the settings; the others are on the exclusion list."""


class BrokenMedium(Struct, frozen=True, rename={"image": "picture"}):
    """An image that cannot be read, or an item that cannot be asked."""

    items: tuple[str, ...]
    reason: str
    image: str = ""


class Share(Struct, frozen=True):
    """A share of items, with its interval. Items about one image are a cluster."""

    name: str
    """What they share: `image, exact`, `image, near`, `question`, `item`, `any`."""
    count: int
    n: int
    interval: Interval | None

    @property
    def share(self) -> float:
        return self.count / self.n if self.n else 0.0


class OverlapMatch(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename={"image": "picture", "own_image": "own_picture", "other_image": "other_picture"},
):
    """An item of the data set and something of the other set that match."""

    item: str
    other: str
    """The other item's id, or the name of the entry in the list."""
    image: ImageMatch | None = None
    relation: RelationKind | None = None
    """How the questions are related, if the other set has questions."""
    rule: TextRule | None = None
    similarity: float | None = None
    """Jaccard similarity of the question and the other's question or caption, if compared."""
    own_image: str = ""
    other_image: str = ""
    """Digests of the two images; of an entry of a list, its name."""
    caption: str = ""
    row: int | None = None
    """Place of the entry in the list, from 0."""


class OverlapReport(Struct, frozen=True, omit_defaults=True, rename={"images": "pictures"}):
    """What the data set shares with another benchmark or with training data."""

    name: str
    kind: Literal["benchmark", "list"]
    entries: int
    images: int
    captions: int
    broken: int
    matches: tuple[OverlapMatch, ...]
    shares: tuple[Share, ...]
    left_out: int = 0
    """Matches beyond `MAX_MATCHES` of one item, counted only."""
    notes: tuple[str, ...] = ()


class DuplicateSettings(Struct, frozen=True, rename={"images": "pictures"}):
    """What decides the result."""

    images: ImageRule = ImageRule()
    texts: TextThresholds = TextThresholds()
    keep: Literal["first", "last", "largest"] = "first"
    """Which item of a cluster stays: the first or last of the file, or that with most pixels."""
    against: tuple[str, ...] = ()


class DuplicateReport(
    Struct, frozen=True, omit_defaults=True, rename={"images": "pictures", "image_pairs": "picture_pairs"}
):
    """Duplicates of a data set, within it and against others."""

    data: str
    path: str
    digest: str
    items: int
    images: int
    """Different images, by their bytes."""
    settings: DuplicateSettings
    contradictions: tuple[ItemPair, ...]
    duplicates: tuple[ItemPair, ...]
    possible: tuple[ItemPair, ...]
    """Pairs that may ask the same: for a person to decide, never on the exclusion list."""
    clusters: tuple[DuplicateCluster, ...]
    image_pairs: tuple[ImagePair, ...]
    broken: tuple[BrokenMedium, ...]
    flat: int = 0
    against: tuple[OverlapReport, ...] = ()

    @property
    def exclusions(self) -> tuple[str, ...]:
        """Ids to leave out so that one of each cluster is left."""
        return tuple(name for cluster in self.clusters for name in cluster.items if name != cluster.kept)


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
