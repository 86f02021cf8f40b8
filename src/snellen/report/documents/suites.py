"""The table of a suite: models by members, with the average of the models that have all members."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from snellen.analysis.comparison.average_ranking import AverageLetters, BenchmarkColumn, average_letters
from snellen.analysis.comparison.comparability import check_comparable, different_data_notices, differing_facts
from snellen.analysis.comparison.deviations import deviations
from snellen.benchmarks.declaration.registry import Suite, SuiteMember, member_key
from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.core.benchmark import DataTable
from snellen.core.errors import DataError, UnknownName, UsageError
from snellen.core.run import Report
from snellen.core.summary import Interval
from snellen.report import format as fmt
from snellen.report.document import Cell, Column, Document, Table, table_of, titled_document
from snellen.report.documents.leaderboard_tables import row_object
from snellen.report.plots.series import Value, dot_plot
from snellen.scoring.suites import SuiteRow, as_percent, suite_rows
from snellen.stats.averages import interval_of_average
from snellen.store.runs import RunFolder

IMPORT_COLUMNS = ("model", "member", "value")


class SuiteTable(NamedTuple):
    title: str
    members: tuple[str, ...]
    rows: tuple[SuiteRow, ...]
    notices: tuple[str, ...]
    averaged: bool
    alike: Mapping[str, str] = {}
    """Letters by model: the averages of models that share a letter do not differ significantly."""


class ImportedScore(NamedTuple):
    """A score from elsewhere, on the scale of its member."""

    model: str
    member: str
    value: float


def read_imported_scores(table: DataTable) -> list[ImportedScore]:
    """Read a table with the columns model, member and value. Raises DataError."""
    scores = []
    for row in table:
        cells = [row.cells.get(column, "").strip() for column in IMPORT_COLUMNS]
        try:
            number = float(cells[2]) if all(cells[:2]) else math.nan
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DataError(
                f"{table.path}, row {row.index + 1}: got {dict(row.cells)}; expected the columns "
                "model, member and value, the last a number"
            )
        scores.append(ImportedScore(cells[0], cells[1], number))
    return scores


class _MemberScore(NamedTuple):
    value: float
    interval: Interval | None


def _plain_name(name: str) -> str:
    """A name as it is compared: `MMBench_V11`, `MMBench v1.1` and `MM-Bench v1.1` are one."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


_MemberRun = tuple[RunFolder, Report]


def suite_table(
    suite: Suite, runs: Sequence[RunFolder], reports: Sequence[Report], results: Iterable[ImportedScore] = ()
) -> SuiteTable:
    """Fill the table of a suite from complete runs with the benchmark and options of a member;
    imported scores fill what no run has.

    Raises UnknownName for an imported member that the suite does not have, and UsageError for runs
    that do not belong in one column, or for several runs of one model.
    """
    notices: list[str] = []
    table: dict[str, dict[str, float | None]] = {}
    intervals: dict[str, dict[str, Interval]] = {}
    # The result does not depend on the order of the arguments.
    ordered = sorted(zip(runs, reports, strict=True), key=lambda one: (one[1].run.model, str(one[0].path)))
    columns: list[BenchmarkColumn] = []
    for member in suite.members:
        weight = 1 / len(suite.members) / max(1, len(member.benchmarks))
        for model, score in _member_scores(member, ordered, notices, columns, weight).items():
            table.setdefault(model, {})[member.name] = score.value
            if score.interval is not None:
                intervals.setdefault(model, {})[member.name] = score.interval
    notices += _fill_imported(suite, table, results)
    notices += different_data_notices([report.run for _, report in ordered])
    names = tuple(member.name for member in suite.members)
    rows = suite_rows(names, table, average=suite.average, intervals=intervals)
    if suite.average:
        notices += [f"{row.model} has no average: {', '.join(row.missing)} missing" for row in rows if row.missing]
    alike = _average_letters(suite, rows, columns)
    notices += _letters_notice(alike)
    unique_notices = tuple(dict.fromkeys(notices))
    return SuiteTable(suite.title, names, tuple(rows), unique_notices, suite.average, alike.letters)


