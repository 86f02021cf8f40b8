"""Why two runs differ: the difference of their means split by cause, so that the parts sum to it.

The rule. A run's score is the mean over the samples it scored, so the way from the first mean to
the second goes (1) from the first run's samples to those both scored, (2) on these from the first
run's scores to the second's, (3) to the second run's samples. Steps 1 and 3 go by reason: samples
that only one run has, or has without gold (data), those that failed, are missing or could not be
asked (failures), and those no judge graded (judge). In step 2 every sample whose score differs goes
to what differs about it (`snellen.analysis.causes.stages`): to one cause where there is one, else
to its causes by what is known of their combinations (`snellen.analysis.causes.attribution`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from snellen.analysis.causes.attribution import Crossed, Method, Part, ReadAgain, attribute
from snellen.analysis.causes.differing_samples import Example, example
from snellen.analysis.causes.factors import (
    CAUSES,
    CROSSED,
    Cause,
    Differences,
    Side,
    differences,
    sampling_of,
    side_of,
)
from snellen.analysis.causes.stages import Change
from snellen.analysis.comparison.aligned import numbered
from snellen.analysis.comparison.data_differences import data_notices
from snellen.analysis.comparison.groups import in_points
from snellen.analysis.comparison.served_models import served_notices
from snellen.analysis.comparison.stopped_early import interval_at_stop, stop_notices
from snellen.core.errors import UsageError
from snellen.core.record import Unscored
from snellen.core.summary import Interval
from snellen.scoring.accuracy import FailurePolicy, counted_score
from snellen.stats.paired import paired_mean
from snellen.stats.shapley import Coalition, shapley_split

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

_REASONS: Mapping[Unscored | None, Cause] = {
    None: "data",
    "no_gold": "data",
    "failed": "failures",
    "missing": "failures",
    "unsupported": "failures",
    "ungraded": "judge",
}
"""Which cause a sample falls to that one run scored and the other did not; None: has it not."""


_ALL_UP_TO = 3
"""Causes of which every combination is asked."""


class Share(Struct, frozen=True):
    """Points of 100 that are attributed to one cause, or to several that cannot be told apart."""

    causes: tuple[Cause, ...]
    points: float
    least: float
    """What the causes move at least over the known orders of switching; of several causes that
    cannot be told apart, each moves between 0 and `points` if none works against another."""
    most: float
    method: Method
    orders: int
    """Orders of switching that are known."""
    possible: int
    interval: Interval | None
    """Of the points, as far as aligned samples make them; None where they make none."""
    gained: int
    """Samples that score higher in the second run for this cause."""
    lost: int
    apart: int
    """Samples that only one run scored."""
    examples: tuple[Example, ...]


class Setting(Struct, frozen=True):
    """Something the runs were made with, where it differs."""

    name: str
    first: str
    second: str


class Observed(Struct, frozen=True):
    """The second run less the first, in points of 100, whatever the cause."""

    difference: float
    interval: Interval | None
    """As far as aligned samples make it."""
    p: float | None
    """Of no difference on the aligned samples; None with too few clusters to tell."""
    aligned: int
    """Samples that both runs scored."""
    clusters: int
    """Of these samples; what belongs together is one."""
    reason: str
    """Why there is no p or no interval, where one lacks."""
    anytime: Interval | None = None
    """Of the difference, valid where a rule ended one of the runs early; None where none did."""


class Between(Struct, frozen=True):
    """A further run that tells causes apart."""

    name: str
    switched: tuple[Cause, ...]
    """Those in which it is as the second run; in the others it is as the first."""


class Why(Struct, frozen=True):
    """What is observed, and what is attributed: the points of the shares sum to the difference."""

    benchmark: str
    first: str
    second: str
    first_score: float
    second_score: float
    observed: Observed
    shares: tuple[Share, ...]
    between: tuple[Between, ...]
    settings: tuple[Setting, ...]
    notices: tuple[str, ...] = ()


def why(
    first: Side,
    second: Side,
    *,
    others: Sequence[Side] = (),
    read_again: ReadAgain | None = None,
    examples: int = 2,
    level: float = 0.95,
) -> Why:
    """Split the difference of two runs of one benchmark. `others` are runs that may tell causes
    apart: those that are as one of the two in all that differs.

    Raises UsageError where the runs share no scored sample.
    """
    scores = counted(first), counted(second)
    both = [name for name in scores[0] if name in scores[1]]
    if not both or not _alike(first, second, both):
        raise UsageError(
            f"{first.name} and {second.name} share no sample that both scored; give two runs of "
            "the same benchmark"
        )
    differ = differences(first, second)
    crossed = [one for side in others if (one := between(side, first, second, differ)) is not None]
    found = attribute(first, second, differ, both, scores, crossed, read_again)
    clusters = _clusters(first, both)
    moved = _moves(scores, (first, second), set(both))
    told = _Told(both, scores, (first, second), clusters, found.changes, examples, level)
    causes = [one.causes for one in found.parts]
    causes += [single for one in moved if (single := frozenset({one})) not in causes]
    parts = {one.causes: one for one in found.parts}
    shares = [_share(told, one, parts.get(one), moved) for one in sorted(causes, key=_place)]
    means = [100 * _mean(one.values()) for one in scores]
    apart = sum(move.points for move in moved.values())
    return Why(
        benchmark=first.benchmark,
        first=first.name,
        second=second.name,
        first_score=means[0],
        second_score=means[1],
        observed=_observed(told, means[1] - means[0], apart),
        shares=tuple(one for one in shares if _tells(one)),
        between=tuple(Between(one.side.name, _listed(one.switched)) for one in crossed),
        settings=tuple(settings(first, second)),
        notices=tuple(_notices(first, second)),
    )


def between(side: Side, first: Side, second: Side, differ: Differences) -> Crossed | None:
    """A further run as what tells causes of these two apart; None where it is like one of them in
    all that differs, or like neither in something."""
    if None in (side.info, first.info, second.info) or side.benchmark != first.benchmark:
        return None
    try:
        switched = side_of(side, first, second, differ.causes)
    except ValueError:
        return None
    if not frozenset() < switched < differ.causes:
        return None
    return Crossed(side, switched, counted(side))


def open_combinations(found: Why) -> list[frozenset[Cause]]:
    """The further runs that would tell causes apart, by the causes in which each is as the second
    run: every combination of up to `_ALL_UP_TO` causes. Of more, those of one order and of its
    reverse, so that the way back has the same. None where fewer than two causes are open, or where
    all of these runs are known."""
    causes = {
        cause
        for one in found.shares
        if one.method == "joint" or (one.method == "measured" and one.orders < one.possible)
        for cause in one.causes
    }
    opened = [one for one in CROSSED if one in causes]
    sizes = range(1, len(opened))
    if len(opened) <= _ALL_UP_TO:
        wanted = [frozenset(some) for size in sizes for some in combinations(opened, size)]
    else:
        wanted = [frozenset(opened[:size]) for size in sizes]
        wanted += [frozenset(opened[size:]) for size in sizes]
    known = {frozenset(one.switched) & frozenset(opened) for one in found.between}
    return [one for one in wanted if one not in known]


def _alike(first: Side, second: Side, both: Sequence[str]) -> bool:
    """Whether two benchmarks ask anything that is the same: equal ids alone say little."""
    return first.benchmark == second.benchmark or any(
        first.records[name].question == second.records[name].question for name in both
    )


def counted(side: Side) -> dict[str, float]:
    """The scores that a run's samples count with, by id."""
    policy: FailurePolicy = "count-wrong" if side.failures == "count-wrong" else "exclude"
    found = ((name, counted_score(one, policy)) for name, one in side.records.items())
    return {name: score for name, score in found if score is not None}


