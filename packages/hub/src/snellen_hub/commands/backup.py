"""`snellen hub backup`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from snellen.api.flags import argument
from snellen.cli.output import print_line
from snellen.core.errors import COMPLETE, INCOMPLETE
from snellen_hub.commands import hub_folder


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen hub backup` takes."""

    folder: str = hub_folder()
    file: str = argument("FILE", "the file to write, such as hub-2024-05-13.zip")


def main(options: Options) -> int:
    """Back the hub up, also while it runs; returns INCOMPLETE if files of it are missing."""
    from snellen_hub.backup.archive import FILES
    from snellen_hub.backup.write import write_backup
    from snellen_hub.hub import open_hub

    with open_hub(options.folder, check=False) as hub:
        written = write_backup(hub, Path(options.file))
    manifest = written.manifest
    files = sum(name.startswith(FILES) for name in manifest.members)
    print_line(
        f"{options.file}: {manifest.rows['submissions']:,} submissions, {files:,} files, "
        f"{written.size / 1e6:,.1f} MB (schema {written.schema})"
    )
    for key in manifest.missing:
        print_line(f"the storage has no file {key}, which the hub needs", error=True)
    return INCOMPLETE if manifest.missing else COMPLETE
