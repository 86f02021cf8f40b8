"""`snellen data convert`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from snellen.api.flags import argument
from snellen.cli.output import print_line, progress_bar


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen data convert` takes."""

    data: str = argument("DATA", "a data file, or a benchmark's name")
    target: str = argument("FILE", "the file to write; its extension determines the format")


def main(options: Options) -> None:
    """Write the rows in another format."""
    from snellen.api.data_files import open_data
    from snellen.data.tables.convert import convert_table
    from snellen.report.format import plural

    with progress_bar(options.target) as progress:
        rows = convert_table(open_data(options.data), Path(options.target), progress)
    print_line(f"{options.target}: {plural(rows, 'row')}")
