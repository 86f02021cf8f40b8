"""Which models' averages over benchmarks do not differ significantly, by samples paired within each
benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from snellen.analysis.comparison.alignment import align_runs
from snellen.analysis.comparison.headlines import headlines
from snellen.core.arrays import np
from snellen.core.errors import UsageError
from snellen.core.run import Report
from snellen.stats.averages import difference_of_averages
from snellen.stats.compact_letters import letter_groups
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.paired import PairedMean, holm_of_tested, paired_means
from snellen.store.runs import RunFolder

_TOLERANCE = 0.05
"""Points by which a headline may differ from the mean of its samples and still count as that
mean."""


class BenchmarkColumn(NamedTuple):
    """The runs of one benchmark by model; `weight` is that of a point of its headline in the
    average."""

    benchmark: str
    weight: float
    runs: Mapping[str, tuple[RunFolder, Report]]


class AverageLetters(NamedTuple):
    """Letters by model; models that share a letter do not differ significantly. Empty, with the
    reason, if a benchmark cannot be tested."""

    letters: Mapping[str, str]
    pairs: int = 0
    reason: str = ""


def average_letters(columns: Sequence[BenchmarkColumn], averages: Mapping[str, float]) -> AverageLetters:
    """Letters of the models in `averages`, each of which has a run in every column: paired tests of
    all pairs at `DEFAULT_LEVEL`, adjusted by Holm."""
    models = sorted(averages, key=lambda model: (-round(averages[model], 9), model))
    pairs = list(combinations(range(len(models)), 2))
    if not pairs or not columns:
        return AverageLetters({})
    tested: list[_PairTests] = []
    for column in columns:
        members = [column.runs[model] for model in models]
        tests = _differences(members, pairs)
        if tests is None:
            why = f"the runs of {column.benchmark} cannot be compared by its headline"
            return AverageLetters({}, len(pairs), why)
        tested.append(tests)
    weights = [column.weight * tests_of_column.points for column, tests_of_column in zip(columns, tested, strict=True)]
    p_values = [
        difference_of_averages([tests_of_column.differences[index] for tests_of_column in tested], weights).p
        for index in range(len(pairs))
    ]
    adjusted = holm_of_tested(p_values)
    if all(p is None for p in adjusted):
        return AverageLetters({}, len(pairs), "too few clusters of samples")
    different = [pair for pair, p in zip(pairs, adjusted, strict=True) if p is not None and p < 1 - DEFAULT_LEVEL]
    letters = letter_groups(len(models), different)
    return AverageLetters(dict(zip(models, letters, strict=True)), len(pairs))


class _PairTests(NamedTuple):
    """Differences of the headlines of each pair; `points` converts them to points of 100."""

    differences: Sequence[PairedMean]
    points: float


def _differences(members: Sequence[tuple[RunFolder, Report]], pairs: Sequence[tuple[int, int]]) -> _PairTests | None:
    """Differences over the samples that all runs scored; None if there are none, or if the headline
    cannot be computed on these samples."""
    runs = [run for run, _ in members]
    try:
        aligned_runs = align_runs(runs, common=True)
    except UsageError:
        return None
    measure = headlines(runs, aligned_runs)
    if measure is not None:
        return _PairTests(measure.differences(pairs, DEFAULT_LEVEL), 100 / measure.top)
    means = (100 * aligned_runs.scores.mean(axis=0)).tolist()
    for (_, report), mean in zip(members, means, strict=True):
        headline = report.summary.headline
        same = headline.n == len(aligned_runs.samples)
        off = headline.value is None or abs(headline.value - mean) > _TOLERANCE
        if headline.unit != "percent" or (same and off):
            return None
    first, second = np.array(pairs).T
    differences = aligned_runs.scores[:, second] - aligned_runs.scores[:, first]
    return _PairTests(paired_means(differences, aligned_runs.clusters), 100.0)
