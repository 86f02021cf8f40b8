"""Scores of models by group (ability, subtask, meta-task), from runs or from a CSV file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from snellen.benchmarks.abilities.mme.boards import parse_printed_scores
from snellen.core.benchmark import DataTable
from snellen.core.errors import DataError, UsageError
from snellen.core.run import Report
from snellen.core.summary import Interval

_NAMES = ("subtask", "ability", "group", "category", "dimension", "meta_task")
_VALUES = ("value", "accuracy", "score", "acc")
_MME = ("acc", "acc_plus")
_TOTALS = frozenset({"overall", "average", "avg", "mean", "total", "rank", "average rank"})
"""Columns of published tables that hold no group, in lower case."""


class GroupScore(NamedTuple):
    """`value` in the unit of its table; `n` and `interval` are None if the samples are unknown."""

    value: float
    n: int | None = None
    interval: Interval | None = None


Scores = Mapping[str, Mapping[str, GroupScore]]
"""Model to group to score."""


class ScoreTable(NamedTuple):
    scores: Scores
    unit: str
    """`percent` or `points`."""
    top: float
    notices: tuple[str, ...] = ()

    @property
    def groups(self) -> list[str]:
        """Groups that every model has, in the order of the first model."""
        first, *others = self.scores.values()
        return [name for name in first if all(name in scores for scores in others)]


def scores_from_reports(reports: Sequence[Report], names: Sequence[str], group: str) -> ScoreTable:
    """Scores by the grouping `group`. Raises UsageError for runs of different benchmarks, and if a
    run has no such grouping."""
    benchmarks = sorted({report.run.benchmark for report in reports})
    if len(benchmarks) > 1:
        raise UsageError(
            f"the runs are of {', '.join(benchmarks)}; give runs of one benchmark, whose groups are the same"
        )
    scores: dict[str, dict[str, GroupScore]] = {}
    unit, top = "percent", 100.0
    for report, name in zip(reports, names, strict=True):
        metrics = report.summary.groups.get(group)
        if not metrics:
            groupings = ", ".join(repr(grouping) for grouping in report.summary.groups) or "none"
            raise UsageError(f"{report.run.name} is not grouped by {group!r}; --group is {groupings}")
        scores[name] = {
            label: GroupScore(metric.value, metric.n, metric.interval)
            for label, metric in metrics.items()
            if metric.value is not None
        }
        unit, top = next((metric.unit, metric.top) for metric in metrics.values())
    notices = [
        f"{name}, {notice}"
        for report, name in zip(reports, names, strict=True)
        for notice in (report.run.data.note, *report.summary.notices)
        if notice
    ]
    return _with_missing_notice(ScoreTable(scores, unit, top, tuple(dict.fromkeys(notices))))


def scores_from_csv(table: DataTable) -> ScoreTable:
    """Scores from a table: long (`model`, a name such as `subtask`, a value such as `accuracy`),
    MME's (the score is `acc` + `acc_plus`), or wide (`model`, and a column of numbers for each
    group; columns without numbers are ignored, and so are, with a notice, totals and columns of
    zeros and ones, which mark models).

    Raises DataError for a table of another form, and for a cell that is not a number.
    """
    rows = list(table)
    columns = list(dict.fromkeys(name for row in rows for name in row.cells))
    if "model" not in columns:
        raise DataError(f"{table.path} has no column 'model'; got {', '.join(columns) or 'none'}")
    if all(name in columns for name in (*_MME, "subtask")):
        printed = parse_printed_scores(table)
        scores = {
            model: {name: GroupScore(value) for name, value in values.items()}
            for model, values in printed.scores.items()
        }
        return _with_missing_notice(ScoreTable(scores, "points", 200.0, printed.notices))
    named = next((name for name in _NAMES if name in columns), None)
    valued = next((name for name in _VALUES if name in columns), None)
    long: dict[str, dict[str, GroupScore]] = {}
    for row in rows:
        where = f"{table.path}, row {row.index + 1}"
        cells = dict(row.cells)
        model_scores = long.setdefault(cells.pop("model", "").strip(), {})
        if named and valued:
            model_scores[cells[named].strip()] = GroupScore(_parse_number(cells.get(valued, ""), where))
        else:
            model_scores.update((name, GroupScore(value)) for name, value in _parse_numbers(cells))
    if not any(long.values()):
        raise DataError(f"{table.path} holds no scores; expected columns of numbers beside 'model'")
    is_wide = not (named and valued)
    return _with_missing_notice(_without_other_columns(long) if is_wide else _percent_table(long))


def _percent_table(scores: Scores) -> ScoreTable:
    return ScoreTable(scores, "percent", 100.0)


def _without_other_columns(scores: Scores) -> ScoreTable:
    """A wide table without the columns of numbers that are no group; with all, if none is left."""
    names = dict.fromkeys(name for values in scores.values() for name in values)
    left_out = {}
    for name in names:
        column = {values[name].value for values in scores.values() if name in values}
        if name.casefold().strip("* ") in _TOTALS:
            left_out[name] = "a total"
        elif column <= {0.0, 1.0}:
            left_out[name] = "zeros and ones alone"
    if not left_out or len(left_out) == len(names):
        return _percent_table(scores)
    kept = {
        model: {name: value for name, value in values.items() if name not in left_out}
        for model, values in scores.items()
    }
    reasons = ", ".join(f"{name} ({reason})" for name, reason in left_out.items())
    return ScoreTable(kept, "percent", 100.0, (f"columns that are no group: {reasons}",))


def select_scores(table: ScoreTable, only: str = "") -> ScoreTable:
    """Keep only the models and groups of `NAME,...`, in this order; all models if it names none,
    and all groups. Groups match regardless of case and take the name used here.

    Raises UsageError for an unknown name.
    """
    group_names = {name.casefold(): name for name in table.groups}
    models, groups = [], {}
    for name in _split_names(only, {*table.scores, *group_names}):
        if name in table.scores:
            models.append(name)
        elif name.casefold() in group_names:
            groups[name] = group_names[name.casefold()]
        else:
            raise UsageError(
                f"--only: {name!r} is no model and no group with a score of every model; there are "
                f"the models {', '.join(table.scores)} and the groups "
                f"{', '.join(group_names.values())}"
            )
    models = models or list(table.scores)
    groups = groups or {name: name for name in group_names.values()}
    scores = {model: {called: table.scores[model][name] for called, name in groups.items()} for model in models}
    removed_models = set(table.scores) - set(models)
    notices = tuple(notice for notice in table.notices if notice.partition(",")[0] not in removed_models)
    return table._replace(scores=scores, notices=notices)


def _split_names(text: str, known: Collection[str]) -> Iterator[str]:
    """Names between commas; a known name may have commas of its own, and the longest counts."""
    parts = text.split(",")
    while parts:
        joined = [",".join(parts[:count]).strip() for count in range(len(parts), 0, -1)]
        found = [name for name in joined if name in known or name.casefold() in known]
        name = found[0] if found else joined[-1]
        del parts[: name.count(",") + 1]
        if name:
            yield name


def _with_missing_notice(table: ScoreTable) -> ScoreTable:
    """Add a notice about groups that not every model has."""
    everything = dict.fromkeys(name for scores in table.scores.values() for name in scores)
    missing = [name for name in everything if name not in table.groups]
    if not missing:
        return table
    missing_text = f"{', '.join(missing[:4])}{' ...' if len(missing) > 4 else ''}"
    return table._replace(notices=(*table.notices, f"not every model has a score in: {missing_text}"))


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
