"""`snellen curate metadata IMPORTER PATH... --out DIR`: metadata records of a data set."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.cli.printing import print_line
from snellen_curate.commands import Finished, read_fields

if TYPE_CHECKING:
    from snellen_curate.metadata.importers.importer import ImportCounts


def main(arguments: Namespace) -> Finished:
    """Import a data set."""
    from snellen_curate.metadata.importers.importer import ImportRequest, import_metadata
    from snellen_curate.metadata.record_file import METADATA_FILE

    pictures, only = (
        Path(name).expanduser() if name else None for name in (arguments.pictures, arguments.only)
    )
    request = read_fields(
        arguments, ImportRequest, out=Path(arguments.out).expanduser() / METADATA_FILE,
        license=arguments.licence or "", image_types=tuple(arguments.image_type),
        capabilities=tuple(arguments.capability), pictures=pictures, kept=only,
    )  # fmt: skip
    counts = import_metadata(arguments.importer, request)
    is_clean = not (counts.with_problems or counts.missing_pictures)
    return Finished("clean" if is_clean else "flagged", counts, lambda: _print(counts))


def _print(counts: ImportCounts) -> None:
    """How many records were written, and what they lack."""
    print_line(f"{counts.path}: {counts.records} records of {counts.source}")
    if counts.without_licence:
        print_line(
            f"without a licence: {counts.without_licence}; name it with --licence, if it has one"
        )
    if counts.missing_pictures:
        print_line(
            f"pictures that are not there: {counts.missing_pictures}, e.g. "
            f"{counts.missing_picture}; name their folder with --pictures DIR"
        )
    for what, count in counts.left_out.items():
        print_line(f"left out: {what}, {count} times")
    if counts.with_problems:
        print_line(f"with problems: {counts.with_problems}; no question is made of them")
    for name, reason in counts.problems.items():
        print_line(f"  {name}: {reason}")
