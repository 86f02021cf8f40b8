"""Which abilities are hard for every model, and the samples none of them gets (MMBench Fig. 10),
and which subtasks a model is strong or weak in (MME Fig. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from snellen.analysis.score_tables import Score, ScoreTable
from snellen.core.answer import Found
from snellen.core.errors import UsageError
from snellen.core.record import Record
from snellen.store.runs import RunFolder


class Ability(NamedTuple):
    """A group with the best score any model has in it (A_max), and the mean of all."""

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


class Extremes(NamedTuple):
    """Where a model stands highest and lowest against the mean of all models, in the table's
    unit."""

    model: str
    strong: tuple[tuple[str, float], ...]
    weak: tuple[tuple[str, float], ...]


def abilities(table: ScoreTable) -> list[Ability]:
    """Groups that every model has, the hardest (lowest A_max) first."""
    found = []
    for name in table.groups:
        column = {model: scores[name] for model, scores in table.scores.items()}
        best = max(column, key=lambda model: column[model].value)
        mean = sum(one.value for one in column.values()) / len(column)
        found.append(Ability(name, column[best], best, mean))
    return sorted(found, key=lambda one: one.best.value)


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
            HardSample(name, record, tuple(_said(table[record.id]) for table in tables))
            for record in wrong[:each]
        ]
    return found


def _said(record: Record) -> str | None:
    wrong = next((one for one in record.passes if not one.correct), None)
    if wrong is None:
        return record.answer
    if not isinstance(wrong.answer, Found):
        return None
    return (wrong.options or record.options).get(wrong.answer.value) or wrong.answer.value


def extremes(table: ScoreTable, count: int = 3) -> list[Extremes]:
    """The `count` groups in which each model is furthest above and below the mean of all models."""
    means = {
        name: sum(one[name].value for one in table.scores.values()) / len(table.scores)
        for name in table.groups
    }
    found = []
    for model, scores in table.scores.items():
        gaps = sorted(((name, scores[name].value - means[name]) for name in means),
                      key=lambda pair: -pair[1])  # fmt: skip
        weak = tuple(reversed(gaps[-count:]))
        found.append(Extremes(model, tuple(gaps[:count]), weak))
    return found
