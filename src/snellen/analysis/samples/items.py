"""A benchmark's samples over many runs: their difficulty, whether they discriminate good models
from bad ones, doubtful labels, and the smallest subset that ranks the models alike."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, structs

from snellen.analysis.comparison.alignment import AlignedRuns, ComparableRecord, align_runs
from snellen.analysis.comparison.reopened_data import benchmark_with_data
from snellen.analysis.data_check import find_similar_images
from snellen.analysis.samples.subsets import SubsetWorth, smallest_subset
from snellen.core.arrays import Floats, np
from snellen.core.errors import UsageError
from snellen.core.sample import Kind
from snellen.data.columns import row_id
from snellen.stats.items import MIN_SYSTEMS as FEWEST_SYSTEMS_TO_DISCRIMINATE
from snellen.stats.items import difficulty, discrimination, low_discrimination
from snellen.stats.label_errors import MIN_SYSTEMS as FEWEST_SYSTEMS_TO_DOUBT
from snellen.stats.label_errors import SystemAnswers, wrong_label_chances
from snellen.store.runs import RunFolder

CLOSED: tuple[Kind, ...] = ("choice", "yes_no")
DOUBTFUL = 0.5
"""Labels that are wrong with at least this probability are listed."""


class RunAnswer(Struct, frozen=True, gc=False):
    """The answer of a run to a sample."""

    id: str
    kind: Kind
    answer: str | None = None


class Suspect(Struct, frozen=True):
    """A sample whose gold answer is probably wrong."""

    id: str
    question: str
    gold: str
    answer: str
    """The likeliest of the other answers."""
    probability: float
    """That the gold answer is wrong."""
    agree: int
    """Number of runs with `answer`."""
    runs: int


def label_doubts(aligned_runs: AlignedRuns, answers: Sequence[Mapping[str, RunAnswer]]) -> dict[str, Suspect]:
    """The closed samples by id, each with the probability that its label is wrong; samples to which
    every run gave the gold answer, or none an option, are left out. `answers` holds each run's
    answers by sample id. Raises ValueError for too few runs."""
    samples = [sample for sample in aligned_runs.samples if sample.gold and answers[0][sample.id].kind in CLOSED]
    if not samples:
        return {}
    rows = [[table[sample.id].answer for table in answers] for sample in samples]
    pairs = list(zip(samples, rows, strict=True))
    table = SystemAnswers(
        np.array([[float(answer in sample.gold) for answer in row] for sample, row in pairs]),
        [[None if answer in sample.gold else answer for answer in row] for sample, row in pairs],
        np.array([_wrong_options(sample, row) for sample, row in pairs]),
    )
    return {
        sample.id: Suspect(
            sample.id,
            sample.question,
            " or ".join(sample.gold),
            str(chance.answer),
            chance.wrong,
            Counter(row)[str(chance.answer)],
            len(row),
        )
        for (sample, row), chance in zip(pairs, wrong_label_chances(table), strict=True)
        if chance.answer is not None
    }


def _wrong_options(sample: ComparableRecord, run_answers: Sequence[str | None]) -> float:
    """Number of wrong options; if options are unknown, of wrong answers that occurred."""
    options = set(sample.options) or {answer for answer in run_answers if answer is not None}
    return float(max(1, len(options - set(sample.gold))))


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


class SimilarPair(NamedTuple):
    """Two samples whose images differ in bytes and look alike."""

    first: str
    second: str


def similar_images(run: RunFolder, moved: Sequence[str] = ()) -> list[SimilarPair]:
    """Pairs of samples with near-duplicate images in the data of a run.

    The data may have been `moved` to one of these files. Raises UsageError subclasses if they are
    not found."""
    rows = list(benchmark_with_data(run, moved).open())
    ids = {row.index + 1: row_id(row) for row in rows}
    return [SimilarPair(*(ids[index] for index in pair.rows)) for pair in find_similar_images(rows)]
