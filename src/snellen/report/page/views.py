"""Numbers arranged for the templates of a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from snellen.core.output import RETRYABLE, Outcome
from snellen.core.run import Report
from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.report.documents.result_tables import baselines
from snellen.report.page import charts
from snellen.report.page.samples import Result
from snellen.scoring.accuracy import SAME_LETTER

RESULT_LABELS: dict[Result, str] = {
    "right": "right",
    "partly": "partly right",
    "wrong": "wrong",
    "unscored": "without gold",
}

Tallies = Mapping[tuple[Result, Outcome], int]
"""The number of samples with this result and this outcome."""


class BarRow(NamedTuple):
    """A row of a table with bars."""

    name: str
    metric: Metric
    bar: str


class BarTable(NamedTuple):
    """A table whose rows are bars over one axis."""

    title: str
    axis: str
    rows: tuple[BarRow, ...]
    marks: tuple[charts.BaselineMark, ...] = ()


class OutcomeBar(NamedTuple):
    """The outcomes of the samples, as one stacked bar and its key."""

    bar: str
    shares: tuple[charts.BarSegment, ...]


class RunRow(NamedTuple):
    """A run in the overview."""

    model: str
    link: str
    row: BarRow
    outcomes: str


class RunTable(NamedTuple):
    """The runs of one benchmark and metric."""

    benchmark: str
    metric: str
    level: str
    """The confidence level of the intervals, e.g. `95 %`."""
    axis: str
    runs: tuple[RunRow, ...]
    marks: tuple[charts.BaselineMark, ...]


def headline_table(report: Report) -> BarTable:
    """The headline as one bar, with the scores of guessing as marks."""
    metric = report.summary.headline
    scale, marks = charts.axis([metric]), _marks(report)
    row = BarRow(metric.name, metric, charts.bar(metric, scale, marks, height=34))
    return BarTable(metric.name, charts.axis_labels(scale), (row,), marks=marks)


def outcome_bar(tallies: Tallies) -> OutcomeBar:
    """The numbers of right, partly right, wrong and ungraded samples, then of each other
    outcome."""
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
    segments = tuple(share for share in shares if share.samples)
    return OutcomeBar(charts.stacked_bar(segments), segments)


def _kind(outcome: Outcome) -> str:
    return "lost" if outcome in RETRYABLE else "unread"


def grouping_tables(report: Report) -> list[BarTable]:
    """The headline by group, one table for each group column.

    Columns with few groups come first, others in the summary's order; groups are sorted by score. A
    column with a single group is left out.
    """
    groups = report.summary.groups
    columns = sorted(groups, key=lambda column: len(groups[column]))
    return [_grouping_table(report, column) for column in columns if len(groups[column]) > 1]


def _grouping_table(report: Report, column: str) -> BarTable:
    groups = report.summary.groups[column]
    scale = charts.axis([*groups.values()])
    ordered = sorted(groups.items(), key=lambda item: (-(item[1].value or 0.0), item[0]))
    rows = tuple(BarRow(name, metric, charts.bar(metric, scale)) for name, metric in ordered)
    return BarTable(column, charts.axis_labels(scale), rows)


def circular_table(report: Report) -> BarTable | None:
    """Vanilla next to circular scoring; None for a run that asked every question once."""
    first, all_passes = report.summary.metrics.get("vanilla"), report.summary.headline
    if first is None:
        return None
    scale = charts.axis([first, all_passes])
    rows = (
        BarRow("first pass only (vanilla)", first, charts.bar(first, scale)),
        BarRow("every pass (circular)", all_passes, charts.bar(all_passes, scale)),
    )
    return BarTable("counted", charts.axis_labels(scale), rows)


def other_metrics(report: Report) -> list[Metric]:
    """Metrics that appear nowhere else on the page."""
    displayed = {report.summary.headline.name, "vanilla", "drop", *fmt.BASELINES}
    return [metric for name, metric in report.summary.metrics.items() if name not in displayed]


def run_table(benchmark: str, metric: str, runs: Sequence[tuple[Report, str]]) -> RunTable:
    """A table of `runs`: each report with the link to its page, which may be empty."""
    scale = charts.axis([report.summary.headline for report, _ in runs])
    marks = _board_marks([report for report, _ in runs])
    compared = []
    names = fmt.run_labels([report for report, _ in runs])
    for name, (report, link) in zip(names, runs, strict=True):
        value = report.summary.headline
        row = BarRow(value.name, value, charts.bar(value, scale, marks))
        compared.append(RunRow(name, link, row, fmt.outcomes_text(report)))
    level = fmt.level_text(runs[0][0].summary.headline.interval)
    return RunTable(benchmark, metric, level, charts.axis_labels(scale), tuple(compared), marks)


def _board_marks(board: Sequence[Report]) -> tuple[charts.BaselineMark, ...]:
    """Each baseline of a board once, labelled as in the tables of the terminal."""
    return tuple(
        charts.BaselineMark(guess.label, guess.metric.value)
        for guess in baselines(board)
        if guess.key != SAME_LETTER and guess.metric.value is not None
    )


def _marks(report: Report) -> tuple[charts.BaselineMark, ...]:
    # Always answering the same letter scores 0 with rotations, which is the start of the axis.
    baselines = (key for key in fmt.BASELINES if key != SAME_LETTER)
    metrics = ((key, report.summary.metrics.get(key)) for key in baselines)
    return tuple(
        charts.BaselineMark(fmt.metric_label(key), metric.value)
        for key, metric in metrics
        if metric is not None and metric.value is not None
    )
