"""`snellen leaderboard`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.api.flags import argument, option, options_field
from snellen.api.options import SourceOptions
from snellen.cli.flags import RUNS, open_runs
from snellen.cli.output import OutputOptions, write_document
from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from snellen.benchmarks.abilities.mme.boards import PrintedScores
    from snellen.report.document import Document
    from snellen.report.documents.suites import ImportedScore

_TABLE_SUFFIXES = (".csv", ".tsv")


@dataclass(frozen=True, kw_only=True)
class Options(OutputOptions):
    """What `snellen leaderboard` takes."""

    paths: Sequence[str] = argument(
        "SOURCE",
        f"{RUNS}; a CSV of MME numbers (model, subtask, acc, acc_plus), or for --suite one of "
        "scores from elsewhere (model, member, value)",
        "*",
    )
    sources: SourceOptions = options_field(SourceOptions)
    suite: str | None = option(
        None,
        "--suite",
        "one table with the average over a suite, e.g. openvlm-core, or over your own TOML file",
        metavar="SUITE",
    )
    top: int = option(10, "--top")
    filter: str | None = option(None, "--filter")


def main(options: Options) -> None:
    """Print the leaderboards of runs and printed scores, or the table of a suite."""
    if options.top < 1:
        raise UsageError(f"--top is {options.top}; expected at least 1 place")
    if options.suite is not None:
        write_document(_suite(options, options.suite), options)
        return
    if not options.paths:
        raise UsageError("no sources; give run folders, a folder of runs or a CSV of numbers")
    write_document(_leaderboards(options), options)


def _leaderboards(options: Options) -> Document:
    from snellen.api.report import reports_of
    from snellen.report.documents.leaderboard_tables import leaderboards_document
    from snellen.report.documents.leaderboards import rank_comparable_runs

    files = [path for path in options.paths if _is_table(path, options.sources.benchmark)]
    tables = _printed_scores(files)
    runs = open_runs([path for path in options.paths if path not in files], options.sources)
    if options.filter:
        fits = _filter(options.filter)
        runs = [run for run in runs if fits(run.info.model)]
        tables = [
            table._replace(scores={name: row for name, row in table.scores.items() if fits(name)}) for table in tables
        ]
        if not runs and not any(any(table.scores.values()) for table in tables):
            raise UsageError(
                f"no model here fulfils --filter {options.filter!r}; a model that is not in the "
                "catalog fulfils no filter"
            )
    reports = reports_of(runs)
    return leaderboards_document(rank_comparable_runs(runs, reports, tables, options.top))


def _filter(text: str) -> Callable[[str], bool]:
    from snellen.models.naming.filters import model_filter

    return model_filter(text)


def _printed_scores(files: Sequence[str]) -> list[PrintedScores]:
    if not files:
        return []
    from snellen.benchmarks.abilities.mme.boards import parse_printed_scores
    from snellen.data.tables.open_table import open_table

    for path in files:
        if _imported_scores(path):
            raise UsageError(f"{path} has scores of a suite's members; say which: --suite SUITE")
    return [parse_printed_scores(open_table(path)) for path in files]


def _is_table(path: str, benchmark: str | None) -> bool:
    """Whether a source is a table of numbers, not predictions of a benchmark."""
    from snellen.api.run_sources import holds_replies

    return benchmark is None and Path(path).suffix.lower() in _TABLE_SUFFIXES and not holds_replies(path)


def _suite(options: Options, name: str) -> Document:
    """The table of a suite, from runs and from scores of elsewhere."""
    from snellen.api.report import reports_of
    from snellen.benchmarks.declaration.registry import find_suite
    from snellen.report.documents.suites import suite_document, suite_table

    imported = {path: scores for path in options.paths if (scores := _imported_scores(path))}
    results = [result for scores in imported.values() for result in scores]
    runs = open_runs([path for path in options.paths if path not in imported], options.sources)
    if options.filter:
        fits = _filter(options.filter)
        runs = [run for run in runs if fits(run.info.model)]
        results = [result for result in results if fits(result.model)]
    table = suite_table(find_suite(name), runs, reports_of(runs), results)
    if not table.rows:
        raise UsageError(
            f"nothing of the suite {name} is there; run it with -b {name}, or give a CSV of scores "
            "from elsewhere (model,member,value)"
        )
    return suite_document(table)


def _imported_scores(path: str) -> list[ImportedScore]:
    """The scores of a table with the columns model, member and value; none if it is another."""
    from snellen.data.tables.open_table import open_table
    from snellen.report.documents.suites import IMPORT_COLUMNS, read_imported_scores

    if not _is_table(path, None):
        return []
    table = open_table(path)
    return read_imported_scores(table) if set(IMPORT_COLUMNS) <= set(table.columns) else []
