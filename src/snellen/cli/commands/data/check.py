"""`snellen data check`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from snellen.api.flags import argument, option
from snellen.cli.output import OutputOptions, progress_bar, write_document
from snellen.core.errors import COMPLETE, INCOMPLETE


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen data check` takes."""

    data: str = argument("DATA", "a data file, its TOML description, or a benchmark's name")
    columns: Mapping[str, str] = option({}, "--columns")
    skip: str | None = option(None, "--skip", "leave out these parts of the work", choices=("media",))
    """`media`: no image or video is opened."""


def main(options: Options) -> int:
    """Print every issue that shows without a model."""
    from snellen.analysis.data_check import find_data_issues
    from snellen.api.data_files import open_with_data
    from snellen.report.documents.name_facts import issues_document

    benchmark, table = open_with_data(options.data, options.columns)
    with progress_bar(options.data) as progress:
        issues = find_data_issues(benchmark, table, read_media=options.skip is None, progress=progress)
    pictures = sum(len(row.media) for row in table)
    write_document(issues_document(options.data, benchmark.name, len(table), pictures, issues), options)
    return INCOMPLETE if issues else COMPLETE
