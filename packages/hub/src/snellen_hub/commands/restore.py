"""`snellen hub restore`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from snellen.api.flags import argument
from snellen.cli.output import print_line
from snellen.core.errors import COMPLETE, INCOMPLETE
from snellen_hub.commands import hub_folder


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen hub restore` takes."""

    file: str = argument("FILE", "the file that snellen hub backup wrote")
    folder: str = hub_folder()


def main(options: Options) -> int:
    """Restore a backup; returns INCOMPLETE if files were missing when it was made."""
    from snellen_hub.backup.restore import restore_backup
    from snellen_hub.storage import KEY_VARIABLE

    restored = restore_backup(Path(options.file), Path(options.folder).expanduser())
    restored.hub.close()
    print_line(f"{options.folder}: {restored.rows['submissions']:,} submissions, {restored.files:,} files")
    if not restored.is_key_checked:
        print_line(f"{KEY_VARIABLE} is not set: whether it opens the hidden files was not checked")
    for key in restored.missing:
        print_line(f"the backup has no file {key}, which the hub needs", error=True)
    return INCOMPLETE if restored.missing else COMPLETE
