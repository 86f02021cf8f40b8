"""`snellen export`: runs in the formats of other tools, leaderboards and papers."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import add_runs
from snellen.cli.printing import print_line
from snellen.core.atomic_write import save
from snellen.core.errors import UsageError
from snellen.core.terminal_text import escape_controls
from snellen.store.export import vlmevalkit
from snellen.store.runs import RunFolder, distinct_runs, require_single

PAGES = "pages"


def add(parser: ArgumentParser) -> None:
    add_runs(parser)
    parser.add_argument(
        "--to", required=True, choices=(*_FORMATS, PAGES),
        help="vlmevalkit-tsv, vlmevalkit-xlsx: VLMEvalKit's prediction file, each rotation a row; "
        "mmbench-submission: the workbook the MMBench server takes; mmt-submission: the table "
        "MMT-Bench's server takes for its ALL split; mmt-table: its Table 2 for these runs, with "
        "average ranks, as Markdown; seed-results: SEED-Bench's "
        "results.json; seed-table: its levels, subparts and ranks as Markdown; seed-heatmap: ranks "
        "per dimension as SVG; pages: a folder of pages as `snellen view` shows them",
    )  # fmt: skip
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file, pages to a folder")


def main(arguments: Namespace) -> int:
    if arguments.to == PAGES:
        return _write_pages(arguments)
    runs = distinct_runs(arguments.runs)
    content = _FORMATS[arguments.to](runs)
    if arguments.output is None:
        _print_content(content)
        return COMPLETE
    save(Path(arguments.output), content)
    return COMPLETE


def _write_pages(arguments: Namespace) -> int:
    if arguments.output is None:
        raise UsageError("pages are a folder of files: name it with -o DIR")
    from snellen.view.files import write_pages
    from snellen.view.run_view import RunLibrary

    print_line(write_pages(RunLibrary(arguments.runs), Path(arguments.output)))
    return COMPLETE


def _print_content(content: str | bytes) -> None:
    if isinstance(content, str):
        # Control characters are escaped for people only: programs get the exact text.
        sys.stdout.write(escape_controls(content) if sys.stdout.isatty() else content)
    elif sys.stdout.isatty():
        raise UsageError("a workbook is no text for a terminal: name a file with -o FILE.xlsx")
    else:
        sys.stdout.buffer.write(content)


def _only_run(runs: list[RunFolder], what: str) -> RunFolder:
    if len(runs) != 1:
        raise UsageError(f"{what} is one run's file; got {len(runs)} runs")
    require_single(runs, what)
    return runs[0]


def _vlmevalkit_tsv(runs: list[RunFolder]) -> str:
    return vlmevalkit.as_tsv(vlmevalkit.vlmevalkit_sheet(_only_run(runs, "vlmevalkit-tsv")))


def _vlmevalkit_xlsx(runs: list[RunFolder]) -> bytes:
    return vlmevalkit.as_xlsx(vlmevalkit.vlmevalkit_sheet(_only_run(runs, "vlmevalkit-xlsx")))


def _mmbench_submission(runs: list[RunFolder]) -> bytes:
    return vlmevalkit.as_xlsx(vlmevalkit.mmbench_sheet(_only_run(runs, "mmbench-submission")))


def _mmt_submission(runs: list[RunFolder]) -> str:
    from snellen.store.export.mmt_submission import mmt_sheet

    return vlmevalkit.as_tsv(mmt_sheet(_only_run(runs, "mmt-submission")))


def _mmt_table(runs: list[RunFolder]) -> str:
    from snellen.report.terminal.mmt_table import mmt_table

    return mmt_table(runs)


def _seed_results(runs: list[RunFolder]) -> str:
    from snellen.store.export.seedbench_results import seed_results

    run = _only_run(runs, "seed-results")
    results = seed_results(run.records())
    if results.omitted or run.info.status != "complete":
        print_line(
            f"snellen: {results.line_count} answers written; {results.omitted} samples without an "
            f"answer are left out (the run is {run.info.status})",
            error=True,
        )
    return results.text


def _seed_table(runs: list[RunFolder]) -> str:
    from snellen.report.terminal.seed_table import seed_table

    return seed_table([run.report() for run in runs])


def _seed_heat_map(runs: list[RunFolder]) -> str:
    from snellen.report.terminal.seed_table import seed_heat_map

    return seed_heat_map([run.report() for run in runs])


_FORMATS: dict[str, Callable[[list[RunFolder]], str | bytes]] = {
    "vlmevalkit-tsv": _vlmevalkit_tsv,
    "vlmevalkit-xlsx": _vlmevalkit_xlsx,
    "mmbench-submission": _mmbench_submission,
    "mmt-submission": _mmt_submission,
    "mmt-table": _mmt_table,
    "seed-results": _seed_results,
    "seed-table": _seed_table,
    "seed-heatmap": _seed_heat_map,
}
