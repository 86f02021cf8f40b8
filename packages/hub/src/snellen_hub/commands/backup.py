"""`snellen hub backup`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.printing import print_line
from snellen_hub.commands import add_folder


def add(parser: ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument(
        "file", metavar="FILE", help="the file to write, such as hub-2024-05-13.zip"
    )


def main(arguments: Namespace) -> int:
    """Back the hub up, also while it runs; returns INCOMPLETE if files of it are missing."""
    from snellen_hub.backup.archive import FILES
    from snellen_hub.backup.write import write_backup
    from snellen_hub.hub import open_hub

    with open_hub(arguments.folder, check=False) as hub:
        written = write_backup(hub, Path(arguments.file))
    manifest = written.manifest
    files = sum(name.startswith(FILES) for name in manifest.members)
    print_line(
        f"{arguments.file}: {manifest.rows['submissions']:,} submissions, {files:,} files, "
        f"{written.size / 1e6:,.1f} MB (schema {written.schema})"
    )
    for key in manifest.missing:
        print_line(f"the storage has no file {key}, which the hub needs", error=True)
    return INCOMPLETE if manifest.missing else COMPLETE
