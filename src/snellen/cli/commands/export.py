"""`snellen export`: runs in the formats of other tools, leaderboards and papers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from snellen.api.flags import argument, option, options_field
from snellen.api.options import SourceOptions
from snellen.cli.flags import RUNS, open_runs, print_warning
from snellen.cli.output import only_file, print_line
from snellen.core.atomic_write import save
from snellen.core.errors import UnknownName, UsageError, storage_errors
from snellen.core.run import Report
from snellen.core.terminal_text import escape_controls
from snellen.report.document import Document
from snellen.report.documents.mmt_table import mmt_document
from snellen.report.documents.seed_table import seed_document, seed_heat_map
from snellen.report.page.thumbnails import read_thumbnail
from snellen.report.writers import SUFFIXES, write_text
from snellen.store.export.annotations import annotated_samples, as_csv, as_jsonl
from snellen.store.export.asked_passes import ExportedFile
from snellen.store.export.every_eval_ever import RELATIONSHIPS, Evaluator, every_eval_ever_files
from snellen.store.export.hub_results import ResultTarget, hub_results_yaml
from snellen.store.export.inspect_log import inspect_archive, inspect_json
from snellen.store.export.lmms_eval import lmms_eval_files
from snellen.store.export.mmt_submission import mmt_sheet
from snellen.store.export.seedbench_results import seed_results
from snellen.store.export.vlmevalkit import as_tsv, as_xlsx, mmbench_sheet, vlmevalkit_sheet
from snellen.store.runs import RunFolder, require_single

PAGES = "pages"


Content = str | bytes | Document | list[ExportedFile]


class Export(NamedTuple):
    """How a format is written."""

    convert: Callable[[list[RunFolder], Options], Content]
    is_folder: bool = False
    facts: tuple[str, ...] = ()
    """Keys of `--facts`."""


def _of_runs(convert: Callable[[list[RunFolder]], Content], is_folder: bool = False) -> Export:
    """An export that depends on the runs alone."""
    return Export(lambda runs, options: convert(runs), is_folder)


def _of_reports(convert: Callable[[list[Report]], Content]) -> Export:
    """An export of the numbers of runs."""
    return Export(lambda runs, options: convert([run.report() for run in runs]))


def _of_run(convert: Callable[[RunFolder], Content]) -> Export:
    """A file of one run without repeats."""

    def convert_only(runs: list[RunFolder], options: Options) -> Content:
        if len(runs) != 1:
            raise UsageError(f"{options.to} is one run's file; got {len(runs)} runs")
        require_single(runs, options.to)
        return convert(runs[0])

    return Export(convert_only)


def _seed_results(run: RunFolder) -> str:
    results = seed_results(run.records())
    if results.omitted or run.info.status != "complete":
        print_warning(
            f"{results.line_count} answers written; {results.omitted} samples without an "
            f"answer are left out (the run is {run.info.status})"
        )
    return results.text


def _inspect(runs: list[RunFolder], options: Options) -> str | bytes:
    if len(runs) != 1:
        raise UsageError(f"a log of Inspect is one run's; got {len(runs)} runs")
    is_text = not options.output or Path(options.output[0]).suffix == ".json"
    return (inspect_json if is_text else inspect_archive)(runs[0], partial(read_thumbnail, runs[0].path))


def _parquet(runs: list[RunFolder], options: Options) -> list[ExportedFile]:
    """Writes the files itself: those of runs that have not changed stay."""
    from snellen.api.parquet_export import write_parquet
    from snellen.api.results import Run

    written = write_parquet([Run(run.path) for run in runs], Path(options.output[0]))
    print_line(
        f"{written.runs:,} runs; the samples of {written.written:,} were written ({written.samples:,} rows), the "
        "others had not changed",
        error=True,
    )
    return []


def _every_eval_ever(runs: list[RunFolder], options: Options) -> list[ExportedFile]:
    facts = {"organization": "", "relationship": "other", **options.facts}
    return every_eval_ever_files(runs, Evaluator(**facts))


_EXPORTS: Mapping[str, Export] = {
    "inspect": Export(_inspect),
    "lmms-eval": _of_runs(lmms_eval_files, is_folder=True),
    "eee": Export(_every_eval_ever, is_folder=True, facts=("organization", "relationship")),
    "parquet": Export(_parquet, is_folder=True),
    "hf-eval-results": Export(
        lambda runs, options: hub_results_yaml(runs, ResultTarget(**options.facts)),
        facts=("dataset", "task", "source_url"),
    ),
    "vlmevalkit-tsv": _of_run(lambda run: as_tsv(vlmevalkit_sheet(run))),
    "vlmevalkit-xlsx": _of_run(lambda run: as_xlsx(vlmevalkit_sheet(run))),
    "mmbench-submission": _of_run(lambda run: as_xlsx(mmbench_sheet(run))),
    "mmt-submission": _of_run(lambda run: as_tsv(mmt_sheet(run))),
    "mmt-table": _of_runs(mmt_document),
    "seed-results": _of_run(_seed_results),
    "seed-table": _of_reports(seed_document),
    "seed-heatmap": _of_reports(seed_heat_map),
    "annotations-csv": _of_runs(lambda runs: as_csv(annotated_samples(runs))),
    "annotations-jsonl": _of_runs(lambda runs: as_jsonl(annotated_samples(runs))),
}
"""All but the pages."""
FORMATS = (*_EXPORTS, PAGES)
_HELP = (
    "inspect: a log of Inspect, an .eval archive or .json by the name of FILE; lmms-eval: its "
    "results and samples, in a folder; parquet: tables of runs, groups and samples for DuckDB, polars or "
    "Spark, in a folder; eee: records of Every Eval Ever, in a folder "
    "(--facts organization, relationship); "
    "hf-eval-results: entries for .eval_results/NAME.yaml of a model repository (--facts "
    "dataset, task, source_url); vlmevalkit-tsv, "
    "vlmevalkit-xlsx: VLMEvalKit's prediction file, each rotation a row; mmbench-submission: the "
    "workbook the MMBench server takes; mmt-submission: the table MMT-Bench's server takes for its "
    "ALL split; mmt-table: its Table 2 for these runs, with average ranks; seed-results: "
    "SEED-Bench's results.json; seed-table: its levels, subparts and ranks; seed-heatmap: ranks "
    "per dimension as SVG; annotations-csv, annotations-jsonl: what was noted about samples and "
    "replies in the pages of `snellen view`; pages: a folder of these pages"
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen export` takes."""

    runs: Sequence[str] = argument("RUN", RUNS, "+")
    sources: SourceOptions = options_field(SourceOptions)
    to: str = option(MISSING, "--to", _HELP, metavar="FORMAT", choices=FORMATS)
    output: Sequence[str] = option((), "--output")
    """One file, or the folder of a format of several files. Tables are Markdown unless the file
    ends otherwise."""
    facts: Mapping[str, str] = option({}, "--facts")
    """Of `hf-eval-results`: `dataset` (ORG/NAME on the hub), `task` (as in its eval.yaml),
    `source_url` (where the report can be read). Of `eee`: `organization` (who ran the evaluation)
    and its `relationship` to the model's developer."""


