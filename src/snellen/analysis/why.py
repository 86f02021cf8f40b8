"""Why two runs differ: the difference of their means split by cause, so that the parts sum to it.

The rule. A run's score is the mean over the samples it scored, so the way from the first mean to
the second goes (1) from the first run's samples to those both scored, (2) on these from the first
run's scores to the second's, (3) to the second run's samples. Steps 1 and 3 are taken reason by
reason: samples that only one run has, or has without gold (data), then those that failed, are
missing or could not be asked (failures), then those no judge graded (judge); each reason gets what
the mean moves by. In step 2 every sample whose score differs goes to one cause, found at the pass
that decided (`snellen.analysis.stages`), with its share of the difference. Nothing is left over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from msgspec import Struct

from snellen.analysis.aligned import numbered
from snellen.analysis.data_marks import data_notices
from snellen.analysis.examples import Example, example
from snellen.analysis.groups import in_points
from snellen.analysis.stages import CAUSES, Cause, Finding, Side, finding
from snellen.core.errors import UsageError
from snellen.core.record import Unscored
from snellen.core.summary import Interval
from snellen.scoring.accuracy import FailurePolicy, counted_score
from snellen.stats.paired import paired_mean

if TYPE_CHECKING:
    from numpy import int64
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
_ORDER: tuple[Cause, ...] = ("data", "failures", "judge")


class Share(Struct, frozen=True):
    """A cause's part of the difference, in points of 100."""

    cause: Cause
    points: float
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


class Why(Struct, frozen=True):
    """The second run less the first: `difference` is the sum of the shares' points."""

    benchmark: str
    first: str
    second: str
    first_score: float
    second_score: float
    difference: float
    interval: Interval | None
    """Of the difference, as far as aligned samples make it."""
    aligned: int
    shares: tuple[Share, ...]
    settings: tuple[Setting, ...]
    notices: tuple[str, ...] = ()


def why(first: Side, second: Side, *, examples: int = 2, level: float = 0.95) -> Why:
    """Split the difference of two runs of one benchmark.

    Raises UsageError where the runs share no scored sample.
    """
    scores = _counted(first), _counted(second)
    both = [name for name in scores[0] if name in scores[1]]
    if not both or not _alike(first, second, both):
        raise UsageError(
            f"{first.name} and {second.name} share no sample that both scored; give two runs of "
            "the same benchmark"
        )
    found = {
        name: finding(first, second, first.records[name], second.records[name])
        for name in both
        if scores[0][name] != scores[1][name]
    }
    moved = _moves(scores, (first, second), set(both))
    shares = [
        _share(cause, moved[cause], both, found, scores, (first, second), examples, level)
        for cause in CAUSES
    ]
    means = [100 * _mean(one.values()) for one in scores]
    apart = sum(move.points for move in moved.values())
    return Why(
        benchmark=first.benchmark,
        first=first.name,
        second=second.name,
        first_score=means[0],
        second_score=means[1],
        difference=means[1] - means[0],
        interval=_shifted(_overall(first, both, scores, level), apart),
        aligned=len(both),
        shares=tuple(one for one in shares if one.gained or one.lost or one.apart),
        settings=tuple(settings(first, second)),
        notices=tuple(_notices(first, second)),
    )


def _alike(first: Side, second: Side, both: Sequence[str]) -> bool:
    """Whether two benchmarks ask anything that is the same: equal ids alone say little."""
    return first.benchmark == second.benchmark or any(
        first.records[name].question == second.records[name].question for name in both
    )


def _overall(
    first: Side,
    both: Sequence[str],
    scores: tuple[dict[str, float], dict[str, float]],
    level: float,
) -> Interval | None:
    """Of the difference over the samples both scored."""
    import numpy as np

    differences = np.array([scores[1][name] - scores[0][name] for name in both])
    numbers = _clusters(first, both)
    return in_points(paired_mean(differences, numbers, level).interval)


def _counted(side: Side) -> dict[str, float]:
    policy: FailurePolicy = "count-wrong" if side.failures == "count-wrong" else "exclude"
    counted = ((name, counted_score(one, policy)) for name, one in side.records.items())
    return {name: score for name, score in counted if score is not None}


class _Move:
    """What samples that only one run scored do to the difference."""

    def __init__(self) -> None:
        self.points = 0.0
        self.ids: list[str] = []


def _moves(
    scores: tuple[dict[str, float], dict[str, float]],
    sides: tuple[Side, Side],
    both: set[str],
) -> dict[Cause, _Move]:
    """Steps 1 and 3: a mean without the samples the other run did not score, reason by reason."""
    moved: dict[Cause, _Move] = defaultdict(_Move)
    for mine, other, sign in ((0, 1, 1.0), (1, 0, -1.0)):
        left = dict(scores[mine])
        apart: dict[Cause, list[str]] = defaultdict(list)
        for name in left.keys() - both:
            theirs = sides[other].records.get(name)
            apart[_REASONS[theirs.unscored if theirs else None]].append(name)
        for cause in _ORDER:
            if not apart[cause]:
                continue
            before = _mean(left.values())
            for name in apart[cause]:
                del left[name]
            moved[cause].points += sign * 100 * (_mean(left.values()) - before)
            moved[cause].ids += sorted(apart[cause])
    return moved


def _share(
    cause: Cause,
    move: _Move,
    both: Sequence[str],
    found: Mapping[str, Finding],
    scores: tuple[dict[str, float], dict[str, float]],
    sides: tuple[Side, Side],
    examples: int,
    level: float,
) -> Share:
    import numpy as np

    mine = [name for name, one in found.items() if one.cause == cause]
    here = set(mine)
    differences = np.array(
        [scores[1][name] - scores[0][name] if name in here else 0.0 for name in both]
    )
    numbers = _clusters(sides[0], both)
    mean = paired_mean(differences, numbers, level)
    gained = [name for name in mine if scores[1][name] > scores[0][name]]
    lost = [name for name in mine if scores[1][name] < scores[0][name]]
    shown = _alternating(lost, gained, examples) or move.ids[:examples]
    return Share(
        cause,
        100 * mean.mean + move.points,
        _shifted(in_points(mean.interval), move.points) if mine else None,
        len(gained),
        len(lost),
        len(move.ids),
        tuple(example(name, found.get(name), scores, sides) for name in shown),
    )


def _alternating(lost: Sequence[str], gained: Sequence[str], most: int) -> list[str]:
    """Some of both, in turn."""
    turns = zip_longest(lost, gained)
    return [name for turn in turns for name in turn if name is not None][:most]


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
        "limit": "–" if config.limit is None else str(config.limit),
        "failures": info.failures,
        **{role: f"{one.provider}/{one.name}" for role, one in sorted(config.roles.items())},
        **{f"version of {name}": value for name, value in sorted(info.versions.items())},
    }


def _notices(first: Side, second: Side) -> Iterable[str]:
    if first.benchmark != second.benchmark:
        yield f"two benchmarks: {first.benchmark} and {second.benchmark}"
    infos = [side.info for side in (first, second) if side.info is not None]
    yield from data_notices(infos, [side.name for side in (first, second) if side.info is not None])
    for side in (first, second):
        if side.info is None:
            yield (
                f"{side.name} holds replies alone: what was asked, shown and set is unknown, so it "
                "counts to the model"
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
