"""`snellen curate pictures DATA --out DIR`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.cli.printing import print_line
from snellen_curate.commands import Finished, read_fields

if TYPE_CHECKING:
    from snellen_curate.duplicates.build_index import IndexProgress


def main(arguments: Namespace) -> Finished:
    """Check the pictures, and print what people are to look at."""
    from snellen_curate.open_data import open_items
    from snellen_curate.picture_folder import PictureFolder
    from snellen_curate.pictures.check import PictureOptions, check_pictures

    def on_phase(name: str, progress: IndexProgress) -> None:
        if not arguments.quiet and progress.entries > progress.reused:
            print_line(f"hashed {progress.entries:,} of {name}", error=True, flush=True)

    opened = open_items(arguments.data, arguments.columns)
    options = read_fields(arguments, PictureOptions)
    counts = check_pictures(opened, arguments.out, options, on_phase)
    counts["left_out"] = opened.table.left_out if isinstance(opened.table, PictureFolder) else {}
    return Finished(
        "flagged" if counts.get("flag") else "clean", counts,
        lambda: _print(counts, arguments.out),
        () if counts.get("drop") == counts["pictures"] else None,
    )  # fmt: skip


def _print(counts: dict[str, Any], out: str) -> None:
    from snellen.report.format import plural
    from snellen_curate.pictures.check import KINDS, TABLE_FILE

    dropped, flagged = counts.get("drop", 0), counts.get("flag", 0)
    print_line(f"{plural(counts['pictures'], 'picture')}: {flagged:,} flagged, {dropped:,} dropped")
    for kind, count in counts["kinds"].items():
        print_line(f"  {kind}: {count:,} ({KINDS[kind]})")
    for what, count in counts["left_out"].items():
        print_line(f"not looked at: {what}, {plural(count, 'time')}")
    if counts["without_licence"]:
        print_line(f"without a licence: {counts['without_licence']:,}; name it with --licence, if "
                   "they have one")  # fmt: skip
    print_line(f"written: {out}, {Path(out) / TABLE_FILE}")
