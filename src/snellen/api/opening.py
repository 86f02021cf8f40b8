"""Open finished runs by the paths of their folders, and what people noted of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePath

from snellen.api.mistakes import shorten_tracebacks
from snellen.api.options import DEFAULT_OUT, SourceOptions
from snellen.api.results import Results, Run
from snellen.api.run_sources import source_folders
from snellen.core.errors import UsageError
from snellen.store.export.annotations import AnnotatedSample, annotated_samples
from snellen.store.runs import RunFolder, distinct_runs, find_runs
from snellen.store.runs import open_run as open_folder


@shorten_tracebacks
def open_run(path: Path | str) -> Run:
    """Open a run folder. Raises UsageError if it is not one."""
    return Run(open_folder(_parse_path(path)).path)


@shorten_tracebacks
def open_runs(*paths: Path | str, sources: SourceOptions | None = None) -> Results:
    """Open the runs at these paths: run folders, folders of runs, and files of predictions, which
    `sources` says how to score. Raises UsageError if there is none."""
    if not paths:
        raise UsageError(f"no folder of runs is named; expected open_runs({DEFAULT_OUT!r})")
    folders: dict[Path, Path] = {}
    for path in source_folders([_parse_path(path) for path in paths], sources or SourceOptions()):
        for run in find_runs(path):
            folders.setdefault(run.path.resolve(), run.path)
    return Results(map(Run, folders.values()))


def _parse_path(path: object) -> Path:
    """The path of a run. Raises UsageError for a value that is none."""
    if isinstance(path, RunFolder):
        return path.path
    if isinstance(path, str | PurePath):
        return Path(path)
    raise UsageError(
        f"a run cannot be opened from a value of type {type(path).__name__}; expected the path of "
        f"its folder, such as '{DEFAULT_OUT}/RUN'"
    )


def load_annotations(runs: Path | str | RunFolder | Iterable[Path | str | RunFolder]) -> list[AnnotatedSample]:
    """The annotations of runs: flags, notes and labels with the question, gold and answer.

    `runs` are run folders, folders of runs, or both. An annotation of a sample, which holds for all
    runs of the same data, comes once, before those of replies. Raises UsageError if there is no
    run, StorageError for a file that cannot be read.
    """
    single = [runs] if isinstance(runs, Path | str | RunFolder) else runs
    paths = [run.path if isinstance(run, RunFolder) else run for run in single]
    return annotated_samples(distinct_runs(paths))