def _fill_imported(
    suite: Suite, table: dict[str, dict[str, float | None]], results: Iterable[ImportedScore]
) -> Iterator[str]:
    """Put imported scores where no run has one; a notice for each that is left out."""
    members = {_plain_name(member.name): member for member in suite.members}
    # Names that differ in signs alone are told by these.
    members |= {member.name.lower(): member for member in suite.members}
    for result in results:
        found = members.get(result.member.lower()) or members.get(_plain_name(result.member))
        if found is None:
            raise UnknownName("member", result.member, (member.name for member in suite.members))
        values = table.setdefault(result.model, {})
        if values.get(found.name) is None:
            values[found.name] = as_percent(result.value, found.top)
        else:
            yield f"{result.model}: {found.name} stands there already; the imported value {result.value:g} is left out"


def _letters_notice(alike: AverageLetters) -> Iterator[str]:
    if alike.reason:
        yield f"which averages cannot be told apart is not known: {alike.reason}"
    elif alike.letters:
        yield (
            "alike: models that share a letter cannot be told apart by their averages (paired "
            "tests on the samples of each benchmark at a level of 5 %, adjusted by Holm for "
            f"{fmt.plural(alike.pairs, 'pair')})"
        )


def _average_letters(suite: Suite, rows: Sequence[SuiteRow], columns: Sequence[BenchmarkColumn]) -> AverageLetters:
    """Letters of the models all of whose numbers come from runs."""
    if not columns or not all(member.benchmarks for member in suite.members):
        return AverageLetters({})
    averages = {
        row.model: row.average
        for row in rows
        if row.average is not None and all(row.model in column.runs for column in columns)
    }
    if len(averages) < 2:
        return AverageLetters({})
    other = [member.name for member in suite.members if member.metric is not None]
    if other:
        return AverageLetters({}, 0, f"{other[0]} counts by a metric that is no headline")
    return average_letters(columns, averages)


def _member_scores(
    member: SuiteMember, runs: Sequence[_MemberRun], notices: list[str], columns: list[BenchmarkColumn], weight: float
) -> dict[str, _MemberScore]:
    """The member's percentage by model: the mean over its benchmarks, if all of them were run.
    Appends to `columns` the runs of each benchmark, with `weight` for a point of it in the
    average."""
    by_spec: list[dict[str, _MemberScore]] = []
    for spec in member.benchmarks if runs else ():
        name, parameters = member_key(spec)
        counted = []
        for run, report in runs:
            config = report.run.config
            if config.benchmark == name and parameters.items() <= config.parameters.items():
                notices += _remarks(report, member)
                counted += [] if _exclusion_reason(report) else [(run, report)]
        column = _column(member, set(parameters), counted)
        columns.append(BenchmarkColumn(name, weight, column))
        metrics = {model: _metric(report, member) for model, (_, report) in column.items()}
        by_spec.append({model: metric for model, metric in metrics.items() if metric is not None})
    models = set().union(*by_spec) if by_spec else set()
    return {
        model: _mean([scores[model] for scores in by_spec])
        for model in sorted(models)
        if all(model in scores for scores in by_spec)
    }


def _remarks(report: Report, member: SuiteMember) -> Iterator[str]:
    """Why a run of a member does not count, or what else is to be said of it."""
    if problem := _exclusion_reason(report):
        yield f"{report.run.model}: {report.run.name} {problem}"
        return
    changed = ", ".join(one.label for one in deviations(report.run) if one.key not in _OF_MEMBER)
    for remark in filter(None, (report.run.data.note, changed)):
        yield f"{report.run.model}, {member.name}: {remark}"


