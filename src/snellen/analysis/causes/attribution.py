"""Split a difference among several causes.

Causes are switched one after the other from the first run to the second, and each is credited with
its mean effect over the orders (`snellen.stats.shapley`). The score of a combination of causes is
known from a further run, or by parsing recorded replies again. Samples differ in which causes can
have moved them and in which combinations are known, so each kind of sample is split on its own and
the parts are summed. Causes that no known order separates stay one part, so that none is credited
with the effect of another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

from snellen.analysis.causes.factors import REPLY_CAUSES, SWITCHABLE, Cause, Differences, RunRecords
from snellen.analysis.causes.sample_changes import SampleChange, sample_change
from snellen.stats.shapley import Coalition, Order, ShapleySplit, shapley_split

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Method = Literal["alone", "read again", "measured", "joint"]
"""How an effect was determined: nothing else differs; recorded replies were parsed again; a further
run switches some of the causes; not at all, since the causes only differ jointly."""
_BY_STRENGTH: tuple[Method, ...] = ("alone", "read again", "measured", "joint")
_RESCORABLE: frozenset[Cause] = frozenset({"data", "extraction", "scoring"})
"""Causes that can be switched on recorded replies."""

Scores = Mapping[str, float]
Rescore = Callable[[RunRecords, frozenset[Cause]], Scores]
"""Scores of a run's replies if these causes, of those that act on scoring, are as in the second run
and the others as in the first; without samples for which that is unknown."""


class CrossedRun(NamedTuple):
    """A further run, and the causes in which it equals the second run."""

    run: RunRecords
    switched: frozenset[Cause]
    scores: Scores


class CauseEffect(NamedTuple):
    """The effect of some causes, sample by sample (n,), in -1..1.

    `minimum` and `maximum` are the mean effects over the known orders, of which there are `orders`
    of `possible`.
    """

    causes: frozenset[Cause]
    values: NDArray[float64]
    minimum: float
    maximum: float
    method: Method
    orders: int
    possible: int


class Attribution(NamedTuple):
    """Effects of the causes."""

    effects: list[CauseEffect]
    changes: dict[str, SampleChange]
    """Of the samples that the two runs score differently."""


class _RunPair(NamedTuple):
    """Two runs, and what else is known about their difference."""

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
    """Split the score differences of the samples that both runs scored; the effects sum to them."""
    pair = _RunPair(first, second, run_differences, scores, crossed, rescore)
    changes: dict[str, SampleChange] = {}
    kinds: dict[tuple[Coalition, frozenset[Coalition]], list[_SampleScores]] = defaultdict(list)
    same_parsing = not run_differences.causes - frozenset(SWITCHABLE)
    for index, name in enumerate(shared_ids):
        moved = scores[0][name] != scores[1][name]
        if not moved and same_parsing and not crossed:
            # With equal scores and no combination in between, no cause can have an effect.
            continue
        change = sample_change(
            first, second, run_differences, first.records[name], second.records[name]
        )
        if moved:
            changes[name] = change
        sample = _sample_scores(pair, name, index, change)
        if sample.causes:
            kinds[sample.causes, frozenset(sample.scores)].append(sample)
    return Attribution(_sum_effects(list(kinds.values()), len(shared_ids)), changes)


class _SampleScores(NamedTuple):
    """The causes that may have moved a sample, and its score in the known combinations."""

    sample_index: int
    causes: Coalition
    scores: dict[Coalition, float]
    measured: bool
    """Whether a further run provides one of the scores."""


def _sample_scores(pair: _RunPair, name: str, index: int, change: SampleChange) -> _SampleScores:
    """The causes of one sample and its score in every known combination of them."""
    # A combination is a set of causes that are as in the second run, the others as in the first:
    # the empty set scores `before`, all causes score `after`, and whatever is known in between
    # limits how much each cause can have moved.
    before, after = pair.scores[0][name], pair.scores[1][name]
    runs = [crossed for crossed in pair.crossed if name in crossed.scores]
    reply_causes = frozenset[Cause]() if change.is_blocked and not runs else change.reply_causes
    scoring_causes = change.scoring_causes
    if before == after:
        # With equal scores only differences in the settings of the runs count: differences seen in
        # this sample have not changed its score.
        scoring_causes &= pair.run_differences.causes
    if runs and "failures" not in scoring_causes:
        # A further run has another reply, which the two runs may score differently even if they
        # score their own replies alike.
        scoring_causes = (
            scoring_causes | (pair.run_differences.causes - REPLY_CAUSES)
        ) - reply_causes
    causes = reply_causes | scoring_causes
    if before == after and not (runs or (reply_causes and scoring_causes)):
        causes = frozenset()
    scores: dict[Coalition, float] = {}
    if change.is_blocked and reply_causes and scoring_causes:
        # The replies are equal or parsed alike, so switching the reply causes changes nothing.
        scores[reply_causes], scores[scoring_causes] = before, after
    for crossed in runs:
        scores[crossed.switched & causes] = crossed.scores[name]
    measured = any(key not in (frozenset(), causes) for key in scores) and bool(runs)
    if scoring_causes and len(causes) > 1:
        scores = {
            **_rescored_combinations(pair, name, reply_causes, scoring_causes, runs),
            **scores,
        }
    # The scores of the two runs themselves replace those of a further run that has the same causes
    # switched for this sample.
    scores[causes], scores[frozenset()] = after, before
    return _SampleScores(index, causes, scores, measured)


def _rescored_combinations(
    pair: _RunPair,
    name: str,
    reply_causes: frozenset[Cause],
    scoring_causes: frozenset[Cause],
    runs: Sequence[CrossedRun],
) -> dict[Coalition, float]:
    """Scores of each run's replies under the scoring of the other."""
    if pair.rescore is None or not scoring_causes <= _RESCORABLE:
        return {}
    replies = [
        (pair.first, frozenset[Cause]()),
        (pair.second, reply_causes),
        *((crossed.run, crossed.switched & reply_causes) for crossed in runs),
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
    """The splits of all kinds of samples, summed over the n samples of the two runs."""
    import numpy as np

    # A block is a set of causes that no known order separates, usually a single cause.
    values: dict[Coalition, NDArray[float64]] = {}
    methods: dict[Coalition, list[Method]] = defaultdict(list)
    orders: dict[Coalition, list[tuple[int, int]]] = defaultdict(list)
    # For the range of a block over orders: kinds with the same known orders are switched together,
    # so their mean moves add up order by order; kinds with other orders vary independently, so
    # their minima and maxima add up.
    moves: dict[frozenset[Order], dict[Order, dict[Coalition, float]]] = {}
    for samples in kinds:
        cells = {
            key: np.array([sample.scores[key] for sample in samples]) for key in samples[0].scores
        }
        split = shapley_split(cells)
        rows = [sample.sample_index for sample in samples]
        for block, shares in split.shares.items():
            values.setdefault(block, np.zeros(n))[rows] += shares
            methods[block].append(_method(block, split, any(sample.measured for sample in samples)))
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
        known_orders, possible = min(
            orders[block], key=lambda known_of_possible: known_of_possible[0] / known_of_possible[1]
        )
        method = max(methods[block], key=_BY_STRENGTH.index)
        minimum, maximum = sum(map(min, ranges)), sum(map(max, ranges))
        parts.append(
            CauseEffect(_as_causes(block), effect, minimum, maximum, method, known_orders, possible)
        )
    return parts


def _method(block: Coalition, split: ShapleySplit, measured: bool) -> Method:
    """How the effect of a block of causes was determined."""
    if len(block) > 1:
        return "joint"
    if len(split.shares) == 1:
        return "alone"
    return "measured" if measured else "read again"


def _as_causes(block: Coalition) -> frozenset[Cause]:
    return frozenset(block)  # type: ignore[arg-type]
