"""`snellen export`: runs in the formats of other tools, leaderboards and papers."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path

from snellen.api.options import SourceOptions
from snellen.cli.exit_codes import COMPLETE
from snellen.cli.flags import add_runs, open_runs, print_warning, read_options
from snellen.cli.printing import print_line
from snellen.core.atomic_write import save
from snellen.core.errors import StorageError, UsageError
from snellen.core.terminal_text import escape_controls
from snellen.store.export import vlmevalkit
from snellen.store.export.asked_passes import ExportedFile
from snellen.store.export.every_eval_ever import RELATIONSHIPS
from snellen.store.runs import RunFolder, require_single

PAGES = "pages"


def add(parser: ArgumentParser) -> None:
    """Declare the arguments of `snellen export`."""
    add_runs(parser)
    parser.add_argument(
        "--to", required=True, metavar="FORMAT", choices=(*_FORMATS, *_FOLDERS, PAGES),
        help="inspect: a log of Inspect, an .eval archive or .json by the name of FILE; lmms-eval: "
        "its results and samples, in a folder; eee: records of Every Eval Ever, in a folder; "
        "hf-eval-results: entries for .eval_results/NAME.yaml of a model repository; "
        "vlmevalkit-tsv, vlmevalkit-xlsx: VLMEvalKit's prediction file, each rotation a row; "
        "mmbench-submission: the workbook the MMBench server takes; mmt-submission: the table "
        "MMT-Bench's server takes for its ALL split; mmt-table: its Table 2 for these runs, with "
        "average ranks, as Markdown; seed-results: SEED-Bench's "
        "results.json; seed-table: its levels, subparts and ranks as Markdown; seed-heatmap: ranks "
        "per dimension as SVG; annotations-csv, annotations-jsonl: what was noted about samples "
        "and replies in the pages of `snellen view`; pages: a folder of these pages",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="FILE",
        help="write to a file; lmms-eval, eee and pages: to a folder",
    )  # fmt: skip
    hub = parser.add_argument_group("--to hf-eval-results")
    for name, metavar, what in (
        ("--dataset", "ORG/NAME", "the benchmark's data set on the hub (that of the run's data)"),
        ("--task", "ID", "the task, as in the data set's eval.yaml"),
        ("--source-url", "URL", "where the run's report can be read"),
    ):
        hub.add_argument(name, metavar=metavar, default="", help=what)
    eee = parser.add_argument_group("--to eee")
    eee.add_argument("--organization", metavar="NAME", default="", help="who ran the evaluation")
    what = "of the evaluator to the model's developer (other)"
    eee.add_argument("--relationship", choices=RELATIONSHIPS, default="other", help=what)


def main(arguments: Namespace) -> int:
    if arguments.to == PAGES:
        return _write_pages(arguments)
    _check_flags(arguments)
    runs = open_runs(arguments.runs, read_options(arguments, SourceOptions))
    if arguments.to in _FOLDERS:
        return _write_files(_FOLDERS[arguments.to](runs, arguments), arguments)
    content = _FORMATS[arguments.to](runs, arguments)
    if arguments.output is None:
        _print_content(content)
        return COMPLETE
    save(Path(arguments.output), content)
    return COMPLETE


def _write_pages(arguments: Namespace) -> int:
    if arguments.output is None:
        raise UsageError("pages are a folder of files: name it with -o DIR")
    from snellen.api.run_sources import source_folders
    from snellen.view.files import write_pages
    from snellen.view.run_view import RunLibrary

    options = read_options(arguments, SourceOptions)
    library = RunLibrary(source_folders(arguments.runs, options, print_warning), options.data)
    print_line(write_pages(library, Path(arguments.output)))
    return COMPLETE


def _check_flags(arguments: Namespace) -> None:
    """Raises UsageError for a flag of another format."""
    own = {"hf-eval-results": ("dataset", "task", "source_url"), "eee": ("organization",)}
    for to, names in own.items():
        for name in names:
            if arguments.to != to and getattr(arguments, name):
                raise UsageError(f"--{name.replace('_', '-')} belongs to --to {to}")


def _write_files(files: list[ExportedFile], arguments: Namespace) -> int:
    if arguments.output is None:
        raise UsageError(f"{arguments.to} is a folder of files: name it with -o DIR")
    for file in files:
        path = Path(arguments.output) / file.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
        save(path, file.content)
        print_line(str(path))
    return COMPLETE


def _print_content(content: str | bytes) -> None:
    if isinstance(content, str):
        # Control characters are escaped for people only: programs get the exact text.
        sys.stdout.write(escape_controls(content) if sys.stdout.isatty() else content)
    elif sys.stdout.isatty():
        raise UsageError(
            "a workbook cannot be printed to a terminal: name a file with -o FILE.xlsx"
        )
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


def _annotations_csv(runs: list[RunFolder]) -> str:
    from snellen.store.export.annotations import annotated_samples, as_csv

    return as_csv(annotated_samples(runs))


def _annotations_jsonl(runs: list[RunFolder]) -> str:
    from snellen.store.export.annotations import annotated_samples, as_jsonl

    return as_jsonl(annotated_samples(runs))


def _inspect(runs: list[RunFolder], arguments: Namespace) -> str | bytes:
    from functools import partial

    from snellen.report.page.thumbnails import read_thumbnail
    from snellen.store.export.inspect_log import inspect_archive, inspect_json

    if len(runs) != 1:
        raise UsageError(f"a log of Inspect is one run's; got {len(runs)} runs")
    read_image = partial(read_thumbnail, runs[0].path)
    if arguments.output is None or Path(arguments.output).suffix == ".json":
        return inspect_json(runs[0], read_image)
    return inspect_archive(runs[0], read_image)


def _hf_eval_results(runs: list[RunFolder], arguments: Namespace) -> str:
    from snellen.store.export.hub_results import ResultTarget, hub_results_yaml

    target = ResultTarget(arguments.dataset, arguments.task, arguments.source_url)
    return hub_results_yaml(runs, target)


def _lmms_eval(runs: list[RunFolder], arguments: Namespace) -> list[ExportedFile]:
    from snellen.store.export.lmms_eval import lmms_eval_files

    return lmms_eval_files(runs)


def _every_eval_ever(runs: list[RunFolder], arguments: Namespace) -> list[ExportedFile]:
    from snellen.store.export.every_eval_ever import Evaluator, every_eval_ever_files

    evaluator = Evaluator(arguments.organization, arguments.relationship)
    return every_eval_ever_files(runs, evaluator)


_Export = Callable[[list[RunFolder], Namespace], str | bytes]


def _of_runs(export: Callable[[list[RunFolder]], str | bytes]) -> _Export:
    """An export that takes no flags."""
    return lambda runs, arguments: export(runs)


_FORMATS: dict[str, _Export] = {
    "inspect": _inspect,
    "hf-eval-results": _hf_eval_results,
    "vlmevalkit-tsv": _of_runs(_vlmevalkit_tsv),
    "vlmevalkit-xlsx": _of_runs(_vlmevalkit_xlsx),
    "mmbench-submission": _of_runs(_mmbench_submission),
    "mmt-submission": _of_runs(_mmt_submission),
    "mmt-table": _of_runs(_mmt_table),
    "seed-results": _of_runs(_seed_results),
    "seed-table": _of_runs(_seed_table),
    "seed-heatmap": _of_runs(_seed_heat_map),
    "annotations-csv": _of_runs(_annotations_csv),
    "annotations-jsonl": _of_runs(_annotations_jsonl),
}
"""Exports of one file, or to standard output."""
_FOLDERS: dict[str, Callable[[list[RunFolder], Namespace], list[ExportedFile]]] = {
    "lmms-eval": _lmms_eval,
    "eee": _every_eval_ever,
}
"""Exports of several files."""
