"""Samples whose gold answer may be wrong: all strong models give one other answer, and how many
such samples there would be without a wrong label."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from snellen.analysis.comparison.aligned import AlignedRuns, ComparableRecord
from snellen.core.sample import Kind
from snellen.stats.shared_errors import MIN_OTHER_SYSTEMS, SystemAnswers, expected_shared_errors

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

MIN_STRONG = 3
"""Fewest models that must agree before a label is doubted."""
MIN_RUNS = MIN_STRONG + MIN_OTHER_SYSTEMS
"""Runs that labels are doubted from: difficulty is told from runs that are not strong."""


class RunAnswer(Struct, frozen=True, gc=False):
    """What a run answered to a sample."""

    id: str
    kind: Kind
    answer: str | None = None


class Suspect(Struct, frozen=True):
    """A sample whose gold answer all strong models contradict with one other answer."""

    id: str
    question: str
    gold: str
    answer: str
    agree: int
    """Runs, strong or not, that gave this answer."""
    runs: int


class Doubts(Struct, frozen=True):
    """Suspects, the most agreed on first, and how many there are by chance.

    `expected` is the mean number if no label is wrong, and `range` what 95 of 100 such benchmarks
    lie in: `stats.shared_errors`, fitted to the runs that are not strong.
    """

    suspects: tuple[Suspect, ...]
    expected: float
    range: tuple[float, float]


def strong_runs(levels: NDArray[float64]) -> list[int]:
    """The better half of the runs, at least three, by their mean scores; none where there are
    fewer than `MIN_RUNS`."""
    order = [int(at) for at in (-levels).argsort(kind="stable")]
    max_strong = len(order) - MIN_OTHER_SYSTEMS
    half = max(MIN_STRONG, math.ceil(len(order) / 2))
    return order[: min(half, max_strong)] if len(order) >= MIN_RUNS else []


def doubts(
    aligned_runs: AlignedRuns, answers: Sequence[Mapping[str, RunAnswer]], strong: Sequence[int]
) -> Doubts:
    """Of the closed samples; `answers` holds those of each run by the sample's id."""
    rows = [
        at
        for at, sample in enumerate(aligned_runs.samples)
        if sample.gold and answers[0][sample.id].kind != "open"
    ]
    if not rows:
        return Doubts((), 0.0, (0.0, 0.0))
    samples = [aligned_runs.samples[at] for at in rows]
    answers_by_sample = [[table[sample.id].answer for table in answers] for sample in samples]
    found = SystemAnswers(
        np.array(
            [
                [float(one in sample.gold) for one in row]
                for sample, row in zip(samples, answers_by_sample, strict=True)
            ]
        ),
        [
            [None if one in sample.gold else one for one in row]
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
        found, strong, _renumber_clusters(aligned_runs.clusters[rows])
    )
    suspects = [
        one
        for sample, row in zip(samples, answers_by_sample, strict=True)
        if (one := _suspect(sample, row, strong))
    ]
    suspects.sort(key=lambda one: -one.agree)
    return Doubts(tuple(suspects), expected.mean, (expected.low, expected.high))


def _suspect(
    sample: ComparableRecord, run_answers: Sequence[str | None], strong: Sequence[int]
) -> Suspect | None:
    strong_answers = {run_answers[at] for at in strong}
    answer = next(iter(strong_answers))
    if len(strong_answers) != 1 or answer is None or answer in sample.gold:
        return None
    agree = Counter(run_answers)[answer]
    gold = " or ".join(sample.gold)
    return Suspect(sample.id, sample.question, gold, answer, agree, len(run_answers))


def _wrong_options(sample: ComparableRecord, run_answers: Sequence[str | None]) -> float:
    """How many options are wrong; where they are not known, of the answers that were given."""
    options = set(sample.options) or {one for one in run_answers if one is not None}
    return float(max(1, len(options - set(sample.gold))))


def _renumber_clusters(clusters: NDArray[np.int64]) -> NDArray[np.intp]:
    """The same clusters as 0, 1, ... without a gap."""
    found: NDArray[np.intp] = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    return found
