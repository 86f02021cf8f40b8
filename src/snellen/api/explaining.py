"""`why`: the difference of two runs, or of a run and recorded predictions, split by cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from snellen.analysis.stages import Side
from snellen.analysis.why import Why, why
from snellen.api.data_again import benchmark_with_data
from snellen.core.errors import UsageError
from snellen.data.predictions import read_predictions
from snellen.engine.scoring import recorded
from snellen.store.runs import RunFolder, find_runs, open_run, require_single

_NEAR = 0.05
"""Points by which a headline may differ from the mean of its samples."""


class Explained(NamedTuple):
    """The split, and warnings about a file of predictions."""

    why: Why
    warnings: tuple[str, ...]


def explain(
    first: Path | str,
    second: Path | str,
    *,
    examples: int = 2,
    level: float = 0.95,
    moved: Sequence[str] = (),
) -> Explained:
    """Why the second scored otherwise than the first. Each is a run folder, or one of them a file
    of predictions, which is read and graded as the other's benchmark does, over the data of that
    run; `moved` are files in which these may be now.

    Raises UsageError subclasses.
    """
    given = Path(first), Path(second)
    folders = [path for path in given if path.is_dir()]
    if not folders:
        raise UsageError(
            f"{first} and {second} are no run folders; give two of them, or one and a file of "
            "predictions"
        )
    runs = [_single(path) for path in folders]
    require_single(runs, "why")
    names = _names(runs, folders)
    warnings: tuple[str, ...] = ()
    sides: list[Side] = []
    for path in given:
        if path.is_dir():
            at = len([side for side in sides if side.info is not None])
            sides.append(_side(runs[at], names[at]))
        else:
            side, warnings = _imported(path, runs[0], moved)
            sides.append(side)
    found = why(sides[0], sides[1], examples=examples, level=level)
    scores = {found.first: found.first_score, found.second: found.second_score}
    told = [line for run, name in zip(runs, names, strict=True)
            for line in _no_mean(run, name, scores[name])]  # fmt: skip
    return Explained(structs.replace(found, notices=(*found.notices, *told)), warnings)


def _no_mean(run: RunFolder, name: str, mean: float) -> Iterator[str]:
    """Says so where the headline is something else than the mean of the samples' scores."""
    if not run.has_report:
        return
    headline = run.report().summary.headline
    if headline.value is not None and abs(headline.value - mean) > _NEAR:
        yield (
            f"{name}: the headline {headline.name} is {headline.value:.1f} and no mean over "
            f"samples; split is the mean of the samples' scores, {mean:.1f}"
        )


def _names(runs: Sequence[RunFolder], folders: Sequence[Path]) -> list[str]:
    """The models' names where they differ, else the folders as they were given: what sets the
    runs apart is told beside."""
    for names in (
        [run.info.model for run in runs],
        [folder.name for folder in folders],
        [str(folder) for folder in folders],
    ):
        if len(set(names)) == len(names):
            return names
    return ["first", "second"]


def _single(path: Path) -> RunFolder:
    """The run of a folder, or the only one in it."""
    found = find_runs(path)
    if len(found) > 1:
        raise UsageError(
            f"{path} holds {len(found)} runs; name one, e.g. {path / found[0].path.name}"
        )
    return open_run(found[0].path)


def _side(run: RunFolder, name: str) -> Side:
    records = chain(run.records(), run.failures())
    info = run.info
    return Side(name, info.benchmark, {one.id: one for one in records}, info.failures, info)


def _imported(path: Path, run: RunFolder, moved: Sequence[str]) -> tuple[Side, tuple[str, ...]]:
    """Predictions through the flow of the run's own benchmark; for its samples alone."""
    read = read_predictions(path)
    records, warnings = recorded(benchmark_with_data(run, moved), read.replies(), read.digest)
    asked = {one.id for one in chain(run.records(), run.failures())}
    kept = {one.id: one for one in records if run.info.config.limit is None or one.id in asked}
    name, failures = path.name, run.info.failures
    return Side(name, run.info.benchmark, kept, failures), (*read.warnings, *warnings)
