"""Why two runs differ: the difference of their means split by cause, so that the parts sum to it.

A run's score is the mean over the samples it scored, so the way from the first mean to the second
goes (1) from the first run's samples to those both scored, (2) on these from the first run's scores
to the second's, (3) to the second run's samples. Steps 1 and 3 are split by reason: samples that
only one run has, or has without gold (data), those that failed, are missing or are unsupported
(failures), and those no judge graded (judge). In step 2 every sample whose score differs is
assigned to what differs about it (`snellen.analysis.causes.sample_changes`): to a single cause, or
to several by what is known of their combinations (`snellen.analysis.causes.attribution`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, zip_longest
from typing import NamedTuple, cast

from msgspec import Struct, structs

from snellen.analysis.causes.attribution import CauseEffect, CrossedRun, Method, Rescore, attribute_causes
from snellen.analysis.causes.differing_samples import DifferingSample, differing_sample
from snellen.analysis.causes.factors import (
    CAUSES,
    REPLY_CAUSES,
    Cause,
    Differences,
    RunRecords,
    crossable_causes,
    find_differences,
    sampling_of,
    switched_causes,
)
from snellen.analysis.causes.sample_changes import SampleChange
from snellen.analysis.comparison.alignment import cluster_numbers
from snellen.analysis.comparison.comparability import data_notices, served_notices
from snellen.analysis.comparison.groups import in_points
from snellen.analysis.comparison.stopped_early import interval_at_stop, stop_notices
from snellen.core.arrays import Floats, Ints, np
from snellen.core.errors import UsageError
from snellen.core.record import Unscored
from snellen.core.served_identity import ServedIdentity
from snellen.core.summary import FailurePolicy, Interval
from snellen.scoring.accuracy import counted_score
from snellen.stats.paired import paired_mean
from snellen.stats.shapley import Coalition, shapley_split

_REASONS: Mapping[Unscored | None, Cause] = {
    None: "data",
    "no_gold": "data",
    "failed": "failures",
    "missing": "failures",
    "unsupported": "failures",
    "ungraded": "judge",
}
"""The cause of a sample that one run scored and the other did not, by why the other did not; None:
the other run does not have it."""


_MAX_EXHAUSTIVE = 3
"""Up to this many causes of the reply every combination is requested."""


class CauseContribution(Struct, frozen=True):
    """Points of 100 that are attributed to one cause, or to several that cannot be separated."""

    causes: tuple[Cause, ...]
    points: float
    least: float
    """The smallest effect over all orders of switching. Where an order is not known, no cause is
    taken to work against another on the same sample. The range of a single cause holds its effect
    on all samples, also on those whose causes cannot be separated."""
    most: float
    method: Method
    orders: int
    """Orders of switching that are known."""
    possible: int
    interval: Interval | None
    """Of the points from aligned samples; None if there are none."""
    gained: int
    """Samples that score higher in the second run for this cause."""
    lost: int
    apart: int
    """Samples that only one run scored."""
    examples: tuple[DifferingSample, ...]


class ChangedSetting(Struct, frozen=True):
    """A setting in which the runs differ."""

    name: str
    first: str
    second: str


class ObservedDifference(Struct, frozen=True):
    """The second run minus the first, in points of 100, whatever the cause."""

    difference: float
    interval: Interval | None
    """From the aligned samples."""
    p: float | None
    """For no difference on the aligned samples; None with too few clusters."""
    aligned: int
    """Samples that both runs scored."""
    clusters: int
    """Clusters of these samples."""
    test: str
    """The test that p is of."""
    reason: str
    """Why there is no p or no interval, if one is missing."""
    anytime: Interval | None = None
    """Interval of the difference that stays valid if a stop rule ended one of the runs early; None
    otherwise."""


class CauseRange(Struct, frozen=True):
    """Between which points the effect of a cause lies, as `least` and `most` of a contribution."""

    cause: Cause
    least: float
    most: float


class FurtherRun(Struct, frozen=True):
    """A further run that separates causes."""

    name: str
    switched: tuple[Cause, ...]
    """The causes in which it equals the second run; in the others it equals the first."""


class DifferenceSplit(Struct, frozen=True):
    """The observed difference and its split: the points of the shares sum to it."""

    benchmark: str
    first: str
    second: str
    first_score: float
    second_score: float
    observed: ObservedDifference
    shares: tuple[CauseContribution, ...]
    between: tuple[FurtherRun, ...]
    settings: tuple[ChangedSetting, ...]
    ranges: tuple[CauseRange, ...] = ()
    """Of every cause that may have moved a sample that both runs scored."""
    crossable: tuple[Cause, ...] = ()
    """Causes that differ and that further runs can tell apart."""
    notices: tuple[str, ...] = ()


def why(
    first: RunRecords,
    second: RunRecords,
    *,
    others: Sequence[RunRecords] = (),
    rescore: Rescore | None = None,
    examples: int = 2,
    level: float = 0.95,
) -> DifferenceSplit:
    """Split the difference of two runs of one benchmark. `others` are runs that may separate
    causes: those that equal one of the two in everything that differs.

    Raises UsageError if the runs share no scored sample.
    """
    scores = counted_scores(first), counted_scores(second)
    shared_ids = [name for name in scores[0] if name in scores[1]]
    if not shared_ids or not _ask_the_same(first, second, shared_ids):
        raise UsageError(
            f"{first.name} and {second.name} share no sample that both scored; give two runs of the same benchmark"
        )
    run_differences = find_differences(first, second)
    crossed = [run for side in others if (run := crossed_run(side, first, second, run_differences)) is not None]
    attribution = attribute_causes(first, second, run_differences, shared_ids, scores, crossed, rescore)
    clusters = np.asarray(cluster_numbers(first.info, [first.records[name] for name in shared_ids]))
    unshared = _unshared_effects(scores, (first, second), set(shared_ids))
    context = _SplitContext(shared_ids, scores, (first, second), clusters, attribution.changes, examples, level)
    causes = [effect.causes for effect in attribution.effects]
    causes += [single for cause in unshared if (single := frozenset({cause})) not in causes]
    parts = {effect.causes: effect for effect in attribution.effects}
    ordered = sorted(causes, key=lambda causes: sorted(map(CAUSES.index, causes)))
    shares = [_contribution(context, key, parts.get(key), unshared) for key in ordered]
    means = [100 * _mean(by_id.values()) for by_id in scores]
    unshared_points = sum(move.points for move in unshared.values())
    return DifferenceSplit(
        benchmark=first.benchmark,
        first=first.name,
        second=second.name,
        first_score=means[0],
        second_score=means[1],
        observed=_observed_difference(context, means[1] - means[0], unshared_points),
        shares=tuple(share for share in shares if _is_informative(share)),
        between=tuple(FurtherRun(run.run.name, _in_order(run.switched)) for run in crossed),
        settings=tuple(changed_settings(first, second)),
        ranges=tuple(
            CauseRange(cause, *(100 * bound for bound in attribution.ranges[cause]))
            for cause in CAUSES
            if cause in attribution.ranges
        ),
        crossable=crossable_causes(first, second, run_differences),
        notices=tuple(_notices(first, second)),
    )


def crossed_run(
    third: RunRecords, first: RunRecords, second: RunRecords, run_differences: Differences
) -> CrossedRun | None:
    """A further run that separates causes of these two; None if it equals one of them in all that
    differs, or neither in something."""
    if None in (third.info, first.info, second.info) or third.benchmark != first.benchmark:
        return None
    try:
        switched = switched_causes(third, first, second, run_differences.causes)
    except ValueError:
        return None
    if not frozenset() < switched < run_differences.causes:
        return None
    return CrossedRun(third, switched, counted_scores(third))


def open_combinations(split: DifferenceSplit) -> list[frozenset[Cause]]:
    """The further runs that would separate causes, by the causes in which each equals the second
    run: every combination of up to `_MAX_EXHAUSTIVE` causes of the reply. For more causes, those of
    one order and of its reverse, so that either direction has the same. Each with either extractor
    and judge, where those differ, which takes no further reply. Empty if fewer than two causes are
    open, or if all of these runs are known."""
    causes = {
        cause
        for share in split.shares
        if share.method == "together" or (share.method == "measured" and share.orders < share.possible)
        for cause in share.causes
    }
    open_causes = [cause for cause in split.crossable if cause in causes]
    if len(open_causes) < 2:
        return []
    asked = [cause for cause in open_causes if cause in REPLY_CAUSES]
    read = [cause for cause in open_causes if cause not in REPLY_CAUSES]
    sizes = range(len(asked) + 1)
    if len(asked) <= _MAX_EXHAUSTIVE:
        replies = [frozenset(some) for size in sizes for some in combinations(asked, size)]
    else:
        replies = [frozenset(asked[:size]) for size in sizes]
        replies += [frozenset(asked[size:]) for size in sizes[1:-1]]
    readings = [frozenset(some) for size in range(len(read) + 1) for some in combinations(read, size)]
    known = {frozenset(run.switched) & frozenset(open_causes) for run in split.between}
    known |= {frozenset(), frozenset(open_causes)}
    # The same replies with either reader follow each other: the first run asks for them.
    return [reply | reading for reply in replies for reading in readings if reply | reading not in known]


def _ask_the_same(first: RunRecords, second: RunRecords, shared_ids: Sequence[str]) -> bool:
    """Whether two benchmarks share any question: equal ids alone say little."""
    return first.benchmark == second.benchmark or any(
        first.records[name].question == second.records[name].question for name in shared_ids
    )


def counted_scores(run: RunRecords) -> dict[str, float]:
    """The scores that a run's samples count with, by id."""
    policy = cast(FailurePolicy, run.failures)
    scores = ((name, counted_score(record, policy)) for name, record in run.records.items())
    return {name: score for name, score in scores if score is not None}


