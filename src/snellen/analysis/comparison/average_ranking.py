"""Averages over benchmarks that cannot be told apart: models paired by the samples of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from snellen.analysis.comparison.aligned import aligned
from snellen.analysis.comparison.headlines import headlines
from snellen.core.errors import UsageError
from snellen.core.run import Report
from snellen.stats.averages import difference_of_averages
from snellen.stats.compact_letters import letter_groups
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.paired import PairedMean, holm, paired_means
from snellen.store.runs import RunFolder

_NEAR = 0.05
"""Points by which a headline may differ from the mean of its samples, and still be that mean."""


class Column(NamedTuple):
    """The runs of one benchmark by model; `weight` is that of a point of its headline in the
    average."""

    benchmark: str
    weight: float
    runs: Mapping[str, tuple[RunFolder, Report]]


class AverageLetters(NamedTuple):
    """By model; models that share a letter cannot be told apart. Empty, with the reason, where a
    benchmark cannot be tested."""

    letters: Mapping[str, str]
    pairs: int = 0
    reason: str = ""


def average_letters(
    columns: Sequence[Column], averages: Mapping[str, float], level: float = DEFAULT_LEVEL
) -> AverageLetters:
    """Letters of the models in `averages`, each of which has a run in every column: paired tests of
    all pairs at `level`, adjusted by Holm."""
    models = sorted(averages, key=lambda model: (-round(averages[model], 9), model))
    pairs = list(combinations(range(len(models)), 2))
    if not pairs or not columns:
        return AverageLetters({})
    tested: list[_Tested] = []
    for column in columns:
        members = [column.runs[model] for model in models]
        found = _differences(members, pairs, level)
        if found is None:
            why = f"the runs of {column.benchmark} cannot be compared by its headline"
            return AverageLetters({}, len(pairs), why)
        tested.append(found)
    weights = [column.weight * one.points for column, one in zip(columns, tested, strict=True)]
    p_values = [
        difference_of_averages([one.differences[at] for one in tested], weights, level).p
        for at in range(len(pairs))
    ]
    known = [p for p in p_values if p is not None]
    if not known:
        return AverageLetters({}, len(pairs), "too few clusters of samples")
    adjusted = iter(holm(known))
    different = [
        pair
        for pair, p in zip(pairs, p_values, strict=True)
        if p is not None and next(adjusted) < 1 - level
    ]
    letters = letter_groups(len(models), different)
    return AverageLetters(dict(zip(models, letters, strict=True)), len(pairs))


class _Tested(NamedTuple):
    """Differences of the headlines of each pair; one of them is worth so many `points` of 100."""

    differences: Sequence[PairedMean]
    points: float


def _differences(
    members: Sequence[tuple[RunFolder, Report]],
    pairs: Sequence[tuple[int, int]],
    level: float,
) -> _Tested | None:
    """Over the samples that all runs scored; None where there are none, or where the headline
    cannot be made of these samples."""
    import numpy as np

    runs = [run for run, _ in members]
    try:
        together = aligned(runs, common=True)
    except UsageError:
        return None
    measure = headlines(runs, together)
    if measure is not None:
        return _Tested(measure.differences(pairs, level), 100 / measure.top)
    means = (100 * together.scores.mean(axis=0)).tolist()
    for (_, report), mean in zip(members, means, strict=True):
        headline = report.summary.headline
        same = headline.n == len(together.samples)
        off = headline.value is None or abs(headline.value - mean) > _NEAR
        if headline.unit != "percent" or (same and off):
            return None
    first, second = np.array(pairs).T
    differences = together.scores[:, second] - together.scores[:, first]
    return _Tested(paired_means(differences, together.clusters, level), 100.0)
