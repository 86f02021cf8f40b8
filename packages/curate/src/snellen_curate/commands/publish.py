"""`snellen curate publish`: a data set as a benchmark that others can use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.flags import argument, option
from snellen_curate.commands._action import (
    ActionOptions,
    Finished,
    drop_option,
    fact_values,
    facts_option,
    media_option,
    parse_folder,
    sentence,
)
from snellen_curate.publish.options import DROP, REFUSE, PublishOptions, parse_hold_out

if TYPE_CHECKING:
    from snellen.report.document import Document
    from snellen_curate.publish.publish import PublishResult

_FINDINGS = {
    "unusable_row": "cannot be asked",
    "unreadable_media": "have a picture or video that cannot be read",
    "no_licence": "have no licence",
    "licence_not_spdx": "have a licence that SPDX does not know",
    "states_its_answer": "state their own answer, and are not held out",
}
_KEEP = "keep"


@dataclass(frozen=True, kw_only=True)
class Options(ActionOptions):
    """What `snellen curate publish` takes."""

    data: str = argument("DATA", "a data set folder, data file or benchmark")
    out: str = option(MISSING, "--out", parse=parse_folder)
    drop: tuple[str, ...] = drop_option({"no-licence": "items without a licence that SPDX knows"})
    columns: Mapping[str, str] = option({}, "--columns")
    """`keep=A+B` publishes these columns too."""
    name: str = option("", "--name")
    """Empty: that of the folder."""
    title: str = option("", "--title")
    description: str = option("", "--description")
    facts: Mapping[str, str] = facts_option(
        {
            "licence": "the SPDX licence of the questions, e.g. CC-BY-4.0",
            "language": "their languages, e.g. en+zh",
            "release": "the version of the benchmark (1.0)",
            "paper": "address of the paper",
            "homepage": "address of the benchmark's page",
        }
    )
    licences: str = option(
        "", "--licences", "TOML table of the pictures' licences, by the column `source`", metavar="FILE.toml"
    )
    require_licence: bool = option(
        False,
        "--require-licence",
        "refuse to publish if an item has no licence; without it such items are flagged",
        is_switch=True,
    )
    media: Sequence[str] = media_option()
    """Only images of these folders, and of the data's own, are published."""
    hold_out: float | str | None = option(
        None,
        "--hold-out",
        "share of each ability whose answers are kept back, e.g. 30%%; or a "
        "publication whose split is taken, as for a translation of it",
        metavar="SHARE|DIR",
        parse=parse_hold_out,
    )
    group: str = option("", "--group")
    """By which the split is balanced; empty: category, else l2-category."""
    seed: int = option(0, "--seed")
    seal_key: str = option("", "--seal-key")
    """Made if it does not exist; empty: the variable SNELLEN_SEAL_KEY, else the answers kept back
    are not encrypted."""
    private: str = option(
        "",
        "--private",
        "folder for what is not published: the answers kept back and the decisions (default: OUT-private)",
        metavar="DIR",
    )


def main(options: Options) -> Finished:
    """Write the publication, and print how it is run as a benchmark."""
    from snellen_curate.publish.publish import publish

    facts = dict(options.facts)
    language = fact_values(facts, "language")
    facts.pop("language", None)
    refuse = REFUSE if options.require_licence else None
    is_share = isinstance(options.hold_out, float)
    chosen = PublishOptions(
        name=options.name,
        title=options.title,
        description=options.description,
        language=language,
        licences=options.licences,
        outside=options.media,
        require_licence=DROP if options.drop else refuse,
        hold_out=options.hold_out if isinstance(options.hold_out, float) else None,
        split_like="" if is_share else str(options.hold_out or ""),
        seed=options.seed,
        ability=options.group,
        seal_key=options.seal_key,
        private=options.private,
        keep=fact_values(options.columns, _KEEP),
        **facts,
    )
    columns = {role: name for role, name in options.columns.items() if role != _KEEP}
    published = publish(options.data, options.out, chosen, columns or None)
    asked = [
        ("run", "-m", "random", "-b", spec)
        for split, spec in published.specs.items()
        if split != published.publication.held_out
    ]
    is_flagged = bool(published.flagged or published.dropped)
    next = asked[0] if asked else ()
    return Finished("flagged" if is_flagged else "clean", _document(published), next)


def _document(published: PublishResult) -> Document:
    """What was published, what was left out, and what to do with it."""
    from snellen.report.document import Column, Document, Table

    publication = published.publication
    columns = (Column("split"), Column("ability"), Column("questions", "count"))
    rows = [
        (split, ability or "no ability stated", count)
        for split, counts in publication.splits.items()
        for ability, count in counts.items()
    ]
    lines = [sentence(line) for line in _sentences(published)]
    count = len(publication.splits)
    return Document([*lines[:count], Table("questions", columns, rows), *lines[count:]], published)


def _sentences(published: PublishResult) -> Iterator[str]:
    """A sentence for each split, then what else there is to know."""
    from snellen.data_sets.decisions import DECISIONS_FILE
    from snellen.report.format import plural
    from snellen_curate.publish.survey import name_some

    publication = published.publication
    for split, counts in publication.splits.items():
        kept_back = ", answers kept back" if split == publication.held_out else ""
        yield f"{split}: {sum(counts.values())} questions{kept_back}"
    licences = [f"{name or 'none'} ({count})" for name, count in publication.licences.items()]
    yield f"licences: {', '.join(licences)}"
    if publication.conditions:
        yield publication.conditions
    for verb, found in (("left out", published.dropped), ("flagged", published.flagged)):
        for rule, ids in found.items():
            finding = _FINDINGS[rule]
            if len(ids) == 1:
                finding = finding.replace("have ", "has ").replace("state their", "states its")
                finding = finding.replace(" are ", " is ")
            yield f"{verb}: {plural(len(ids), 'item')} {finding}: {name_some(ids)}"
            yield f"  first: {published.reasons[rule]}"
    if published.dropped or published.flagged:
        yield f"why each: {Path(published.private) / DECISIONS_FILE}"
    for note in published.notes:
        yield f"note: {note}"
    yield f"{published.folder}: {len(published.files) + 1} files; SHA256SUMS lists them"
    if published.sealed:
        form = "encrypted" if published.is_encrypted else "not encrypted: keep it to yourself"
        yield f"{published.sealed}: the answers kept back, {form}"
    for split, spec in published.specs.items():
        without = " (add --columns gold=)" if split == publication.held_out else ""
        yield f"as a benchmark of snellen run: -b {spec}{without}"
