"""The sources of commands on runs: run folders, folders of runs, archives of runs, and files of predictions.

A file of predictions is scored as by `snellen score` and written as a run folder into the cache, so
that whatever works on runs works on it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from snellen.api.options import SourceOptions
from snellen.core.atomic_write import atomic_folder
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError, missing_file, storage_errors
from snellen.data.columns import REPLY_COLUMNS, column_name
from snellen.settings import Settings
from snellen.store.responses import STORE_FILE
from snellen.store.run_archive import is_archive, unpack_archive
from snellen.store.runs import RunFolder, distinct_runs, holds_run, write_recorded_run

if TYPE_CHECKING:
    from snellen.api.scored import Scored

Notify = Callable[[str], None]

CACHE_FOLDER = "predictions"
"""Folder of the cache for the runs of prediction files, each in a folder named by its content."""
_MAX_HEADER = 1 << 16
"""Characters of a file that are searched for the names of its columns."""
_JUDGED_ELSEWHERE = "; judges and extractors: `snellen score ... --judge MODEL --out DIR` writes a run folder"


def _ignore(_: str) -> None:
    """Ignore a warning."""


def open_sources(
    sources: Sequence[Path | str],
    options: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
    notify: Notify = _ignore,
) -> list[RunFolder]:
    """The runs of all sources without duplicates, in the order they are first named.

    Each source is a run folder, a folder of runs, an archive of runs, or a file of predictions. `notify` gets warnings
    about prediction files. Raises UsageError subclasses.
    """
    return distinct_runs(source_folders(sources, options, notify))


def source_folders(
    sources: Sequence[Path | str],
    options: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
    notify: Notify = _ignore,
) -> list[Path]:
    """The sources with the run folder of each file of predictions in its place, and the folder of an archive's.

    Without `options.benchmark` such a file is scored as the runs beside it are, and with no run
    beside it by what it holds itself. Raises UsageError subclasses, also for options of prediction
    files where there is none.
    """
    paths = [Path(source) for source in sources]
    for path in paths:
        if not path.exists():
            raise UsageError(f"no run in {path}: {missing_file(path, 'file or folder')}")
    paths = [unpack_archive(path) if is_archive(path) else path for path in paths]
    predictions = {path for path in paths if is_predictions(path, options)}
    if not predictions:
        _refuse_idle(options)
        return paths
    alike = None
    if options.benchmark is None:
        beside = [path for path in paths if path not in predictions]
        alike = _run_to_follow(distinct_runs(beside)) if beside else None
    folders = []
    for path in paths:
        if path in predictions:
            scored = _score(path, options, alike)
            for warning in scored.warnings:
                notify(warning)
            path = keep_recorded_run(scored)
        folders.append(path)
    return folders


def is_predictions(path: Path | str, options: SourceOptions) -> bool:
    """Whether a source is to be read as predictions: a file, or a folder of result files (MME's)
    where a benchmark is named."""
    path = Path(path)
    if path.is_dir():
        return options.benchmark is not None and not holds_run(path)
    # `RESULTS/*` of a shell names the store among the runs.
    return path.is_file() and path.name != STORE_FILE


def holds_replies(path: Path | str) -> bool:
    """Whether a CSV or TSV file has a column of replies, by its first line; a table of scores or of
    labels has none."""
    try:
        with Path(path).open(encoding="utf-8-sig", errors="replace", newline="") as file:
            line = file.readline(_MAX_HEADER)
    except OSError:
        return False
    delimiter = "\t" if Path(path).suffix.lower() == ".tsv" else ","
    names = next(csv.reader([line], delimiter=delimiter), [])
    return any(column_name(name, 0) in REPLY_COLUMNS for name in names)


def _refuse_idle(options: SourceOptions) -> None:
    """Raises UsageError if options of prediction files were given and no file is."""
    names = ("benchmark", "columns", "where", "rule", "circular")
    given = [f"--{name}" for name in names if getattr(options, name) is not None]
    if given:
        from snellen.data.detect import TABLES

        raise UsageError(
            f"{' and '.join(given)} says how prediction files are read, and none of the sources is "
            f"a file; expected one of {', '.join(TABLES)}"
        )


def _run_to_follow(runs: Sequence[RunFolder]) -> RunFolder | None:
    """The run whose benchmark and settings prediction files beside it are scored with. Raises
    UsageError if the runs are of several benchmarks."""
    names = dict.fromkeys(run.info.benchmark for run in runs)
    if len(names) > 1:
        raise UsageError(
            f"the runs are of several benchmarks ({', '.join(names)}); say which of them the predictions answer with -b"
        )
    return runs[0] if runs else None


def _score(path: Path, options: SourceOptions, alike: RunFolder | None) -> Scored:
    """Score a file of predictions as the options say, as a run was, or by the right answers that it
    holds itself."""
    # Here, because most sources are run folders, which need none of what scores replies.
    from snellen.api.scoring import score, score_as_run

    variant = Variant(circular=options.circular, rule=options.rule)
    if alike is not None:
        return score_as_run(
            alike, path, moved=options.data, columns=options.columns, where=options.where, variant=variant
        )
    if len(options.data) > 1:
        raise UsageError(f"predictions are scored on one data file, and --data names {len(options.data)}")
    variant = replace(variant, data=options.data[0] if options.data else None)
    if options.benchmark is None and variant.data:
        raise UsageError(f"--data {variant.data}: say with -b what the predictions in {path} answer")
    if options.benchmark is None:
        scored = score(str(path), variant=variant, columns=options.columns, where=options.where)
        if not any(record.gold for record in scored.records):
            raise UsageError(f"{path} holds no right answers; say what its predictions answer with -b BENCHMARK")
        return scored
    try:
        return score(options.benchmark, path, variant=variant, columns=options.columns, where=options.where)
    except UsageError as error:
        if "--judge" not in str(error):
            raise
        raise UsageError(f"{error}{_JUDGED_ELSEWHERE}") from error


def keep_recorded_run(scored: Scored) -> Path:
    """Write scored predictions as a run folder into the cache and return its path.

    The folder around it has the name of what was scored, so that it is written once, whole, and
    never changed while another process reads it. Raises StorageError.
    """
    encoder = msgspec.json.Encoder()
    content = sha256(encoder.encode((scored.report.run, scored.summary)))
    for record in scored.records:
        content.update(encoder.encode(record))
    home = Settings.from_environment().cache / CACHE_FOLDER / content.hexdigest()[:24]
    with storage_errors("write", home):
        if not holds_run(home):
            with atomic_folder(home) as unfinished:
                write_recorded_run(unfinished, scored.report.run, scored.summary, scored.records)
    return distinct_runs([home])[0].path


def is_recorded(run: RunFolder) -> bool:
    """Whether a run holds the replies of a file, of which prompts and settings are not known."""
    return run.info.config.identity.provider == "recorded"
