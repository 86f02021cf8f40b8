"""Scores of models in groups (abilities, subtasks, meta-tasks), from runs or from a CSV file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from snellen.benchmarks.mme.boards import parse_printed_scores
from snellen.core.benchmark import Table
from snellen.core.errors import DataError, UsageError
from snellen.core.run import Report
from snellen.core.summary import Interval

_NAMES = ("subtask", "ability", "group", "category", "dimension", "meta_task")
_VALUES = ("value", "accuracy", "score", "acc")
_MME = ("acc", "acc_plus")


class Score(NamedTuple):
    """`value` in the unit of its table; `interval` where the samples are known."""

    value: float
    n: int | None = None
    interval: Interval | None = None


Scores = Mapping[str, Mapping[str, Score]]
"""Model to group to score."""


class ScoreTable(NamedTuple):
    scores: Scores
    unit: str
    """`percent` or `points`."""
    top: float
    notices: tuple[str, ...] = ()

    @property
    def groups(self) -> list[str]:
        """Groups that every model has, in the order of the first."""
        first, *others = self.scores.values()
        return [name for name in first if all(name in one for one in others)]


def scores_from_reports(reports: Sequence[Report], names: Sequence[str], group: str) -> ScoreTable:
    """Scores by the grouping `group`. Raises UsageError for runs of different benchmarks, and
    where a run has no such grouping."""
    benchmarks = sorted({report.run.benchmark for report in reports})
    if len(benchmarks) > 1:
        raise UsageError(
            f"the runs are of {', '.join(benchmarks)}; give runs of one benchmark, whose groups "
            "are the same"
        )
    scores: dict[str, dict[str, Score]] = {}
    unit, top = "percent", 100.0
    for report, name in zip(reports, names, strict=True):
        metrics = report.summary.groups.get(group)
        if not metrics:
            known = ", ".join(repr(one) for one in report.summary.groups) or "none"
            raise UsageError(f"{report.run.name} is not grouped by {group!r}; --group is {known}")
        scores[name] = {
            label: Score(one.value, one.n, one.interval)
            for label, one in metrics.items()
            if one.value is not None
        }
        unit, top = next((one.unit, one.top) for one in metrics.values())
    notices = [
        f"{name}, {notice}"
        for report, name in zip(reports, names, strict=True)
        for notice in (report.run.data.note, *report.summary.notices)
        if notice
    ]
    return _with_missing_notice(ScoreTable(scores, unit, top, tuple(notices)))


def scores_from_csv(table: Table) -> ScoreTable:
    """Scores from a table: long (`model`, a name such as `subtask`, a value such as `accuracy`),
    MME's (`acc` and `acc_plus` are summed as its score is), or wide (`model`, and a column of
    numbers for each group; a column of the first row that holds no number is left out).

    Raises DataError for a table of another form, and for a cell that is no number.
    """
    rows = list(table)
    columns = list(dict.fromkeys(name for row in rows for name in row.cells))
    if "model" not in columns:
        raise DataError(f"{table.path} has no column 'model'; got {', '.join(columns) or 'none'}")
    if all(name in columns for name in (*_MME, "subtask")):
        printed = parse_printed_scores(table)
        scores = {
            model: {name: Score(value) for name, value in one.items()}
            for model, one in printed.scores.items()
        }
        return _with_missing_notice(ScoreTable(scores, "points", 200.0, printed.notices))
    named = next((name for name in _NAMES if name in columns), None)
    valued = next((name for name in _VALUES if name in columns), None)
    long: dict[str, dict[str, Score]] = {}
    for row in rows:
        where = f"{table.path}, row {row.index + 1}"
        cells = dict(row.cells)
        model_scores = long.setdefault(cells.pop("model", "").strip(), {})
        if named and valued:
            model_scores[cells[named].strip()] = Score(_parse_number(cells.get(valued, ""), where))
        else:
            model_scores.update((name, Score(value)) for name, value in _parse_numbers(cells))
    if not any(long.values()):
        raise DataError(f"{table.path} holds no scores; expected columns of numbers beside 'model'")
    return _with_missing_notice(ScoreTable(long, "percent", 100.0))


def select_scores(
    table: ScoreTable, models: Sequence[str] = (), groups: Sequence[str] = ()
) -> ScoreTable:
    """Only these models and groups, in this order; nothing named is everything. Groups are
    matched without regard to case, and called as they are named here.

    Raises UsageError for one that is not there.
    """
    absent = [name for name in models if name not in table.scores]
    if absent:
        raise UsageError(f"no model {absent[0]!r}; there are {', '.join(table.scores)}")
    group_names = {name.casefold(): name for name in table.groups}
    unknown_groups = [name for name in groups if name.casefold() not in group_names]
    if unknown_groups:
        raise UsageError(
            f"no group {unknown_groups[0]!r} with a score of every model; there are "
            f"{', '.join(group_names.values())}"
        )
    name_by_title = {name: group_names[name.casefold()] for name in groups} or {
        name: name for name in group_names.values()
    }
    kept = models or list(table.scores)
    scores = {
        model: {called: table.scores[model][name] for called, name in name_by_title.items()}
        for model in kept
    }
    removed_models = set(table.scores) - set(kept)
    notices = tuple(one for one in table.notices if one.partition(",")[0] not in removed_models)
    return table._replace(scores=scores, notices=notices)


def _with_missing_notice(table: ScoreTable) -> ScoreTable:
    """With a notice of groups that not every model has."""
    everything = dict.fromkeys(name for one in table.scores.values() for name in one)
    missing = [name for name in everything if name not in table.groups]
    if not missing:
        return table
    missing_text = f"{', '.join(missing[:4])}{' ...' if len(missing) > 4 else ''}"
    return table._replace(
        notices=(*table.notices, f"not every model has a score in: {missing_text}")
    )


def _parse_number(text: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{where}: the value is {text!r}; expected a number") from None


def _parse_numbers(cells: Mapping[str, str]) -> Iterable[tuple[str, float]]:
    for name, text in cells.items():
        try:
            yield name, float(text)
        except ValueError:
            continue