def _is_informative(contribution: CauseContribution) -> bool:
    """Whether a contribution moved something, was measured to move nothing, or may hide two that
    cancel out."""
    return bool(contribution.gained or contribution.lost or contribution.apart) or contribution.method != "alone"


class _SplitContext(NamedTuple):
    """The data that every contribution is computed from."""

    shared_ids: Sequence[str]
    scores: tuple[dict[str, float], dict[str, float]]
    runs: tuple[RunRecords, RunRecords]
    clusters: Ints
    changes: Mapping[str, SampleChange]
    examples: int
    level: float


def _observed_difference(context: _SplitContext, difference: float, unshared_points: float) -> ObservedDifference:
    """The difference of the two means with the interval and p of the aligned samples."""
    first, second = context.scores
    differences = np.array([second[name] - first[name] for name in context.shared_ids])
    mean = paired_mean(differences, context.clusters, context.level)
    interval = _shift_interval(in_points(mean.interval), unshared_points)
    infos = [side.info for side in context.runs]
    stop = interval_at_stop(infos, differences, context.clusters, context.level)
    return ObservedDifference(
        difference,
        interval,
        mean.p,
        len(context.shared_ids),
        mean.clusters,
        mean.test,
        mean.reason,
        _shift_interval(stop, unshared_points),
    )


