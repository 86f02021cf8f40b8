"""`snellen export`: runs in the formats that other people's tools and tables use."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from snellen.cli.main import COMPLETE
from snellen.cli.printing import say
from snellen.core.atomic_write import save
from snellen.core.errors import UsageError
from snellen.core.terminal_text import visible
from snellen.store.export import vlmevalkit
from snellen.store.runs import RunFolder, distinct_runs, require_single

PAGES = "pages"


def main(arguments: Namespace) -> int:
    if arguments.to == PAGES:
        return _pages(arguments)
    runs = distinct_runs(arguments.runs)
    content = _FORMATS[arguments.to](runs)
    if arguments.output is None:
        _print(content)
        return COMPLETE
    save(Path(arguments.output), content)
    return COMPLETE


def _pages(arguments: Namespace) -> int:
    if arguments.output is None:
        raise UsageError("pages are a folder of files: name it with -o DIR")
    from snellen.view.files import write_pages
    from snellen.view.run_view import Shelf

    say(write_pages(Shelf(arguments.runs), Path(arguments.output)))
    return COMPLETE


def _print(content: str | bytes) -> None:
    if isinstance(content, str):
        # Another program gets what is submitted as it is.
        sys.stdout.write(visible(content) if sys.stdout.isatty() else content)
    elif sys.stdout.isatty():
        raise UsageError("a workbook is no text for a terminal: name a file with -o FILE.xlsx")
    else:
        sys.stdout.buffer.write(content)


def _one(runs: list[RunFolder], what: str) -> RunFolder:
    if len(runs) != 1:
        raise UsageError(f"{what} is one run's file; got {len(runs)} runs")
    require_single(runs, what)
    return runs[0]


def _vlmevalkit_tsv(runs: list[RunFolder]) -> str:
    return vlmevalkit.as_tsv(vlmevalkit.vlmevalkit_sheet(_one(runs, "vlmevalkit-tsv")))


def _vlmevalkit_xlsx(runs: list[RunFolder]) -> bytes:
    return vlmevalkit.as_xlsx(vlmevalkit.vlmevalkit_sheet(_one(runs, "vlmevalkit-xlsx")))


def _mmbench_submission(runs: list[RunFolder]) -> bytes:
    return vlmevalkit.as_xlsx(vlmevalkit.mmbench_sheet(_one(runs, "mmbench-submission")))


def _mmt_submission(runs: list[RunFolder]) -> str:
    from snellen.store.export.mmt_submission import mmt_sheet

    return vlmevalkit.as_tsv(mmt_sheet(_one(runs, "mmt-submission")))


def _mmt_table(runs: list[RunFolder]) -> str:
    from snellen.report.terminal.mmt_table import mmt_table

    return mmt_table(runs)


def _seed_results(runs: list[RunFolder]) -> str:
    from snellen.store.export.seedbench_results import seed_results

    run = _one(runs, "seed-results")
    found = seed_results(run.records())
    if found.left_out or run.info.status != "complete":
        say(
            f"snellen: {found.written} answers written; {found.left_out} samples without an "
            f"answer are left out (the run is {run.info.status})",
            error=True,
        )
    return found.text


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
