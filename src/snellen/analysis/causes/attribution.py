"""How much of a difference goes to each of several causes.

Causes are switched one after the other from the first run to the second, and each is worth the mean
of what it moves over the orders (`snellen.stats.shapley`). What a combination scores is known
from the two runs, from their replies read again, and from further runs, such as the first model
under the second prompt. Samples differ in which causes can have moved them and in which
combinations are known, so each kind of sample is split on its own and the parts are summed. Causes
that no known order separates stay one part: none of them is given what may be the other's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

from snellen.analysis.causes.factors import REPLY_CAUSES, SWITCHABLE, Cause, Differences, RunRecords
from snellen.analysis.causes.stages import SampleChange, sample_change
from snellen.stats.shapley import Coalition, Order, ShapleySplit, shapley_split

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Method = Literal["alone", "read again", "measured", "joint"]
"""How a part was got: nothing else differs; replies that are there were read again; a further run
switches some of the causes; not at all, since the causes differ together."""
_BY_STRENGTH: tuple[Method, ...] = ("alone", "read again", "measured", "joint")
_RESCORABLE: frozenset[Cause] = frozenset({"data", "extraction", "scoring"})
"""Causes that can be switched over replies that are there."""

Scores = Mapping[str, float]
Rescore = Callable[[RunRecords, frozenset[Cause]], Scores]
"""Scores of a run's replies where these causes, of those that act on the reading, are as in the
second run and the others as in the first; without the samples of which that is not known."""


class CrossedRun(NamedTuple):
    """A further run, and the causes in which it is as the second."""

    run: RunRecords
    switched: frozenset[Cause]
    scores: Scores


class CauseEffect(NamedTuple):
    """What some causes move, sample by sample (n,), as shares of 1.

    `minimum` and `maximum` are the means that they move over the known orders, of which there are
    `orders` of `possible`.
    """

    causes: frozenset[Cause]
    values: NDArray[float64]
    minimum: float
    maximum: float
    method: Method
    orders: int
    possible: int


class Attribution(NamedTuple):
    effects: list[CauseEffect]
    changes: dict[str, SampleChange]
    """Of the samples that the two runs score differently."""


class _RunPair(NamedTuple):
    """Two runs, and what is known besides."""

    first: RunRecords
    second: RunRecords
    run_differences: Differences
    scores: tuple[Scores, Scores]
    crossed: Sequence[CrossedRun]
    rescore: Rescore | None


def attribute_causes(
    first: RunRecords,
    second: RunRecords,
    run_differences: Differences,
    shared_ids: Sequence[str],
    scores: tuple[Scores, Scores],
    crossed: Sequence[CrossedRun] = (),
    rescore: Rescore | None = None,
) -> Attribution:
    """Split the differences of the samples `shared_ids` runs scored; the parts sum to them."""
    pair = _RunPair(first, second, run_differences, scores, crossed, rescore)
    changes: dict[str, SampleChange] = {}
    kinds: dict[tuple[Coalition, frozenset[Coalition]], list[_SampleScores]] = defaultdict(list)
    same_parsing = not run_differences.causes - frozenset(SWITCHABLE)
    for at, name in enumerate(shared_ids):
        moved = scores[0][name] != scores[1][name]
        if not moved and same_parsing and not crossed:
            # Without a combination between them, equal scores tell of no cause.
            continue
        change = sample_change(
            first, second, run_differences, first.records[name], second.records[name]
        )
        if moved:
            changes[name] = change
        sample = _sample_scores(pair, name, at, change)
        if sample.causes:
            kinds[sample.causes, frozenset(sample.scores)].append(sample)
    return Attribution(_sum_effects(list(kinds.values()), len(shared_ids)), changes)


class _SampleScores(NamedTuple):
    """The causes that may have moved a sample, and its score in the combinations that are known."""

    sample_index: int
    causes: Coalition
    scores: dict[Coalition, float]
    measured: bool
    """Whether a further run gives one."""


def _sample_scores(pair: _RunPair, name: str, index: int, change: SampleChange) -> _SampleScores:
    before, after = pair.scores[0][name], pair.scores[1][name]
    runs = [one for one in pair.crossed if name in one.scores]
    reply_causes = frozenset[Cause]() if change.is_blocked and not runs else change.reply_causes
    scoring_causes = change.scoring_causes
    if before == after:
        # That the two read it otherwise, with the same score, is known of the runs alone.
        scoring_causes &= pair.run_differences.causes
    if runs and "failures" not in scoring_causes:
        # A further run may read its reply otherwise, also where the two runs read theirs alike.
        scoring_causes = (
            scoring_causes | (pair.run_differences.causes - REPLY_CAUSES)
        ) - reply_causes
    causes = reply_causes | scoring_causes
    if before == after and not (runs or (reply_causes and scoring_causes)):
        causes = frozenset()
    scores: dict[Coalition, float] = {}
    if change.is_blocked and reply_causes and scoring_causes:
        scores[reply_causes], scores[scoring_causes] = before, after
    for one in runs:
        scores[one.switched & causes] = one.scores[name]
    measured = any(key not in (frozenset(), causes) for key in scores) and bool(runs)
    if scoring_causes and len(causes) > 1:
        scores = {
            **_rescored_combinations(pair, name, reply_causes, scoring_causes, runs),
            **scores,
        }
    # What the two runs scored themselves wins over a further run that is like one of them here.
    scores[causes], scores[frozenset()] = after, before
    return _SampleScores(index, causes, scores, measured)


def _rescored_combinations(
    pair: _RunPair,
    name: str,
    reply_causes: frozenset[Cause],
    scoring_causes: frozenset[Cause],
    runs: Sequence[CrossedRun],
) -> dict[Coalition, float]:
    """The replies of each run under the reading of the other."""
    if pair.rescore is None or not scoring_causes <= _RESCORABLE:
        return {}
    replies = [
        (pair.first, frozenset[Cause]()),
        (pair.second, reply_causes),
        *((one.run, one.switched & reply_causes) for one in runs),
    ]
    scores: dict[Coalition, float] = {}
    for side, switched in replies:
        for subset in _subsets(sorted(scoring_causes)):
            score = pair.rescore(side, subset).get(name)
            if score is not None:
                scores.setdefault(switched | subset, score)
    return scores


def _subsets(causes: Sequence[Cause]) -> Iterator[frozenset[Cause]]:
    sizes = range(len(causes) + 1)
    return map(frozenset, chain.from_iterable(combinations(causes, size) for size in sizes))


def _sum_effects(kinds: Sequence[Sequence[_SampleScores]], n: int) -> list[CauseEffect]:
    """The splits of all kinds of samples, put together over the n samples of the two runs."""
    import numpy as np

    values: dict[Coalition, NDArray[float64]] = {}
    methods: dict[Coalition, list[Method]] = defaultdict(list)
    orders: dict[Coalition, list[tuple[int, int]]] = defaultdict(list)
    # Kinds with the same known orders are switched together, so their moves add up order by order.
    moves: dict[frozenset[Order], dict[Order, dict[Coalition, float]]] = {}
    for samples in kinds:
        cells = {key: np.array([one.scores[key] for one in samples]) for key in samples[0].scores}
        split = shapley_split(cells)
        rows = [one.sample_index for one in samples]
        for block, shares in split.shares.items():
            values.setdefault(block, np.zeros(n))[rows] += shares
            methods[block].append(_method(block, split, any(one.measured for one in samples)))
            orders[block].append((len(split.moves), split.possible_orders))
        pooled = moves.setdefault(frozenset(split.moves), {})
        for order, moved in split.moves.items():
            pooled_moves = pooled.setdefault(order, {})
            for block, mean in moved.items():
                pooled_moves[block] = pooled_moves.get(block, 0.0) + mean * len(samples) / n
    parts = []
    for block, effect in values.items():
        ranges = [
            [moved[block] for moved in pooled.values()]
            for pooled in moves.values()
            if block in next(iter(pooled.values()))
        ]
        known_orders, possible = min(orders[block], key=lambda one: one[0] / one[1])
        method = max(methods[block], key=_BY_STRENGTH.index)
        minimum, maximum = sum(map(min, ranges)), sum(map(max, ranges))
        parts.append(
            CauseEffect(_as_causes(block), effect, minimum, maximum, method, known_orders, possible)
        )
    return parts


def _method(block: Coalition, split: ShapleySplit, measured: bool) -> Method:
    if len(block) > 1:
        return "joint"
    if len(split.shares) == 1:
        return "alone"
    return "measured" if measured else "read again"


def _as_causes(block: Coalition) -> frozenset[Cause]:
    return frozenset(block)  # type: ignore[arg-type]
