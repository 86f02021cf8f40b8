"""The report as text: what its values are called in the terminal, on the page and in decisions."""

from __future__ import annotations

from collections.abc import Iterator

from snellen.report import format as fmt
from snellen.report.result_tables import ResultTable
from snellen_curate.duplicates.local_features import MIN_CORRELATION, MIN_POINTS
from snellen_curate.duplicates.report import (
    DuplicateReport,
    DuplicateSettings,
    ItemPair,
    OverlapMatch,
    OverlapReport,
    PictureMatch,
    Share,
)
from snellen_curate.step_report import StepReport

_HOW = {
    "bytes": "the same file",
    "pixels": "the same pixels",
    "near": "near duplicate",
    "overlap": "near duplicate, cropped or framed",
    "turned": "near duplicate, mirrored or turned",
}
_SHARE_HEADS = ("what is there too", "items", "of", "share", "95 % interval")
_MAX_LINES = 10
"""Pairs that are listed in the terminal; the page and the JSON have more."""
KEEP = {
    "first": "the first of the data",
    "last": "the last of the data",
    "largest": "the one whose pictures have the most pixels, of several the first",
}


def describe_picture_match(match: PictureMatch) -> tuple[str, ...]:
    """How two pictures match, then the distances that are known."""
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
    facts = list(describe_picture_match(match.picture)) if match.picture else []
    if match.relation is not None:
        facts.append(f"{match.relation}, {match.rule}")
    elif match.similarity is not None:
        facts.append(f"text similarity {match.similarity:.2f}")
    return tuple(facts)


def share_row(share: Share) -> tuple[str, str, str, str, str]:
    """Name, count, number of items, share in percent, interval in percent."""
    interval = share.interval
    span = fmt.NONE if interval is None else f"{100 * interval.low:.1f} – {100 * interval.high:.1f}"
    return (
        share.name, fmt.count_text(share.count), fmt.count_text(share.n),
        fmt.share_text(share.share), span,
    )  # fmt: skip


def describe_rules(settings: DuplicateSettings) -> str:
    """The thresholds in two sentences."""
    rule, texts = settings.pictures, settings.texts
    turned = " Mirrored pictures and pictures turned by quarters count too." if rule.turned else ""
    turned += (
        f" So do cropped and framed ones in which at least {MIN_POINTS} corners lie alike and what "
        f"both show correlates by at least {MIN_CORRELATION:g}."
        if rule.crops
        else ""
    )
    return (
        f"Pictures are near duplicates if their pHashes differ in at most {rule.radius} of 64 "
        f"bits and their small copies of 16 x 16 pixels correlate by at least {rule.likeness:g}; "
        "where a list holds hashes alone, if pHashes differ in at most "
        f"{rule.hash_radius} bits and dHashes in at most {rule.dhash_radius}, or pHashes alone in "
        f"at most {rule.lone_radius}.{turned} Questions are near duplicates if key and "
        "options agree, no word differs that counts, and letter by letter they are alike by "
        f"{texts.characters:g}. They may be the same if words are missing or in another order, "
        f"and question and options share {texts.similarity:g} of their shingles (Jaccard)."
    )


def duplicates_report(report: DuplicateReport) -> StepReport:
    """Contradictions first, then counts, then what is in other sets."""
    tables = tuple(
        ResultTable(f"also in {one.name} ({describe_entries(one)})", _SHARE_HEADS,
                    tuple(map(share_row, one.shares)))
        for one in report.against
    )  # fmt: skip
    notices = tuple(f"{one.name}: {note}" for one in report.against for note in one.notes)
    return StepReport(notices, tuple(_lines(report)), tables)


def describe_entries(report: OverlapReport) -> str:
    """What there is in another data set."""
    is_list = report.kind == "list"
    parts = [fmt.plural(report.entries, "entry", "entries") if is_list
             else fmt.plural(report.entries, "item"),
             fmt.plural(report.pictures, "picture")]  # fmt: skip
    if report.captions:
        parts.append(fmt.plural(report.captions, "caption"))
    return ", ".join(parts)


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
    yield (
        f"duplicate items     {repeated} in {fmt.plural(count, 'cluster')}; kept of each: "
        + (KEEP[report.settings.keep])
    )
    yield from _pair_lines(report.duplicates)
    if report.possible:
        yield f"possibly the same   {fmt.plural(len(report.possible), 'pair')}: to be reviewed"
        yield from _pair_lines(report.possible)
    yield f"pictures alike      {fmt.plural(len(report.picture_pairs), 'pair')} of different files"
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
