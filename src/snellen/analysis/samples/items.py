"""A benchmark's samples over many runs: their difficulty, whether they discriminate good models
from bad ones, doubtful labels, and the smallest subset that ranks the models alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from snellen.analysis.comparison.alignment import AlignedRuns, align_runs
from snellen.analysis.samples.doubtful_labels import (
    MIN_RUNS,
    MIN_STRONG,
    RunAnswer,
    Suspect,
    beats_chance,
    doubts,
    strong_runs,
)
from snellen.analysis.samples.subsets import SubsetWorth, smallest_subset
from snellen.core.errors import UsageError
from snellen.stats.items import MIN_SYSTEMS as FEWEST_SYSTEMS_TO_DISCRIMINATE
from snellen.stats.items import difficulty, discrimination, low_discrimination
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class ItemDifficulty(Struct, frozen=True):
    """A sample over the runs. `difficulty` is 1 minus its mean score; `discrimination` is the
    correlation of its score with that of the other samples, and `low` the probability of one as low
    if all samples discriminated equally; None without variance or with too few runs."""

    id: str
    question: str
    difficulty: float
    discrimination: float | None
    low: float | None = None


class ItemAnalysis(Struct, frozen=True):
    benchmark: str
    runs: tuple[str, ...]
    scores: tuple[float, ...]
    n: int
    items: tuple[ItemDifficulty, ...]
    strong: tuple[str, ...]
    suspects: tuple[Suspect, ...]
    expected: float | None
    """Expected number of suspects if no label is wrong (`doubtful_labels.Doubts`)."""
    all_right: int
    all_wrong: int
    sizes: tuple[SubsetWorth, ...]
    subset: tuple[str, ...]
    """Ids of the smallest subset that keeps the ranking as well as requested, or of half of the
    samples if none does (a notice says so)."""
    subset_agreement: float | None = None
    """Pairs in the right order, in percent, of models that were not used to choose the subset or
    its size."""
    notices: tuple[str, ...] = ()
    expected_range: tuple[float, float] | None = None
    """Interval that contains 95 of 100 numbers of suspects if no label is wrong."""
    low_expected: float | None = None
    """Expected number of samples whose `low` is at most 0.05 if all discriminated equally."""


def analyse_items(
    runs: Sequence[RunFolder],
    names: Sequence[str],
    *,
    common: bool = False,
    agreement: float = 0.95,
) -> ItemAnalysis:
    """Analyse the samples over the runs of one benchmark. `agreement` is the fraction of pairs of
    models that the smallest subset must order as all samples do.

    Raises UsageError for fewer than two runs, runs of several benchmarks, and as `align_runs` does.
    """
    benchmarks = dict.fromkeys(run.info.benchmark for run in runs)
    if len(benchmarks) != 1 or len(runs) < 2:
        raise UsageError(
            f"the item view needs two or more runs of one benchmark; got {len(runs)} of "
            f"{', '.join(benchmarks) or 'none'}"
        )
    aligned_runs = align_runs(runs, common=common)
    levels = aligned_runs.scores.mean(axis=0)
    difficulties = difficulty(aligned_runs.scores)
    strong = strong_runs(levels, [beats_chance(run) for run in runs])
    label_doubts = doubts(aligned_runs, _answers_by_run(runs), strong) if strong else None
    items, low_expected = _items(aligned_runs, difficulties)
    smallest = smallest_subset(aligned_runs, agreement)
    notices = smallest.notices
    if len(runs) < MIN_RUNS:
        notices = (*notices, f"doubtful labels need {MIN_RUNS} or more runs, got {len(runs)}")
    elif not strong:
        notices = (
            *notices,
            f"no label is doubted: this needs {MIN_STRONG} or more runs that beat chance",
        )
    if low_expected is None:
        few = f"discrimination needs {FEWEST_SYSTEMS_TO_DISCRIMINATE} or more runs"
        notices = (*notices, f"{few}, got {len(runs)}")
    return ItemAnalysis(
        benchmark=next(iter(benchmarks)),
        runs=tuple(names),
        scores=tuple((100 * levels).tolist()),
        n=len(aligned_runs.samples),
        items=items,
        strong=tuple(names[index] for index in strong),
        suspects=label_doubts.suspects if label_doubts else (),
        expected=label_doubts.expected if label_doubts else None,
        expected_range=label_doubts.range if label_doubts else None,
        low_expected=low_expected,
        all_right=int((difficulties <= 1e-9).sum()),
        all_wrong=int((difficulties >= 1 - 1e-9).sum()),
        sizes=smallest.sizes,
        subset=smallest.samples,
        subset_agreement=smallest.agreement,
        notices=(*aligned_runs.notices, *notices),
    )


def _items(
    aligned_runs: AlignedRuns, difficulties: NDArray[float64]
) -> tuple[tuple[ItemDifficulty, ...], float | None]:
    """Every sample, and the expected number with low discrimination; None with too few runs."""
    if aligned_runs.scores.shape[1] < FEWEST_SYSTEMS_TO_DISCRIMINATE:
        plain = zip(aligned_runs.samples, difficulties.tolist(), strict=True)
        return tuple(
            ItemDifficulty(sample.id, sample.question, level, None) for sample, level in plain
        ), None
    discriminations, low = (
        discrimination(aligned_runs.scores),
        low_discrimination(aligned_runs.scores),
    )
    columns = zip(
        aligned_runs.samples,
        difficulties.tolist(),
        discriminations.tolist(),
        low.p.tolist(),
        strict=True,
    )
    items = tuple(
        ItemDifficulty(sample.id, sample.question, level, None, None)
        if math.isnan(r)
        else ItemDifficulty(sample.id, sample.question, level, r, p)
        for sample, level, r, p in columns
    )
    return items, low.expected


def _answers_by_run(runs: Sequence[RunFolder]) -> list[dict[str, RunAnswer]]:
    return [{answer.id: answer for answer in run.read_as(RunAnswer)} for run in runs]
