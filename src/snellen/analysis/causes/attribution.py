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
from typing import Literal, NamedTuple, TypeVar

from snellen.analysis.causes.factors import REPLY_CAUSES, SWITCHABLE, Cause, Differences, RunRecords
from snellen.analysis.causes.sample_changes import SampleChange, sample_change
from snellen.core.arrays import Floats, np
from snellen.stats.shapley import Coalition, ShapleySplit, shapley_split

Method = Literal["alone", "read again", "measured", "together"]
"""How an effect was determined: nothing else differs; recorded replies were parsed again; a further
run switches some of the causes; not at all, since the causes only differ jointly."""
_BY_STRENGTH: tuple[Method, ...] = ("alone", "read again", "measured", "together")
_RESCORABLE: frozenset[Cause] = frozenset({"data", "extraction", "scoring"})
"""Causes that can be switched on recorded replies."""

T = TypeVar("T", bound=str)
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

    `minimum` and `maximum` are the least and the greatest mean effect over all orders, of which
    `orders` of `possible` are known; for a single cause they cover all samples that it may have
    moved, also those where it is part of several causes that are not separable.
    """

    causes: frozenset[Cause]
    values: Floats
    minimum: float
    maximum: float
    method: Method
    orders: int
    possible: int


class EffectRange(NamedTuple):
    """The least and the greatest mean effect of a cause over all orders of switching, in -1..1."""

    minimum: float
    maximum: float


class Attribution(NamedTuple):
    """Effects of the causes."""

    effects: list[CauseEffect]
    changes: dict[str, SampleChange]
    """Of the samples that the two runs score differently."""
    ranges: dict[Cause, EffectRange]
    """Of each cause that may have moved a sample."""


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
        change = sample_change(first, second, run_differences, first.records[name], second.records[name])
        if moved:
            changes[name] = change
        sample = _sample_scores(pair, name, index, change)
        if sample.causes:
            kinds[sample.causes, frozenset(sample.scores)].append(sample)
    cells = [_Cells(samples) for samples in kinds.values()]
    causes = frozenset[str]().union(*(each.causes for each in cells))
    ranges = {cause: _effect_range(cells, frozenset({cause}), len(shared_ids)) for cause in _as_causes(causes)}
    return Attribution(_sum_effects(cells, ranges, len(shared_ids)), changes, ranges)


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
        scoring_causes = (scoring_causes | (pair.run_differences.causes - REPLY_CAUSES)) - reply_causes
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
        scores = {**_rescore_combinations(pair, name, reply_causes, scoring_causes, runs), **scores}
    # The scores of the two runs themselves replace those of a further run that has the same causes
    # switched for this sample.
    scores[causes], scores[frozenset()] = after, before
    return _SampleScores(index, causes, scores, measured)


def _rescore_combinations(
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


def _subsets(causes: Sequence[T]) -> Iterator[frozenset[T]]:
    sizes = range(len(causes) + 1)
    return map(frozenset, chain.from_iterable(combinations(causes, size) for size in sizes))


class _Cells:
    """The known scores of samples that the same causes may have moved, by the causes switched."""

    def __init__(self, samples: Sequence[_SampleScores]) -> None:
        self.rows = [sample.sample_index for sample in samples]
        self.causes = samples[0].causes
        self.measured = any(sample.measured for sample in samples)
        self.scores = {key: np.array([sample.scores[key] for sample in samples]) for key in samples[0].scores}
        self._sums: dict[tuple[Coalition, Coalition], tuple[float, float]] = {}

    def summed_bounds(self, before: Coalition, switched: Coalition) -> tuple[float, float]:
        """The least and the greatest sum over the samples by which scores change if `switched` are
        switched after `before`."""
        key = before & self.causes, switched & self.causes
        if key not in self._sums:
            self._sums[key] = self._bounds(key[0], key[0] | key[1])
        return self._sums[key]

    def _bounds(self, before: Coalition, after: Coalition) -> tuple[float, float]:
        low, high = self._score_bounds(before), self._score_bounds(after)
        least, most = high[0] - low[1], high[1] - low[0]
        if not {before, after} <= self.scores.keys():
            # On a sample whose known scores all lie between those of the two runs, no cause is
            # taken to work against another.
            start, end = self.scores[frozenset()], self.scores[self.causes]
            known = np.stack(list(self.scores.values()))
            inside = (known >= np.minimum(start, end)).all(0) & (known <= np.maximum(start, end)).all(0)
            least = np.where(inside & (end >= start), np.maximum(least, 0.0), least)
            most = np.where(inside & (end <= start), np.minimum(most, 0.0), most)
        return float(least.sum()), float(most.sum())

    def _score_bounds(self, switched: Coalition) -> tuple[Floats, Floats]:
        """The score of each sample with these causes switched: known, or between those of the known
        combinations that contain it or that it contains."""
        if switched in self.scores:
            return self.scores[switched], self.scores[switched]
        near = [v for known, v in self.scores.items() if known < switched or known > switched]
        return np.min(near, axis=0), np.max(near, axis=0)


def _effect_range(kinds: Sequence[_Cells], switched: Coalition, n: int) -> EffectRange:
    """The mean effect of switching these causes over n samples, after whichever others."""
    moved = [cells for cells in kinds if cells.causes & switched]
    others = sorted(frozenset[str]().union(*(cells.causes for cells in moved)) - switched)
    sums = [[cells.summed_bounds(before, switched) for cells in moved] for before in _subsets(others)]
    return EffectRange(
        min(sum(low for low, _ in each) for each in sums) / n, max(sum(high for _, high in each) for each in sums) / n
    )


def _sum_effects(kinds: Sequence[_Cells], ranges: Mapping[Cause, EffectRange], n: int) -> list[CauseEffect]:
    """The splits of all kinds of samples, summed over the n samples of the two runs."""
    # A block is a set of causes that no known order separates, usually a single cause.
    values: dict[Coalition, Floats] = {}
    methods: dict[Coalition, list[Method]] = defaultdict(list)
    orders: dict[Coalition, list[tuple[int, int]]] = defaultdict(list)
    joint: dict[Coalition, list[_Cells]] = defaultdict(list)
    for cells in kinds:
        split = shapley_split(cells.scores)
        for block, shares in split.shares.items():
            values.setdefault(block, np.zeros(n))[cells.rows] += shares
            methods[block].append(_method(block, split, cells.measured))
            orders[block].append((len(split.moves), split.possible_orders))
            joint[block].append(cells)
    parts = []
    for block, effect in values.items():
        known_orders, possible = min(orders[block], key=lambda known: known[0] / known[1])
        causes = _as_causes(block)
        extent = ranges[next(iter(causes))] if len(causes) == 1 else _effect_range(joint[block], block, n)
        method = max(methods[block], key=_BY_STRENGTH.index)
        parts.append(CauseEffect(causes, effect, *extent, method, known_orders, possible))
    return parts


def _method(block: Coalition, split: ShapleySplit, measured: bool) -> Method:
    """How the effect of a block of causes was determined."""
    if len(block) > 1:
        return "together"
    if len(split.shares) == 1:
        return "alone"
    return "measured" if measured else "read again"


def _as_causes(block: Coalition) -> frozenset[Cause]:
    return frozenset(block)  # type: ignore[arg-type]
