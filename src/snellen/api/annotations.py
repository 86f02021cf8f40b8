"""Annotations that people made in the pages of `snellen view`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from snellen.store.export.annotations import AnnotatedSample, annotated_samples
from snellen.store.runs import RunFolder, distinct_runs


def load_annotations(runs: Path | str | RunFolder | Iterable[Path | str | RunFolder]) -> list[AnnotatedSample]:
    """The annotations of runs: flags, notes and labels with the question, gold and answer.

    `runs` are run folders, folders of runs, or both. An annotation of a sample, which holds for all
    runs of the same data, comes once, before those of replies. Raises UsageError if there is no
    run, StorageError for a file that cannot be read.
    """
    single = [runs] if isinstance(runs, Path | str | RunFolder) else runs
    paths = [run.path if isinstance(run, RunFolder) else run for run in single]
    return annotated_samples(distinct_runs(paths))