def _in_order(causes: frozenset[Cause]) -> tuple[Cause, ...]:
    return tuple(cause for cause in CAUSES if cause in causes)


class _UnsharedEffect:
    """The effect of samples that only one run scored on the difference, in points."""

    def __init__(self) -> None:
        self.points = self.minimum = self.maximum = 0.0
        self.orders = 1
        self.ids: list[str] = []


def _unshared_effects(
    scores: tuple[dict[str, float], dict[str, float]], runs: tuple[RunRecords, RunRecords], shared_ids: set[str]
) -> dict[Cause, _UnsharedEffect]:
    """Steps 1 and 3: the change of a mean when the samples that the other run did not score are
    removed, by the reason why it did not; for several reasons over the orders of their removal."""
    effects: dict[Cause, _UnsharedEffect] = defaultdict(_UnsharedEffect)
    # Removing samples of the first run leads towards the shared samples (+), removing samples of
    # the second leads back from its mean to them (-).
    for own, other, sign in ((0, 1, 1.0), (1, 0, -1.0)):
        reasons: dict[str, Cause] = {}
        for name in scores[own].keys() - shared_ids:
            record = runs[other].records.get(name)
            reasons[name] = _REASONS[record.unscored if record else None]
        causes = sorted(set(reasons.values()))
        if not causes:
            continue
        # The mean after removing the samples of each set of causes: what removing one more cause
        # changes depends on the order, so it is averaged over orders like any other attribution.
        means: dict[Coalition, Floats] = {
            removed: np.array([_mean(score for name, score in scores[own].items() if reasons.get(name) not in removed)])
            for size in range(len(causes) + 1)
            for removed in map(frozenset, combinations(causes, size))
        }
        split = shapley_split(means)
        for cause in causes:
            moves = [sign * 100 * move[frozenset({cause})] for move in split.moves.values()]
            effect = effects[cause]
            effect.points += sum(moves) / len(moves)
            effect.minimum += min(moves)
            effect.maximum += max(moves)
            effect.orders = max(effect.orders, len(moves))
            effect.ids += sorted(name for name, reason in reasons.items() if reason == cause)
    return effects


def _contribution(
    context: _SplitContext,
    causes: frozenset[Cause],
    effect: CauseEffect | None,
    unshared: Mapping[Cause, _UnsharedEffect],
) -> CauseContribution:
    """An effect on the samples both runs scored, plus that of samples of one run only."""
    alone = next((unshared[cause] for cause in causes if len(causes) == 1 and cause in unshared), _UnsharedEffect())
    examples = (differing_sample(name, "", 0, context.scores, context.runs) for name in alone.ids)
    unshared_part = CauseContribution(
        causes=_in_order(causes),
        points=alone.points,
        least=alone.minimum,
        most=alone.maximum,
        method="alone",
        orders=alone.orders,
        possible=alone.orders,
        interval=None,
        gained=0,
        lost=0,
        apart=len(alone.ids),
        examples=tuple(islice(examples, context.examples)),
    )
    if effect is None:
        return unshared_part
    mean = paired_mean(effect.values, context.clusters, context.level)
    gained, lost = _gained_and_lost(context, effect.values)
    return structs.replace(
        unshared_part,
        points=100 * mean.mean + alone.points,
        least=100 * effect.minimum + alone.minimum,
        most=100 * effect.maximum + alone.maximum,
        method=effect.method,
        orders=effect.orders,
        possible=effect.possible,
        interval=_shift_interval(in_points(mean.interval), alone.points),
        gained=len(gained),
        lost=len(lost),
        examples=tuple(_examples(context, causes, _alternate(lost, gained), alone)),
    )


