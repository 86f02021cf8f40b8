"""`snellen curate publish`: a data set as a benchmark that others can use."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.cli.flags import read_options
from snellen.cli.printing import print_line
from snellen_curate.commands import Finished
from snellen_curate.publish.options import PublishOptions

if TYPE_CHECKING:
    from snellen_curate.publish.publish import PublishResult

_FINDINGS = {
    "unusable_row": "cannot be asked",
    "unreadable_media": "have a picture or video that cannot be read",
    "no_licence": "have no licence",
    "licence_not_spdx": "have a licence that SPDX does not know",
    "states_its_answer": "state their own answer, and are not held out",
}


def main(arguments: Namespace) -> Finished:
    from snellen_curate.publish.options import DROP, REFUSE
    from snellen_curate.publish.publish import publish

    refuse = REFUSE if arguments.require_licence else None
    options = read_options(
        arguments, PublishOptions, require_licence=DROP if arguments.drop else refuse
    )
    published = publish(arguments.data, arguments.out, options, arguments.columns)
    asked = [
        ("run", "-m", "random", "-b", spec)
        for split, spec in published.specs.items()
        if split != published.publication.held_out
    ]
    return Finished(
        "flagged" if published.flagged or published.dropped else "clean",
        published,
        lambda: _print(published),
        asked[0] if asked else (),
    )


def _print(published: PublishResult) -> None:
    """Print what was published, what was left out, and what to do with it."""
    from snellen.data_sets.decisions import DECISIONS_FILE
    from snellen.report.format import plural
    from snellen_curate.publish.survey import name_some

    publication = published.publication
    for split, counts in publication.splits.items():
        kept_back = ", answers kept back" if split == publication.held_out else ""
        print_line(f"{split}: {sum(counts.values())} questions{kept_back}")
        for ability, count in counts.items():
            print_line(f"  {ability or 'no ability stated'}: {count}")
    licences = [f"{name or 'none'} ({count})" for name, count in publication.licences.items()]
    print_line(f"licences: {', '.join(licences)}")
    if publication.conditions:
        print_line(publication.conditions)
    for verb, found in (("left out", published.dropped), ("flagged", published.flagged)):
        for rule, ids in found.items():
            finding = _FINDINGS[rule]
            if len(ids) == 1:
                finding = finding.replace("have ", "has ").replace("state their", "states its")
                finding = finding.replace(" are ", " is ")
            print_line(f"{verb}: {plural(len(ids), 'item')} {finding}: {name_some(ids)}")
            print_line(f"  first: {published.reasons[rule]}")
    if published.dropped or published.flagged:
        print_line(f"why each: {Path(published.private) / DECISIONS_FILE}")
    for note in published.notes:
        print_line(f"note: {note}")
    print_line(f"{published.folder}: {len(published.files) + 1} files; SHA256SUMS lists them")
    if published.sealed:
        form = "encrypted" if published.is_encrypted else "not encrypted: keep it to yourself"
        print_line(f"{published.sealed}: the answers kept back, {form}")
    for split, spec in published.specs.items():
        without = " (add --columns gold=)" if split == publication.held_out else ""
        print_line(f"as a benchmark of snellen run: -b {spec}{without}")
