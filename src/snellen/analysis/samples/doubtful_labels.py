"""How likely the gold answer of each sample is wrong, from the answers of many runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from snellen.analysis.comparison.alignment import AlignedRuns, ComparableRecord
from snellen.core.arrays import np
from snellen.core.sample import Kind
from snellen.stats.label_errors import SystemAnswers, wrong_label_chances

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
