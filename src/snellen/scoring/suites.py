"""One number for several benchmarks: the plain mean of scores in percent of their maximum.

VLMEvalKit (arXiv:2407.11691, Sec. 4): OCRBench, which counts to 1000, and MMBench-Video, which
counts to 3, are scaled to 0..100; the average of a model is the plain mean over all members. A
model without a score in some member has no average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from snellen.core.summary import Interval
from snellen.scoring.ranks import average_ranks, competition_ranks
from snellen.stats.averages import interval_of_average


class SuiteRow(NamedTuple):
    """A row of a suite's table. `values` are 0..100, None without a number."""

    model: str
    values: dict[str, float | None]
    average: float | None
    rank: int | None
    missing: tuple[str, ...]
    interval: Interval | None = None
    """Interval of the average; None if a member has none."""
    average_rank: float | None = None
    """Mean over the members of the rank among the models that have all of them."""


def as_percent(value: float, top: float) -> float:
    """Scale a value of 0..`top` to 0..100."""
    return 100 * value / top


def suite_rows(
    members: Sequence[str],
    table: Mapping[str, Mapping[str, float | None]],
    *,
    average: bool = True,
    intervals: Mapping[str, Mapping[str, Interval]] | None = None,
    weights: Mapping[str, float] | None = None,
) -> list[SuiteRow]:
    """The models of `table` (model to member to percentage), best average first; models without one
    follow in their original order. `intervals` (model to member) are those of the percentages; the
    benchmarks count as independent. `weights` (by member, positive) make the averages weighted."""
    shares = {member: 1.0 if weights is None else weights[member] for member in members}
    averages: dict[str, float | None] = {}
    for model, values in table.items():
        present = {member: value for member in members if (value := values.get(member)) is not None}
        is_complete = average and len(present) == len(members)
        averages[model] = weighted_mean(present, shares) if is_complete else None
    ranks = competition_ranks(averages)
    complete = [model for model, value in averages.items() if value is not None]
    mean_ranks = average_ranks({member: {model: table[model][member] for model in complete} for member in members})
    known_intervals = intervals or {}
    lines = [
        SuiteRow(
            model,
            {member: values.get(member) for member in members},
            averages[model],
            ranks.get(model),
            tuple(member for member in members if values.get(member) is None),
            None if averages[model] is None else _average_interval(shares, values, known_intervals.get(model, {})),
            mean_ranks.get(model),
        )
        for model, values in table.items()
    ]
    return sorted(lines, key=lambda line: line.rank or len(lines) + 1)


def weighted_mean(values: Mapping[str, float], weights: Mapping[str, float]) -> float | None:
    """The mean of the values with the weights of their members; None without values."""
    total = sum(weights[member] for member in values)
    return sum(weights[member] * value for member, value in values.items()) / total if total else None


def _average_interval(
    weights: Mapping[str, float], values: Mapping[str, float | None], intervals: Mapping[str, Interval]
) -> Interval | None:
    members = [
        (value, intervals[member], weight)
        for member, weight in weights.items()
        if (value := values[member]) is not None and member in intervals
    ]
    if len(members) < len(weights):
        return None
    numbers, ends, shares = zip(*members, strict=True)
    return interval_of_average(numbers, ends, shares)
