"""Questions that count only together, and means of means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from snellen.core.record import Record
from snellen.core.summary import Bounds, Interval, Metric
from snellen.scoring.accuracy import FailurePolicy
from snellen.stats.stratified import mean_of_shares

_OWED = ("failed", "missing")


def all_right(records: Iterable[Record], unit: Callable[[Record], str]) -> dict[str, float]:
    """1 for each unit whose questions are all right, else 0 (MMVP's pairs, HallusionBench's
    figures and questions). A unit with a question that could not be scored is left out; questions
    without gold are no part of a unit."""
    found: dict[str, list[float | None]] = defaultdict(list)
    for record in records:
        if record.unscored != "no_gold":
            found[unit(record)].append(record.score)
    return {
        name: float(all(score == 1.0 for score in scores))
        for name, scores in found.items()
        if None not in scores
    }


def group_scores(records: Iterable[Record], column: str) -> dict[str, list[float]]:
    """Scores by the label of a grouping; records without score or label are left out."""
    found: dict[str, list[float]] = defaultdict(list)
    for record in records:
        if record.score is not None and column in record.groups:
            found[record.groups[column]].append(record.score)
    return dict(found)


def mean_of_means(groups: Mapping[str, Sequence[float]]) -> float | None:
    """Plain mean of the groups' means, whatever their sizes; None where there is no group."""
    means = [sum(scores) / len(scores) for scores in groups.values() if scores]
    return sum(means) / len(means) if means else None


def interval_of_mean(
    metrics: Sequence[Metric], weights: Sequence[float] | None = None
) -> Interval | None:
    """Of the mean of metrics in percent, each over samples of its own; `weights` as in
    `mean_of_shares`. None where one of them has no value or no interval."""
    values, intervals = [], []
    for metric in metrics:
        if metric.value is None or metric.interval is None:
            return None
        values.append(metric.value)
        intervals.append(metric.interval)
    return mean_of_shares(values, intervals, weights=weights, top=100.0) if values else None


def under(records: Sequence[Record], failures: FailurePolicy) -> Sequence[Record]:
    """The records as a policy sees them: with `count-wrong`, what failed is wrong."""
    return _assumed(records, 0.0) if failures == "count-wrong" else records


def bounds_of(
    records: Sequence[Record], value: Callable[[Sequence[Record]], float | None]
) -> Bounds | None:
    """`value` if every failed or missing sample were wrong, and if it were right; None where
    there are none."""
    if not any(record.unscored in _OWED for record in records):
        return None
    worst, best = value(_assumed(records, 0.0)), value(_assumed(records, 1.0))
    return None if worst is None or best is None else Bounds(worst, best)


def _assumed(records: Sequence[Record], score: float) -> list[Record]:
    return [
        msgspec.structs.replace(record, score=score, unscored=None)
        if record.unscored in _OWED and record.gold
        else record
        for record in records
    ]
