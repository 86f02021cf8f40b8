"""Samples whose gold answer may be wrong: all strong models give one other answer, and how many
such samples there would be without a wrong label."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from snellen.analysis.comparison.aligned import Aligned, Seen
from snellen.core.sample import Kind
from snellen.stats.shared_errors import FEWEST_OTHERS, Answers, expected_alike

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

FEWEST_STRONG = 3
"""Fewest models that must agree before a label is doubted."""
FEWEST_RUNS = FEWEST_STRONG + FEWEST_OTHERS
"""Runs that labels are doubted from: difficulty is told from runs that are not strong."""


class Answered(Struct, frozen=True, gc=False):
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
    fewer than `FEWEST_RUNS`."""
    order = [int(at) for at in (-levels).argsort(kind="stable")]
    most = len(order) - FEWEST_OTHERS
    half = max(FEWEST_STRONG, math.ceil(len(order) / 2))
    return order[: min(half, most)] if len(order) >= FEWEST_RUNS else []


def doubts(
    together: Aligned, answers: Sequence[Mapping[str, Answered]], strong: Sequence[int]
) -> Doubts:
    """Of the closed samples; `answers` holds those of each run by the sample's id."""
    rows = [
        at
        for at, sample in enumerate(together.samples)
        if sample.gold and answers[0][sample.id].kind != "open"
    ]
    if not rows:
        return Doubts((), 0.0, (0.0, 0.0))
    samples = [together.samples[at] for at in rows]
    given = [[table[sample.id].answer for table in answers] for sample in samples]
    found = Answers(
        np.array(
            [
                [float(one in sample.gold) for one in row]
                for sample, row in zip(samples, given, strict=True)
            ]
        ),
        [
            [None if one in sample.gold else one for one in row]
            for sample, row in zip(samples, given, strict=True)
        ],
        np.array([_wrong_options(sample, row) for sample, row in zip(samples, given, strict=True)]),
    )
    expected = expected_alike(found, strong, _numbered(together.clusters[rows]))
    suspects = [
        one
        for sample, row in zip(samples, given, strict=True)
        if (one := _suspect(sample, row, strong))
    ]
    suspects.sort(key=lambda one: -one.agree)
    return Doubts(tuple(suspects), expected.mean, (expected.low, expected.high))


def _suspect(sample: Seen, given: Sequence[str | None], strong: Sequence[int]) -> Suspect | None:
    alike = {given[at] for at in strong}
    answer = next(iter(alike))
    if len(alike) != 1 or answer is None or answer in sample.gold:
        return None
    agree = Counter(given)[answer]
    gold = " or ".join(sample.gold)
    return Suspect(sample.id, sample.question, gold, answer, agree, len(given))


def _wrong_options(sample: Seen, given: Sequence[str | None]) -> float:
    """How many options are wrong; where they are not known, of the answers that were given."""
    options = set(sample.options) or {one for one in given if one is not None}
    return float(max(1, len(options - set(sample.gold))))


def _numbered(clusters: NDArray[np.int64]) -> NDArray[np.intp]:
    """The same clusters as 0, 1, ... without a gap."""
    found: NDArray[np.intp] = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    return found