def _tells(share: Share) -> bool:
    """Whether it moved something, was found to move nothing, or may hide two that cancel out."""
    return bool(share.gained or share.lost or share.apart) or share.method != "alone"


class _Told(NamedTuple):
    """What every share is made of."""

    both: Sequence[str]
    scores: tuple[dict[str, float], dict[str, float]]
    sides: tuple[Side, Side]
    clusters: NDArray[int64]
    changes: Mapping[str, Change]
    examples: int
    level: float


def _observed(told: _Told, difference: float, apart: float) -> Observed:
    import numpy as np

    first, second = told.scores
    differences = np.array([second[name] - first[name] for name in told.both])
    mean = paired_mean(differences, told.clusters, told.level)
    interval = _shifted(in_points(mean.interval), apart)
    infos = [side.info for side in told.sides]
    stop = interval_at_stop(infos, differences, told.clusters, told.level)
    return Observed(
        difference,
        interval,
        mean.p,
        len(told.both),
        mean.clusters,
        mean.reason,
        _shifted(stop, apart),
    )


def _place(causes: frozenset[Cause]) -> list[int]:
    return sorted(CAUSES.index(one) for one in causes)


def _listed(causes: frozenset[Cause]) -> tuple[Cause, ...]:
    return tuple(one for one in CAUSES if one in causes)


class _Move:
    """What samples that only one run scored do to the difference, in points."""

    def __init__(self) -> None:
        self.points = self.least = self.most = 0.0
        self.orders = 1
        self.ids: list[str] = []


