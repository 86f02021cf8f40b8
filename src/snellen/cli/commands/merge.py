"""`snellen merge`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.api.flags import argument, option
from snellen.cli.output import OutputOptions, print_line, write_document
from snellen.core.errors import COMPLETE, INCOMPLETE


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen merge` takes."""

    folders: Sequence[str] = argument("FOLDER", "folders of results that hold shards, or folders of shards", "+")
    out: str | None = option(None, "--out")


def main(options: Options) -> int:
    """Join the shards of runs, print their numbers, and say what is missing."""
    from snellen.api.merge_shards import merge_shards
    from snellen.cli.commands.report import write_page
    from snellen.core.errors import UsageError
    from snellen.core.shard import RunShard
    from snellen.report.documents.run_document import failure_blocks, run_document

    out = options.out
    if out is None:
        if len(options.folders) > 1:
            raise UsageError("several folders are merged into one: name it with --out")
        if RunShard.of_folder(Path(options.folders[0])):
            raise UsageError(f"{options.folders[0]} is one shard: name the folder of the whole run with --out")
        out = options.folders[0]
    merged = merge_shards(options.folders, out)
    runs = [one.run for one in merged.runs]
    for problem in (problem for one in merged.runs for problem in one.problems):
        print_line(f"snellen: {problem}", error=True)
    reports = [run.report() for run in runs if run.has_report]
    if reports:
        document = run_document(reports, failure_blocks(runs))
        write_document(document, options, lambda path: write_page(runs, reports, path, ()))
    for run in runs:
        if run.info.stopped:
            print_line(f"{run.info.name}: {run.info.stopped}; what is there is kept", error=True)
    print_line(f"{merged.replies:,} replies are new in {out}", error=True)
    return COMPLETE if all(run.info.status == "complete" for run in runs) else INCOMPLETE