def _gained_and_lost(context: _SplitContext, values: Floats) -> tuple[list[str], list[str]]:
    """Samples that an effect moves up, and those that it moves down."""
    pairs = list(zip(context.shared_ids, values.tolist(), strict=True))
    return [name for name, by in pairs if by > 0], [name for name, by in pairs if by < 0]


def _examples(
    context: _SplitContext, causes: frozenset[Cause], names: Sequence[str], unshared_effect: _UnsharedEffect
) -> Iterator[DifferingSample]:
    """Samples that the two runs score differently for these causes; else those of one run."""
    both_scored = [name for name in names if name in context.changes][: context.examples]
    for name in both_scored or unshared_effect.ids[: context.examples]:
        change = context.changes.get(name)
        details = change.details if change is not None else {}
        detail = "; ".join(dict.fromkeys(details[cause] for cause in _in_order(causes) if cause in details))
        pass_index = change.pass_index if change is not None else 0
        yield differing_sample(name, detail, pass_index, context.scores, context.runs)


def _alternate(lost: Sequence[str], gained: Sequence[str]) -> list[str]:
    """Items of both lists, alternating."""
    turns = zip_longest(lost, gained)
    return [name for turn in turns for name in turn if name is not None]


def changed_settings(first: RunRecords, second: RunRecords) -> list[ChangedSetting]:
    """Settings of the runs that differ; a file of predictions has none."""
    if first.info is None or second.info is None:
        return []
    by_run = [_settings_of(side) for side in (first, second)]
    packages = [_environment_of(side) for side in (first, second)]
    if all(packages):
        by_run = [{**own, **more} for own, more in zip(by_run, packages, strict=True)]
    names = dict.fromkeys([*by_run[0], *by_run[1]])
    return [
        ChangedSetting(name, by_run[0].get(name, "–"), by_run[1].get(name, "–"))
        for name in names
        if by_run[0].get(name) != by_run[1].get(name)
    ]


def _settings_of(run: RunRecords) -> dict[str, str]:
    """All settings of a run by their displayed names."""
    info = run.info
    assert info is not None
    config = info.config
    identity = config.identity
    return {
        "data": info.data.digest[:16],
        "benchmark version": config.version,
        "model": f"{identity.provider}/{identity.name}",
        **{f"model {name}": value for name, value in sorted(identity.facts.items())},
        **dict(sorted(config.parameters.items())),
        "max_new_tokens": str(config.max_new_tokens),
        "extend_truncated": str(config.extend_truncated or "–"),
        "repeats": str(config.repeats),
        **{f"asked with {name}": value for name, value in sampling_of(config).items()},
        "limit": "–" if config.limit is None else str(config.limit),
        "failures": info.failures,
        "asked again": config.fresh or "–",
        **{role: f"{identity.provider}/{identity.name}" for role, identity in sorted(config.roles.items())},
        **{f"version of {name}": value for name, value in sorted(info.versions.items())},
    }


def _environment_of(run: RunRecords) -> dict[str, str]:
    """The versions in the environment that Snellen made for the model's server; empty without."""
    starts = run.info.served.get("model", ()) if run.info is not None else ()
    latest = starts[-1] if starts else ServedIdentity()
    return {f"server's version of {name}": version for name, version in latest.packages.items()}


def _notices(first: RunRecords, second: RunRecords) -> Iterable[str]:
    if first.benchmark != second.benchmark:
        yield f"two benchmarks: {first.benchmark} and {second.benchmark}"
    infos = [side.info for side in (first, second) if side.info is not None]
    names = [side.name for side in (first, second) if side.info is not None]
    yield from data_notices(infos, names)
    yield from served_notices(infos, names)
    yield from stop_notices(infos)
    for side in (first, second):
        if side.info is None:
            yield (
                f"{side.name} holds replies alone: their prompts, media and settings are unknown "
                "and cannot be separated from the model"
            )
        elif side.info.status in ("running", "interrupted"):
            yield f"{side.name} is not finished"


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every) if every else 0.0


def _shift_interval(interval: Interval | None, by: float) -> Interval | None:
    """Shift an interval by a fixed number of points, clipped to -100..100."""
    if interval is None:
        return None
    low, high = max(-100.0, interval.low + by), min(100.0, interval.high + by)
    return Interval(low, high, interval.method, interval.level)
