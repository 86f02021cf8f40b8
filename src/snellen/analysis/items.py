"""A benchmark's samples seen over many runs: how hard each is, whether it tells good models from
bad ones, which labels may be wrong, and how few samples would rank the models alike."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from snellen.analysis.aligned import Aligned, aligned
from snellen.analysis.subsets import Size, smallest_subset
from snellen.core.errors import UsageError
from snellen.core.sample import Kind
from snellen.stats.items import difficulty, discrimination
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_STRONG = 3
"""Fewest models that must agree before a label is doubted."""


class Answered(Struct, frozen=True, gc=False):
    """What a run answered to a sample."""

    id: str
    kind: Kind
    answer: str | None = None


class Item(Struct, frozen=True):
    """A sample over the runs. `difficulty` is 1 less its mean score; `discrimination` the
    correlation of its score with the rest of the benchmark's, None where there is no spread."""

    id: str
    question: str
    difficulty: float
    discrimination: float | None


class Suspect(Struct, frozen=True):
    """A sample whose gold answer all strong models contradict with one other answer."""

    id: str
    question: str
    gold: str
    answer: str
    agree: int
    """Runs, strong or not, that gave this answer."""
    runs: int


class Items(Struct, frozen=True):
    benchmark: str
    runs: tuple[str, ...]
    scores: tuple[float, ...]
    n: int
    items: tuple[Item, ...]
    strong: tuple[str, ...]
    suspects: tuple[Suspect, ...]
    expected: float | None
    """Suspects to be expected if strong models erred independently, each wrong option alike."""
    all_right: int
    all_wrong: int
    sizes: tuple[Size, ...]
    subset: tuple[str, ...]
    """Ids of the smallest subset that keeps the ranking as well as was asked for."""
    subset_agreement: float | None = None
    """Pairs in order, in percent, of models that had no part in choosing the subset or its size."""
    notices: tuple[str, ...] = ()


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
    strong = _strong(levels)
    suspects = _suspects(together, _answers(runs), strong) if strong else ()
    smallest = smallest_subset(together, agreement)
    notices = smallest.notices
    if not strong:
        notices = (*notices, f"labels are doubted from {_STRONG} runs on, here are {len(runs)}")
    return Items(
        benchmark=next(iter(benchmarks)),
        runs=tuple(names),
        scores=tuple((100 * levels).tolist()),
        n=len(together.samples),
        items=tuple(_items(together, hard)),
        strong=tuple(names[at] for at in strong),
        suspects=suspects,
        expected=_expected(together, strong) if strong else None,
        all_right=int((hard <= 1e-9).sum()),
        all_wrong=int((hard >= 1 - 1e-9).sum()),
        sizes=smallest.sizes,
        subset=smallest.samples,
        subset_agreement=smallest.agreement,
        notices=(*together.notices, *notices),
    )


def _items(together: Aligned, hard: NDArray[float64]) -> list[Item]:
    telling = discrimination(together.scores)
    return [
        Item(one.id, one.question, float(level), None if math.isnan(r) else float(r))
        for one, level, r in zip(together.samples, hard, telling.tolist(), strict=True)
    ]


def _strong(levels: NDArray[float64]) -> list[int]:
    """The better half of the runs, at least three; none where there are fewer."""
    order = [int(at) for at in (-levels).argsort(kind="stable")]
    return order[: max(_STRONG, math.ceil(len(order) / 2))] if len(order) >= _STRONG else []


def _answers(runs: Sequence[RunFolder]) -> list[dict[str, Answered]]:
    return [{one.id: one for one in run.read_as(Answered)} for run in runs]


def _suspects(
    together: Aligned, answers: Sequence[dict[str, Answered]], strong: Sequence[int]
) -> tuple[Suspect, ...]:
    """The most agreed on first."""
    found = []
    for sample in together.samples:
        given = [table[sample.id] for table in answers]
        told = {given[at].answer for at in strong}
        answer = next(iter(told))
        closed = given[0].kind != "open"
        if len(told) != 1 or answer is None or not closed or answer in sample.gold:
            continue
        counts = Counter(one.answer for one in given)
        gold = " or ".join(sample.gold)
        found.append(Suspect(sample.id, sample.question, gold, answer, counts[answer], len(given)))
    return tuple(sorted(found, key=lambda one: -one.agree))


def _expected(together: Aligned, strong: Sequence[int]) -> float:
    """Sum over choice and yes/no samples of the chance that all strong models err alike, each with
    its own error rate on questions of so many options."""
    alike: dict[int, list[int]] = defaultdict(list)
    for at, sample in enumerate(together.samples):
        options = len(sample.options) or (2 if sample.gold in (("Yes",), ("No",)) else 0)
        if options >= 2:
            alike[options].append(at)
    total = 0.0
    for options, rows in alike.items():
        wrong = [1 - float(together.scores[rows, at].mean()) for at in strong]
        others = options - 1
        total += len(rows) * others * math.prod(one / others for one in wrong)
    return total
