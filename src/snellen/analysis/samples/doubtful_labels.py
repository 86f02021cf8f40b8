"""Samples whose gold answer may be wrong: all strong models give one other answer. Also how many
such samples to expect if no label is wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from snellen.analysis.comparison.alignment import AlignedRuns, ComparableRecord
from snellen.core.sample import Kind
from snellen.scoring.accuracy import CHANCE
from snellen.stats.shared_errors import MIN_OTHER_SYSTEMS, SystemAnswers, expected_shared_errors
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

MIN_STRONG = 3
"""Fewest models that must agree before a label is doubted."""
MIN_RUNS = MIN_STRONG + MIN_OTHER_SYSTEMS
"""Fewest runs for doubting labels: difficulty is estimated from the runs that are not strong."""


class RunAnswer(Struct, frozen=True, gc=False):
    """The answer of a run to a sample."""

    id: str
    kind: Kind
    answer: str | None = None


class Suspect(Struct, frozen=True):
    """A sample whose gold answer is contradicted by all strong models with one other answer."""

    id: str
    question: str
    gold: str
    answer: str
    agree: int
    """Number of runs, strong or not, with this answer."""
    runs: int


class Doubts(Struct, frozen=True):
    """Suspects, those with most agreement first, and how many to expect by chance.

    `expected` is the mean number if no label is wrong, and `range` contains it for 95 of 100 such
    benchmarks: `stats.shared_errors`, fitted to the runs that are not strong.
    """

    suspects: tuple[Suspect, ...]
    expected: float
    range: tuple[float, float]


def beats_chance(run: RunFolder) -> bool:
    """Whether the interval of the run's score lies above chance, or chance is unknown."""
    if not run.has_report:
        return True
    summary = run.report().summary
    chance, interval = summary.metrics.get(CHANCE), summary.headline.interval
    if chance is None or chance.value is None or interval is None:
        return True
    return interval.low > chance.value


def strong_runs(levels: NDArray[float64], above_chance: Sequence[bool]) -> list[int]:
    """Indices of the better half of the runs, at least three, by their mean scores, without those
    that are not above chance. Empty with fewer than `MIN_RUNS` runs, or if fewer than `MIN_STRONG`
    are above chance."""
    order = [int(index) for index in (-levels).argsort(kind="stable")]
    max_strong = len(order) - MIN_OTHER_SYSTEMS
    half = max(MIN_STRONG, math.ceil(len(order) / 2))
    strong = [index for index in order[: min(half, max_strong)] if above_chance[index]]
    return strong if len(order) >= MIN_RUNS and len(strong) >= MIN_STRONG else []


def doubts(
    aligned_runs: AlignedRuns, answers: Sequence[Mapping[str, RunAnswer]], strong: Sequence[int]
) -> Doubts:
    """Doubtful labels of the closed samples; `answers` holds each run's answers by sample id."""
    rows = [
        index
        for index, sample in enumerate(aligned_runs.samples)
        if sample.gold and answers[0][sample.id].kind != "open"
    ]
    if not rows:
        return Doubts((), 0.0, (0.0, 0.0))
    samples = [aligned_runs.samples[index] for index in rows]
    answers_by_sample = [[table[sample.id].answer for table in answers] for sample in samples]
    answer_table = SystemAnswers(
        np.array(
            [
                [float(answer in sample.gold) for answer in row]
                for sample, row in zip(samples, answers_by_sample, strict=True)
            ]
        ),
        [
            [None if answer in sample.gold else answer for answer in row]
            for sample, row in zip(samples, answers_by_sample, strict=True)
        ],
        np.array(
            [
                _wrong_options(sample, row)
                for sample, row in zip(samples, answers_by_sample, strict=True)
            ]
        ),
    )
    expected = expected_shared_errors(
        answer_table, strong, _renumber_clusters(aligned_runs.clusters[rows])
    )
    suspects = [
        suspect
        for sample, row in zip(samples, answers_by_sample, strict=True)
        if (suspect := _suspect(sample, row, strong))
    ]
    suspects.sort(key=lambda suspect: -suspect.agree)
    return Doubts(tuple(suspects), expected.mean, (expected.low, expected.high))


def _suspect(
    sample: ComparableRecord, run_answers: Sequence[str | None], strong: Sequence[int]
) -> Suspect | None:
    """The sample as a suspect, or None if the strong runs do not agree on one wrong answer."""
    strong_answers = {run_answers[index] for index in strong}
    answer = next(iter(strong_answers))
    if len(strong_answers) != 1 or answer is None or answer in sample.gold:
        return None
    agree = Counter(run_answers)[answer]
    gold = " or ".join(sample.gold)
    return Suspect(sample.id, sample.question, gold, answer, agree, len(run_answers))


def _wrong_options(sample: ComparableRecord, run_answers: Sequence[str | None]) -> float:
    """Number of wrong options; if options are unknown, of wrong answers that occurred."""
    options = set(sample.options) or {answer for answer in run_answers if answer is not None}
    return float(max(1, len(options - set(sample.gold))))


def _renumber_clusters(clusters: NDArray[np.int64]) -> NDArray[np.intp]:
    """The same clusters as numbers 0, 1, ... without gaps."""
    numbers: NDArray[np.intp] = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    return numbers
