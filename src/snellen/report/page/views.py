"""Numbers arranged for a page: what its templates are given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from snellen.core.answer import RETRYABLE, Outcome
from snellen.core.run import Report
from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.report.page import charts
from snellen.report.page.samples import Result
from snellen.scoring.guessing import SAME_LETTER

RESULT_LABELS: dict[Result, str] = {
    "right": "right",
    "partly": "partly right",
    "wrong": "wrong",
    "unscored": "without gold",
}

Tallies = Mapping[tuple[Result, Outcome], int]
"""How many samples had this result and this outcome."""


class BarRow(NamedTuple):
    """A line of a table with bars."""

    name: str
    metric: Metric
    bar: str


class BarTable(NamedTuple):
    """A table whose lines are bars over one axis."""

    title: str
    axis: str
    rows: tuple[BarRow, ...]
    radar: str = ""
    marks: tuple[charts.BaselineMark, ...] = ()


class OutcomeBar(NamedTuple):
    """How the samples ended, as one stacked bar and its key."""

    bar: str
    shares: tuple[charts.BarSegment, ...]


class RunRow(NamedTuple):
    """A run in an overview."""

    model: str
    link: str
    row: BarRow
    outcomes: str


class RunTable(NamedTuple):
    """Runs of one benchmark and metric, side by side."""

    benchmark: str
    metric: str
    level: str
    """Of the intervals, e.g. `95 %`."""
    axis: str
    runs: tuple[RunRow, ...]
    marks: tuple[charts.BaselineMark, ...]


def headline_table(report: Report) -> BarTable:
    """The headline as one bar, with what guessing would score."""
    metric = report.summary.headline
    scale, marks = charts.axis([metric]), _marks(report)
    row = BarRow(metric.name, metric, charts.bar(metric, scale, marks, height=34))
    return BarTable(metric.name, charts.axis_labels(scale), (row,), marks=marks)


def outcome_bar(tallies: Tallies) -> OutcomeBar:
    """Right, partly right, wrong, without gold, then every way of not answering."""
    shares = [
        charts.BarSegment(result, words, tallies.get((result, "answered"), 0))
        for result, words in RESULT_LABELS.items()
    ]
    lost = Counter[Outcome]()
    for (_, outcome), samples in tallies.items():
        lost[outcome] += samples
    shares += [
        charts.BarSegment(_kind(outcome), words, lost[outcome])
        for outcome, words in fmt.OUTCOME_LABELS.items()
        if outcome != "answered"
    ]
    found = tuple(share for share in shares if share.samples)
    return OutcomeBar(charts.stacked_bar(found), found)


def _kind(outcome: Outcome) -> str:
    return "lost" if outcome in RETRYABLE else "unread"


def grouping_tables(report: Report) -> list[BarTable]:
    """The headline by group: coarse columns first, equally coarse ones as the summary has them,
    highest group first; a column with a single group says nothing and is left out."""
    groups = report.summary.groups
    columns = sorted(groups, key=lambda column: len(groups[column]))
    return [_grouping_table(report, column) for column in columns if len(groups[column]) > 1]


def _grouping_table(report: Report, column: str) -> BarTable:
    groups = report.summary.groups[column]
    scale = charts.axis([*groups.values()])
    ordered = sorted(groups.items(), key=lambda item: (-(item[1].value or 0.0), item[0]))
    rows = tuple(BarRow(name, metric, charts.bar(metric, scale)) for name, metric in ordered)
    title = f"{report.run.model} by {fmt.display_name(column)}"
    radar = charts.radar(title, [*groups.items()], scale)
    return BarTable(column, charts.axis_labels(scale), rows, radar)


def circular_table(report: Report) -> BarTable | None:
    """Vanilla beside circular; None for a run that asked every question once."""
    first, every = report.summary.metrics.get("vanilla"), report.summary.headline
    if first is None:
        return None
    scale = charts.axis([first, every])
    rows = (
        BarRow("first pass only (vanilla)", first, charts.bar(first, scale)),
        BarRow("every pass (circular)", every, charts.bar(every, scale)),
    )
    return BarTable("counted", charts.axis_labels(scale), rows)


def other_metrics(report: Report) -> list[Metric]:
    """Metrics that stand nowhere else on the page."""
    known = {report.summary.headline.name, "vanilla", "drop", *fmt.BASELINES}
    return [metric for name, metric in report.summary.metrics.items() if name not in known]


def run_table(benchmark: str, metric: str, runs: Sequence[tuple[Report, str]]) -> RunTable:
    """`runs`: each report with the link to its page, which may be empty."""
    scale = charts.axis([report.summary.headline for report, _ in runs])
    marks = _marks(runs[0][0])
    compared = []
    names = fmt.run_labels([report for report, _ in runs])
    for name, (report, link) in zip(names, runs, strict=True):
        value = report.summary.headline
        row = BarRow(value.name, value, charts.bar(value, scale, marks))
        compared.append(RunRow(name, link, row, fmt.outcomes_text(report)))
    level = fmt.level_text(runs[0][0].summary.headline.interval)
    return RunTable(benchmark, metric, level, charts.axis_labels(scale), tuple(compared), marks)


def _marks(report: Report) -> tuple[charts.BaselineMark, ...]:
    # Keeping one letter through rotations scores 0, where the axis begins.
    shown = (key for key in fmt.BASELINES if key != SAME_LETTER)
    found = ((key, report.summary.metrics.get(key)) for key in shown)
    return tuple(
        charts.BaselineMark(fmt.metric_label(key), metric.value)
        for key, metric in found
        if metric is not None and metric.value is not None
    )