def main(options: Options) -> None:
    """Print the runs in a format, or write them to a file or folder."""
    output = only_file(options.output)
    export = _EXPORTS.get(options.to, Export(lambda runs, options: "", is_folder=True))
    _check_facts(options, export.facts)
    if export.is_folder and output is None:
        noun = "pages are" if options.to == PAGES else f"{options.to} is"
        raise UsageError(f"{noun} a folder of files: name it with -o DIR")
    if options.to == PAGES:
        _write_pages(options, Path(output or ""))
        return
    content = export.convert(open_runs(options.runs, options.sources), options)
    if isinstance(content, list):
        _write_files(content, Path(output or ""))
        return
    if isinstance(content, Document):
        suffix = Path(output or "").suffix.lower()
        content = write_text(content, SUFFIXES.get(suffix, "markdown"))
    if output is None:
        _print_content(content)
    else:
        save(Path(output), content)


def _write_pages(options: Options, folder: Path) -> None:
    from snellen.api.run_sources import source_folders
    from snellen.view.files import write_pages
    from snellen.view.run_view import RunLibrary

    folders = source_folders(options.runs, options.sources, print_warning)
    print_line(write_pages(RunLibrary(folders, options.sources.data), folder))


def _check_facts(options: Options, known: Sequence[str]) -> None:
    """Raises UsageError for a fact that the format does not state."""
    for key in options.facts:
        homes = [name for name, export in _EXPORTS.items() if key in export.facts]
        if key not in known and homes:
            raise UsageError(f"--facts {key}=... belongs to --to {homes[0]}, not to {options.to}")
        if key not in known and not known:
            raise UsageError(f"--to {options.to} states no facts; leave out --facts")
        if key not in known:
            raise UnknownName("fact", key, known)
    relationship = options.facts.get("relationship", RELATIONSHIPS[0])
    if relationship not in RELATIONSHIPS:
        raise UnknownName("relationship", relationship, RELATIONSHIPS)


def _write_files(files: Sequence[ExportedFile], folder: Path) -> None:
    for file in files:
        path = folder / file.path
        with storage_errors("write", path):
            path.parent.mkdir(parents=True, exist_ok=True)
        save(path, file.content)
        print_line(str(path))


def _print_content(content: str | bytes) -> None:
    if isinstance(content, str):
        # Control characters are escaped for people only: programs get the exact text.
        sys.stdout.write(escape_controls(content) if sys.stdout.isatty() else content)
    elif sys.stdout.isatty():
        raise UsageError("a workbook cannot be printed to a terminal: name a file with -o FILE.xlsx")
    else:
        sys.stdout.buffer.write(content)
