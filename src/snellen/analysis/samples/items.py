"""A benchmark's samples seen over many runs: how hard each is, whether it tells good models from
bad ones, which labels may be wrong, and how few samples would rank the models alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from snellen.analysis.comparison.aligned import Aligned, aligned
from snellen.analysis.samples.doubtful_labels import (
    FEWEST_RUNS,
    Answered,
    Suspect,
    doubts,
    strong_runs,
)
from snellen.analysis.samples.subsets import Size, smallest_subset
from snellen.core.errors import UsageError
from snellen.stats.items import FEWEST_SYSTEMS as FEWEST_SYSTEMS_TO_DISCRIMINATE
from snellen.stats.items import difficulty, discrimination, low_discrimination
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class Item(Struct, frozen=True):
    """A sample over the runs. `difficulty` is 1 less its mean score; `discrimination` the
    correlation of its score with the rest of the benchmark's, and `low` the chance of one as low if
    all samples discriminated alike; None where there is no spread, or the runs are too few."""

    id: str
    question: str
    difficulty: float
    discrimination: float | None
    low: float | None = None


class Items(Struct, frozen=True):
    benchmark: str
    runs: tuple[str, ...]
    scores: tuple[float, ...]
    n: int
    items: tuple[Item, ...]
    strong: tuple[str, ...]
    suspects: tuple[Suspect, ...]
    expected: float | None
    """Suspects to be expected if no label is wrong (`doubtful_labels.Doubts`)."""
    all_right: int
    all_wrong: int
    sizes: tuple[Size, ...]
    subset: tuple[str, ...]
    """Ids of the smallest subset that keeps the ranking as well as was asked for, or of half of the
    samples where none does (a notice says so)."""
    subset_agreement: float | None = None
    """Pairs in order, in percent, of models that had no part in choosing the subset or its size."""
    notices: tuple[str, ...] = ()
    expected_range: tuple[float, float] | None = None
    """What 95 of 100 numbers of suspects lie in, if no label is wrong."""
    low_expected: float | None = None
    """Samples whose `low` is at most 0.05, to be expected if all discriminated alike."""


def itemise(
    runs: Sequence[RunFolder],
    names: Sequence[str],
    *,
    common: bool = False,
    agreement: float = 0.95,
) -> Items:
    """Samples over the runs of one benchmark. `agreement` is the share of pairs of models that the
    smallest subset must order as the whole does.

    Raises UsageError for fewer than two runs, runs of several benchmarks, and as `aligned` does.
    """
    benchmarks = dict.fromkeys(run.info.benchmark for run in runs)
    if len(benchmarks) != 1 or len(runs) < 2:
        raise UsageError(
            f"the item view needs two or more runs of one benchmark; got {len(runs)} of "
            f"{', '.join(benchmarks) or 'none'}"
        )
    together = aligned(runs, common=common)
    levels = together.scores.mean(axis=0)
    hard = difficulty(together.scores)
    strong = strong_runs(levels)
    doubted = doubts(together, _answers(runs), strong) if strong else None
    items, low_expected = _items(together, hard)
    smallest = smallest_subset(together, agreement)
    notices = smallest.notices
    if not strong:
        notices = (*notices, f"labels are doubted from {FEWEST_RUNS} runs on, here are {len(runs)}")
    if low_expected is None:
        few = f"discrimination is told from {FEWEST_SYSTEMS_TO_DISCRIMINATE} runs on"
        notices = (*notices, f"{few}, here are {len(runs)}")
    return Items(
        benchmark=next(iter(benchmarks)),
        runs=tuple(names),
        scores=tuple((100 * levels).tolist()),
        n=len(together.samples),
        items=items,
        strong=tuple(names[at] for at in strong),
        suspects=doubted.suspects if doubted else (),
        expected=doubted.expected if doubted else None,
        expected_range=doubted.range if doubted else None,
        low_expected=low_expected,
        all_right=int((hard <= 1e-9).sum()),
        all_wrong=int((hard >= 1 - 1e-9).sum()),
        sizes=smallest.sizes,
        subset=smallest.samples,
        subset_agreement=smallest.agreement,
        notices=(*together.notices, *notices),
    )


def _items(together: Aligned, hard: NDArray[float64]) -> tuple[tuple[Item, ...], float | None]:
    """Every sample, and how many discriminate little by chance; None with too few runs."""
    if together.scores.shape[1] < FEWEST_SYSTEMS_TO_DISCRIMINATE:
        plain = zip(together.samples, hard.tolist(), strict=True)
        return tuple(Item(one.id, one.question, level, None) for one, level in plain), None
    telling, low = discrimination(together.scores), low_discrimination(together.scores)
    told = zip(together.samples, hard.tolist(), telling.tolist(), low.p.tolist(), strict=True)
    items = tuple(
        Item(one.id, one.question, level, None, None)
        if math.isnan(r)
        else Item(one.id, one.question, level, r, p)
        for one, level, r, p in told
    )
    return items, low.expected


def _answers(runs: Sequence[RunFolder]) -> list[dict[str, Answered]]:
    return [{one.id: one for one in run.read_as(Answered)} for run in runs]