def _column(member: SuiteMember, requested: set[str], counted: Sequence[_MemberRun]) -> dict[str, _MemberRun]:
    """The run of each model. How a question is asked is free in a suite."""
    by_model: dict[str, _MemberRun] = {}
    for run, report in counted:
        model = report.run.model
        if model in by_model:
            twin, other = by_model[model]
            apart = differing_facts([other.run, report.run])
            differ = f", which differ in {', '.join(name.removesuffix('=') for name in apart)}"
            raise UsageError(
                f"two runs of {model} count for {member.name} ({twin.path} and {run.path}{differ if apart else ''}); "
                "which of them is meant is yours to say: give one"
            )
        by_model[model] = run, report
    infos = [report.run for _, report in counted]
    free = {key for info in infos for key in info.config.parameters} - requested
    names = [f"{report.run.model} ({run.path})" for run, report in counted]
    check_comparable(infos, names, f"column of {member.name}", free=free)
    return by_model


def _mean(parts: Sequence[_MemberScore]) -> _MemberScore:
    value = sum(part.value for part in parts) / len(parts)
    intervals = [part.interval for part in parts if part.interval is not None]
    if len(intervals) < len(parts):
        return _MemberScore(value, None)
    return _MemberScore(value, interval_of_average([part.value for part in parts], intervals))


_OF_MEMBER = frozenset({"options", "model_options", "data"})
"""Deviations that belong to a member or a model, or that have a notice of their own."""


def _exclusion_reason(report: Report) -> str:
    config = report.run.config
    if CONTROL in config.parameters:
        return f"was asked under a control ({config.parameters[CONTROL]}) and does not count"
    if config.limit is not None:
        return f"asked only {config.limit} samples and does not count"
    if report.run.status != "complete":
        return f"is {report.run.status} and does not count"
    if report.run.stopped:
        return f"stopped early (--until {config.until}) and does not count"
    return ""


def _metric(report: Report, member: SuiteMember) -> _MemberScore | None:
    summary = report.summary
    metric = summary.headline if member.metric is None else summary.metrics.get(member.metric)
    if metric is None or metric.value is None:
        return None
    interval = metric.interval
    if interval is not None:
        low, high = (as_percent(end, metric.top) for end in (interval.low, interval.high))
        interval = Interval(low, high, interval.method, interval.level)
    return _MemberScore(as_percent(metric.value, metric.top), interval)


def suite_document(suite_table: SuiteTable) -> Document:
    """Models by members with their averages. The figure has the averages with their intervals."""
    averages = {row.model: Value(row.average, row.interval) for row in suite_table.rows if row.average is not None}
    document = titled_document(suite_table.title, [_table(suite_table)], suite_table.notices)
    return document._replace(
        data={**suite_table._asdict(), "rows": [*map(row_object, suite_table.rows)]},
        plot=(lambda: dot_plot(suite_table.title, {"average": averages})) if averages else None,
    )


def _table(suite_table: SuiteTable) -> Table:
    """A row for each model: rank, average, average rank, and the members."""
    rows, average = suite_table.rows, Column("average", "points", best="highest")
    average_rank = Column("average rank", "points", best="lowest")
    is_averaged = suite_table.averaged
    has_interval = is_averaged and any(row.interval is not None for row in rows)
    is_tested = is_averaged and suite_table.alike

    def member_cell(member: str) -> Callable[[SuiteRow], Cell]:
        return lambda row: row.values[member]

    legend = ["average rank: the mean over the members of the rank among the models here that have all of them"]
    return table_of(
        "",
        rows,
        [
            *([(Column("rank"), lambda row: str(row.rank) if row.rank else None)] if is_averaged else []),
            (Column("model", "name"), lambda row: row.model),
            *([(average, lambda row: row.average)] if is_averaged else []),
            *([(Column("95 % interval", "points"), lambda row: row.interval)] if has_interval else []),
            *([(Column("alike"), lambda row: suite_table.alike.get(row.model))] if is_tested else []),
            *([(average_rank, lambda row: row.average_rank)] if is_averaged else []),
            *((Column(name, "points", best="highest"), member_cell(name)) for name in suite_table.members),
        ],
        legend if any(row.average_rank is not None for row in rows) else [],
    )
