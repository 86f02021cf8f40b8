"""`snellen hub restore`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from snellen.cli.exit_codes import COMPLETE, INCOMPLETE
from snellen.cli.printing import print_line
from snellen_hub.commands import add_folder


def add(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the file that snellen hub backup wrote")
    add_folder(parser)


def main(arguments: Namespace) -> int:
    """Restore a backup; returns INCOMPLETE if files were missing when it was made."""
    from snellen_hub.backup.restore import restore_backup
    from snellen_hub.storage import KEY_VARIABLE

    restored = restore_backup(Path(arguments.file), Path(arguments.folder).expanduser())
    restored.hub.close()
    print_line(
        f"{arguments.folder}: {restored.rows['submissions']:,} submissions, "
        f"{restored.files:,} files"
    )
    if not restored.is_key_checked:
        print_line(f"{KEY_VARIABLE} is not set: whether it opens the hidden files was not checked")
    for key in restored.missing:
        print_line(f"the backup has no file {key}, which the hub needs", error=True)
    return INCOMPLETE if restored.missing else COMPLETE
