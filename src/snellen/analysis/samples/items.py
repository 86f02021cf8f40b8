"""A benchmark's samples over many runs: their difficulty, whether they discriminate good models
from bad ones, doubtful labels, and the smallest subset that ranks the models alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct, structs

from snellen.analysis.comparison.alignment import AlignedRuns, align_runs
from snellen.analysis.samples.doubtful_labels import DOUBTFUL, RunAnswer, Suspect, label_doubts
from snellen.analysis.samples.subsets import SubsetWorth, smallest_subset
from snellen.core.arrays import Floats
from snellen.core.errors import UsageError
from snellen.stats.items import MIN_SYSTEMS as FEWEST_SYSTEMS_TO_DISCRIMINATE
from snellen.stats.items import difficulty, discrimination, low_discrimination
from snellen.stats.label_errors import MIN_SYSTEMS as FEWEST_SYSTEMS_TO_DOUBT
from snellen.store.runs import RunFolder


class ItemDifficulty(Struct, frozen=True):
    """A sample over the runs. `difficulty` is 1 minus its mean score; `discrimination` is the
    correlation of its score with that of the other samples, and `low` the probability of one as low
    if all samples discriminated equally; None without variance or with too few runs. `label_wrong`
    is the probability that its gold answer is wrong; None for open questions and too few runs."""

    id: str
    question: str
    difficulty: float
    discrimination: float | None
    low: float | None = None
    label_wrong: float | None = None


class ItemAnalysis(Struct, frozen=True):
    benchmark: str
    runs: tuple[str, ...]
    scores: tuple[float, ...]
    n: int
    items: tuple[ItemDifficulty, ...]
    suspects: tuple[Suspect, ...]
    """Samples whose label is wrong with a probability of at least `DOUBTFUL`, likeliest first."""
    wrong_labels: float | None
    """Expected number of wrong labels among all samples: the sum of their probabilities."""
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
    low_expected: float | None = None
    """Expected number of samples whose `low` is at most 0.05 if all discriminated equally."""


def analyse_items(
    runs: Sequence[RunFolder], names: Sequence[str], *, common: bool = False, agreement: float = 0.95
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
    enough = len(runs) >= FEWEST_SYSTEMS_TO_DOUBT
    answers = [{answer.id: answer for answer in run.read_as(RunAnswer)} for run in runs] if enough else []
    doubts = label_doubts(aligned_runs, answers) if enough else {}
    items, low_expected = _items(aligned_runs, difficulties)
    smallest = smallest_subset(aligned_runs, agreement)
    needs = {"doubtful labels need": FEWEST_SYSTEMS_TO_DOUBT, "discrimination needs": FEWEST_SYSTEMS_TO_DISCRIMINATE}
    few = [f"{what} {fewest} or more runs, got {len(runs)}" for what, fewest in needs.items() if len(runs) < fewest]
    return ItemAnalysis(
        benchmark=next(iter(benchmarks)),
        runs=tuple(names),
        scores=tuple((100 * levels).tolist()),
        n=len(aligned_runs.samples),
        items=tuple(
            structs.replace(item, label_wrong=doubts[item.id].probability) if item.id in doubts else item
            for item in items
        ),
        suspects=tuple(
            suspect
            for suspect in sorted(doubts.values(), key=lambda one: -one.probability)
            if suspect.probability >= DOUBTFUL
        ),
        wrong_labels=sum(one.probability for one in doubts.values()) if enough else None,
        low_expected=low_expected,
        all_right=int((difficulties <= 1e-9).sum()),
        all_wrong=int((difficulties >= 1 - 1e-9).sum()),
        sizes=smallest.sizes,
        subset=smallest.samples,
        subset_agreement=smallest.agreement,
        notices=(*aligned_runs.notices, *smallest.notices, *few),
    )


def _items(aligned_runs: AlignedRuns, difficulties: Floats) -> tuple[tuple[ItemDifficulty, ...], float | None]:
    """Every sample, and the expected number with low discrimination; None with too few runs."""
    if aligned_runs.scores.shape[1] < FEWEST_SYSTEMS_TO_DISCRIMINATE:
        plain = zip(aligned_runs.samples, difficulties.tolist(), strict=True)
        return tuple(ItemDifficulty(sample.id, sample.question, level, None) for sample, level in plain), None
    discriminations, low = (discrimination(aligned_runs.scores), low_discrimination(aligned_runs.scores))
    columns = zip(aligned_runs.samples, difficulties.tolist(), discriminations.tolist(), low.p.tolist(), strict=True)
    items = tuple(
        ItemDifficulty(sample.id, sample.question, level, None, None)
        if math.isnan(r)
        else ItemDifficulty(sample.id, sample.question, level, r, p)
        for sample, level, r, p in columns
    )
    return items, low.expected