def _moves(
    scores: tuple[dict[str, float], dict[str, float]],
    sides: tuple[Side, Side],
    both: set[str],
) -> dict[Cause, _Move]:
    """Steps 1 and 3: what a mean loses with the samples that the other run did not score, by the
    reason why it did not; of several reasons over the orders in which they are taken out."""
    import numpy as np

    moved: dict[Cause, _Move] = defaultdict(_Move)
    for mine, other, sign in ((0, 1, 1.0), (1, 0, -1.0)):
        reasons: dict[str, Cause] = {}
        for name in scores[mine].keys() - both:
            theirs = sides[other].records.get(name)
            reasons[name] = _REASONS[theirs.unscored if theirs else None]
        causes = sorted(set(reasons.values()))
        if not causes:
            continue
        means: dict[Coalition, NDArray[float64]] = {
            out: np.array([_mean(score for name, score in scores[mine].items()
                                 if reasons.get(name) not in out)])
            for size in range(len(causes) + 1)
            for out in map(frozenset, combinations(causes, size))
        }  # fmt: skip
        split = shapley_split(means)
        for cause in causes:
            by = [sign * 100 * one[frozenset({cause})] for one in split.moves.values()]
            move = moved[cause]
            move.points += sum(by) / len(by)
            move.least, move.most = move.least + min(by), move.most + max(by)
            move.orders = max(move.orders, len(by))
            move.ids += sorted(name for name, one in reasons.items() if one == cause)
    return moved


def _share(
    told: _Told,
    causes: frozenset[Cause],
    part: Part | None,
    moved: Mapping[Cause, _Move],
) -> Share:
    """A part of the samples both runs scored, with what samples of one run alone add to it."""
    move = next((moved[one] for one in causes if len(causes) == 1 and one in moved), _Move())
    if part is None:
        shown = tuple(example(name, "", 0, told.scores, told.sides) for name in move.ids)
        return Share(
            _listed(causes), move.points, move.least, move.most, "alone", move.orders, move.orders,
            None, 0, 0, len(move.ids), shown[: told.examples],
        )  # fmt: skip
    mean = paired_mean(part.values, told.clusters, told.level)
    gained, lost = _sides(told, part.values)
    return Share(
        causes=_listed(causes),
        points=100 * mean.mean + move.points,
        least=100 * part.least + move.least,
        most=100 * part.most + move.most,
        method=part.method,
        orders=part.orders,
        possible=part.possible,
        interval=_shifted(in_points(mean.interval), move.points),
        gained=len(gained),
        lost=len(lost),
        apart=len(move.ids),
        examples=tuple(_examples(told, causes, _alternating(lost, gained), move)),
    )


def _sides(told: _Told, values: NDArray[float64]) -> tuple[list[str], list[str]]:
    """Samples that a part moves up, and those that it moves down."""
    pairs = list(zip(told.both, values.tolist(), strict=True))
    return [name for name, by in pairs if by > 0], [name for name, by in pairs if by < 0]


def _examples(
    told: _Told, causes: frozenset[Cause], names: Sequence[str], move: _Move
) -> Iterator[Example]:
    """Samples that the two runs score differently, for these causes; else those of one run."""
    shown = [name for name in names if name in told.changes][: told.examples]
    for name in shown or move.ids[: told.examples]:
        change = told.changes.get(name)
        details = change.details if change is not None else {}
        detail = "; ".join(dict.fromkeys(details[one] for one in _listed(causes) if one in details))
        at = change.at if change is not None else 0
        yield example(name, detail, at, told.scores, told.sides)


def _alternating(lost: Sequence[str], gained: Sequence[str]) -> list[str]:
    """Some of both, in turn."""
    turns = zip_longest(lost, gained)
    return [name for turn in turns for name in turn if name is not None]


def settings(first: Side, second: Side) -> list[Setting]:
    """What the runs say of themselves, where it differs; a file of predictions says nothing."""
    if first.info is None or second.info is None:
        return []
    told = [_flat(side) for side in (first, second)]
    names = dict.fromkeys([*told[0], *told[1]])
    return [
        Setting(name, told[0].get(name, "–"), told[1].get(name, "–"))
        for name in names
        if told[0].get(name) != told[1].get(name)
    ]


def _flat(side: Side) -> dict[str, str]:
    info = side.info
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
        "repeats": str(config.repeats),
        **{f"asked with {name}": value for name, value in sampling_of(config).items()},
        "limit": "–" if config.limit is None else str(config.limit),
        "failures": info.failures,
        "asked anew": config.fresh or "–",
        **{role: f"{one.provider}/{one.name}" for role, one in sorted(config.roles.items())},
        **{f"version of {name}": value for name, value in sorted(info.versions.items())},
    }


def _notices(first: Side, second: Side) -> Iterable[str]:
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
                f"{side.name} holds replies alone: what was asked, shown and set is unknown, so it "
                "cannot be told from the model"
            )
        elif side.info.status in ("running", "interrupted"):
            yield f"{side.name} is not finished"


def _clusters(side: Side, names: Sequence[str]) -> NDArray[int64]:
    import numpy as np

    return np.asarray(numbered(side.info, [side.records[name] for name in names]))


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every) if every else 0.0


def _shifted(interval: Interval | None, by: float) -> Interval | None:
    """An interval about a number that samples of one run alone have moved, kept in -100..100."""
    if interval is None:
        return None
    low, high = max(-100.0, interval.low + by), min(100.0, interval.high + by)
    return Interval(low, high, interval.method, interval.level)
