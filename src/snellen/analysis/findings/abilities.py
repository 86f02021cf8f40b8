"""Which abilities are hard for every model, and the samples none of them gets (MMBench Fig. 10),
and which subtasks a model is strong or weak in (MME Fig. 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from msgspec.structs import replace

from snellen.analysis.findings.score_tables import Score, ScoreTable
from snellen.core.answer import ParsedAnswer
from snellen.core.errors import UsageError
from snellen.core.record import Record
from snellen.core.summary import Interval
from snellen.stats.rank_intervals import largest_interval
from snellen.store.runs import RunFolder


class Ability(NamedTuple):
    """A group with the best score any model has in it (A_max), and the mean of all. The interval is
    that of the best true score, whichever model has it."""

    name: str
    best: Score
    model: str
    mean: float


class HardSample(NamedTuple):
    """A sample that every model has wrong, with what each said where it went wrong: the text of
    the option it chose there (letters move with the rotations), else its answer; None where none
    could be read."""

    ability: str
    record: Record
    answers: tuple[str | None, ...]


class Gap(NamedTuple):
    """How far a model is above the mean of all models in a group, in the table's unit.

    The intervals of all groups of a model hold together, so that the group may be picked for its
    gap; None where the samples are not known.
    """

    name: str
    value: float
    interval: Interval | None = None


class Extremes(NamedTuple):
    """Where a model stands highest and lowest against the mean of all models."""

    model: str
    strong: tuple[Gap, ...]
    weak: tuple[Gap, ...]


def abilities(table: ScoreTable) -> list[Ability]:
    """Groups that every model has, the hardest (lowest A_max) first."""
    found = []
    for name in table.groups:
        column = {model: scores[name] for model, scores in table.scores.items()}
        best = max(column, key=lambda model: column[model].value)
        mean = sum(one.value for one in column.values()) / len(column)
        interval = _best_interval(list(column.values()), table.top)
        found.append(Ability(name, column[best]._replace(interval=interval), best, mean))
    return sorted(found, key=lambda one: one.best.value)


def _best_interval(scores: Sequence[Score], top: float) -> Interval | None:
    shares = [score.value / top for score in scores]
    known = [one.interval for one in scores if one.interval is not None]
    if len(known) < len(scores):
        return None
    scaled = [replace(one, low=one.low / top, high=one.high / top) for one in known]
    found = largest_interval(shares, scaled, known[0].level)
    return replace(found, low=top * found.low, high=top * found.high)


def hard_samples(
    runs: Sequence[RunFolder], group: str, names: Sequence[str], each: int
) -> list[HardSample]:
    """Up to `each` samples of each named ability that no run has right, in the order of the first
    run. Raises UsageError where no sample was scored in every run."""
    tables = [
        {record.id: record for record in run.records() if record.score is not None} for run in runs
    ]
    shared = [one for name, one in tables[0].items() if all(name in table for table in tables)]
    if not shared:
        raise UsageError("no sample was scored in every run; give runs on the same samples")
    found = []
    for name in names:
        wrong = [
            record
            for record in shared
            if record.groups.get(group) == name
            and all((table[record.id].score or 0.0) <= 0.0 for table in tables)
        ]
        found += [
            HardSample(name, record, tuple(_answer_text(table[record.id]) for table in tables))
            for record in wrong[:each]
        ]
    return found


def _answer_text(record: Record) -> str | None:
    wrong = next((one for one in record.passes if not one.correct), None)
    if wrong is None:
        return record.answer
    if not isinstance(wrong.answer, ParsedAnswer):
        return None
    return (wrong.options or record.options).get(wrong.answer.value) or wrong.answer.value


def extremes(table: ScoreTable, count: int = 3) -> list[Extremes]:
    """The `count` groups in which each model is furthest above and below the mean of all models."""
    extremes_by_model = []
    for model in table.scores:
        gaps = sorted((_gap(table, model, name) for name in table.groups),
                      key=lambda gap: -gap.value)  # fmt: skip
        weak = tuple(reversed(gaps[-count:]))
        extremes_by_model.append(Extremes(model, tuple(gaps[:count]), weak))
    return extremes_by_model


def _gap(table: ScoreTable, model: str, name: str) -> Gap:
    """With an interval as if the models' scores were independent: on the same samples they go
    together, and the gap is known better."""
    column = {one: scores[name] for one, scores in table.scores.items()}
    value = column[model].value - sum(one.value for one in column.values()) / len(column)
    known = {one: score.interval for one, score in column.items() if score.interval is not None}
    if len(known) < len(column) or len(column) < 2:
        return Gap(name, value)
    part = 1 / len(column)
    level = known[model].level
    squares = sum(
        ((1 - part if one == model else part) * (interval.high - interval.low) / 2) ** 2
        for one, interval in known.items()
    )
    stricter = NormalDist().inv_cdf(1 - (1 - level) / 2 / len(table.groups))
    half = stricter / NormalDist().inv_cdf(0.5 + level / 2) * math.sqrt(squares)
    return Gap(name, value, Interval(value - half, value + half, "of several groups", level))
