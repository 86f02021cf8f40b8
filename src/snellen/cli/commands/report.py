"""`snellen report`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.api.flags import argument, options_field
from snellen.api.options import SourceOptions
from snellen.cli.flags import RUNS, open_runs
from snellen.cli.output import OutputOptions, print_line, write_document
from snellen.core.errors import COMPLETE, INCOMPLETE
from snellen.core.run import Report
from snellen.store.runs import RunFolder


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen report` takes."""

    runs: Sequence[str] = argument("RUN", RUNS, "+")
    sources: SourceOptions = options_field(SourceOptions)


def main(options: Options) -> int:
    """Print the scores of runs, why samples failed, and gains by images, thinking or examples if
    the runs have them; as HTML, write the page of a run or the overview of several."""
    from snellen.analysis.causes.gains import gains
    from snellen.api.report import reports_of
    from snellen.report.documents.run_document import failure_blocks, run_document

    runs = open_runs(options.runs, options.sources)
    reports = reports_of(runs)
    more = failure_blocks(runs)
    if found := gains(runs):
        from snellen.report.documents.gains import gain_blocks

        more += gain_blocks(found)
    document = run_document(reports, more)
    moved = options.sources.data
    write_document(document, options, lambda path: write_page(runs, reports, path, moved))
    return COMPLETE if all(run.info.status == "complete" for run in runs) else INCOMPLETE


def write_page(runs: Sequence[RunFolder], reports: Sequence[Report], path: Path | None, moved: Sequence[str]) -> Path:
    """Write the page of a run or the overview of several; prints why a page has no images."""
    from snellen.api.report_page import write_report_page

    page, problem = write_report_page(runs, reports, path, moved)
    if problem:
        print_line(f"snellen: the page shows no pictures: {problem}", error=True)
    return page
