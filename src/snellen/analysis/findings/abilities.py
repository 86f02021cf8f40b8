"""Abilities that are hard for every model, and samples that no model gets right (MMBench Fig. 10);
subtasks in which a model is strong or weak (MME Fig. 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from msgspec.structs import replace

from snellen.analysis.findings.score_tables import GroupScore, ScoreTable
from snellen.analysis.samples.graded_answers import graded_answer_text
from snellen.core.errors import UsageError
from snellen.core.output import ParsedAnswer
from snellen.core.record import Record
from snellen.core.summary import Interval
from snellen.stats.rank_intervals import largest_interval
from snellen.store.runs import RunFolder


class Ability(NamedTuple):
    """A group with the best score of any model (A_max), and the mean of all. The interval is that
    of the best true score, whichever model has it."""

    name: str
    best: GroupScore
    model: str
    mean: float


class HardSample(NamedTuple):
    """A sample that every model got wrong, with each model's answer in its first wrong pass: the
    text of the chosen option (letters change with the rotations), else the answer itself; None if
    it was not parsed."""

    ability: str
    record: Record
    answers: tuple[str | None, ...]


class Gap(NamedTuple):
    """Difference between a model and the mean of all models in a group, in the table's unit.

    The intervals of all groups of a model hold simultaneously, so that a group may be selected for
    its gap; None if the samples are unknown.
    """

    name: str
    value: float
    interval: Interval | None = None


class Extremes(NamedTuple):
    """The groups in which a model is furthest above and below the mean of all models."""

    model: str
    strong: tuple[Gap, ...]
    weak: tuple[Gap, ...]


def abilities(table: ScoreTable) -> list[Ability]:
    """Groups that every model has, the hardest (lowest A_max) first."""
    results = []
    for name in table.groups:
        column = {model: scores[name] for model, scores in table.scores.items()}
        best = max(column, key=lambda model: column[model].value)
        mean = sum(score.value for score in column.values()) / len(column)
        interval = _best_interval(list(column.values()), table.top)
        results.append(Ability(name, column[best]._replace(interval=interval), best, mean))
    return sorted(results, key=lambda ability: ability.best.value)


def _best_interval(scores: Sequence[GroupScore], top: float) -> Interval | None:
    shares = [score.value / top for score in scores]
    intervals = [score.interval for score in scores if score.interval is not None]
    if len(intervals) < len(scores):
        return None
    scaled = [replace(interval, low=interval.low / top, high=interval.high / top) for interval in intervals]
    largest = largest_interval(shares, scaled, intervals[0].level)
    return replace(largest, low=top * largest.low, high=top * largest.high)


def hard_samples(runs: Sequence[RunFolder], group: str, names: Sequence[str], each: int) -> list[HardSample]:
    """Up to `each` samples of each named ability that no run got right, in the order of the first
    run. Raises UsageError if no sample was scored in every run."""
    tables = [{record.id: record for record in run.records() if record.score is not None} for run in runs]
    shared = [record for name, record in tables[0].items() if all(name in table for table in tables)]
    if not shared:
        raise UsageError("no sample was scored in every run; give runs on the same samples")
    samples = []
    for name in names:
        wrong = [
            record
            for record in shared
            if record.groups.get(group) == name and all((table[record.id].score or 0.0) <= 0.0 for table in tables)
        ]
        samples += [
            HardSample(name, record, tuple(_answer_text(table[record.id]) for table in tables))
            for record in wrong[:each]
        ]
    return samples


def _answer_text(record: Record) -> str | None:
    wrong = next((one_pass for one_pass in record.passes if not one_pass.correct), None)
    if wrong is None:
        return None if record.answer is None else graded_answer_text(record.answer, record)
    if not isinstance(wrong.answer, ParsedAnswer):
        return None
    value = wrong.answer.value
    return (wrong.options or record.options).get(value) or graded_answer_text(value, record)


def extremes(table: ScoreTable, count: int = 3) -> list[Extremes]:
    """At most `count` groups in which each model is furthest above, and as many in which it is
    furthest below the mean of all models."""
    extremes_by_model = []
    for model in table.scores:
        gaps = sorted((_gap(table, model, name) for name in table.groups), key=lambda gap: -gap.value)
        strong = [gap for gap in gaps if gap.value > 0][:count]
        weak = [gap for gap in reversed(gaps) if gap.value < 0][:count]
        extremes_by_model.append(Extremes(model, tuple(strong), tuple(weak)))
    return extremes_by_model


def _gap(table: ScoreTable, model: str, name: str) -> Gap:
    """The gap of a model in a group. The interval treats the models' scores as independent; on the
    same samples they are positively correlated, so that it is too wide."""
    column = {other: scores[name] for other, scores in table.scores.items()}
    value = column[model].value - sum(score.value for score in column.values()) / len(column)
    intervals = {other: score.interval for other, score in column.items() if score.interval is not None}
    if len(intervals) < len(column) or len(column) < 2:
        return Gap(name, value)
    part = 1 / len(column)
    level = intervals[model].level
    squares = sum(
        ((1 - part if other == model else part) * (interval.high - interval.low) / 2) ** 2
        for other, interval in intervals.items()
    )
    stricter = NormalDist().inv_cdf(1 - (1 - level) / 2 / len(table.groups))
    half = stricter / NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(squares)
    return Gap(name, value, Interval(value - half, value + half, "of several groups", level))
