"""The tables of the results of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from snellen.core.grouping import group_by
from snellen.core.run import Report, RunInfo
from snellen.core.summary import ANYTIME, Metric
from snellen.report import format as fmt
from snellen.report.document import Cell, Column, Table, estimate

BASELINE = "baseline"
"""Prefix of the names of baselines."""
SHORT_HEADINGS = {"by_rules": "no LLM", "vanilla": "vanilla"}
"""Column headings of metrics next to the score."""


class Baseline(NamedTuple):
    """The score of guessing on the questions of a board."""

    key: str
    label: str
    """E.g. `baseline: chance`."""
    metric: Metric
    run: RunInfo
    """The run on whose questions it is computed."""


def boards(runs: Sequence[Report]) -> list[list[Report]]:
    """The runs by table: a table has one benchmark and one headline."""
    order = fmt.table_order([report.run for report in runs]) if len(runs) > 1 else range(len(runs))
    ordered = (runs[index] for index in order)
    return list(group_by(ordered, lambda report: (report.run.benchmark, report.summary.headline.name)).values())


def baselines(board: Sequence[Report]) -> list[Baseline]:
    """Each baseline of a board once. If the runs asked different questions, it is that of the run
    that asked the most: `metric.n` says of how many."""
    largest: dict[str, Baseline] = {}
    for report in board:
        for key in fmt.BASELINES:
            metric = report.summary.metrics.get(key)
            if metric is not None and (key not in largest or metric.n > largest[key].metric.n):
                label = f"{BASELINE}: {fmt.metric_label(key)}"
                largest[key] = Baseline(key, label, metric, report.run)
    return [largest[key] for key in fmt.BASELINES if key in largest]


def board_table(board: Sequence[Report]) -> Table:
    """The runs of one board with score, interval, secondary metrics and n, then baselines."""
    levels = dict.fromkeys(fmt.level_text(report.summary.headline.interval) for report in board)
    more = tuple(dict.fromkeys(name for report in board for name in report.summary.beside))
    # A run that may stop early has a second interval, which is valid at such a stop.
    anytime = [ANYTIME] if any(ANYTIME in report.summary.metrics for report in board) else []
    columns = (
        Column("model", "name"),
        Column("score", "points", best="highest"),
        Column(f"{' / '.join(levels)} interval", "points"),
        *(Column("anytime interval", "points") for _ in anytime),
        *(Column(SHORT_HEADINGS.get(key, fmt.metric_label(key)), "points") for key in more),
        Column("n", "count"),
    )
    rows: list[tuple[Cell, ...]] = []
    for name, report in zip(fmt.run_labels(board), board, strict=True):
        headline, metrics = report.summary.headline, report.summary.metrics
        stops = [metrics[key].interval if key in metrics else "" for key in anytime]
        values = [metrics[key].value if key in metrics else "" for key in more]
        rows.append((name, headline.value, headline.interval, *stops, *values, headline.n))
    guesses = baselines(board)
    for guess in guesses:
        empty = [""] * (len(columns) - 3)
        rows.append((guess.label, guess.metric.value, *empty, guess.metric.n))
    return Table("", columns, rows, baselines=len(guesses))


def results_matrix(runs: Sequence[Report]) -> Table | None:
    """Runs by benchmarks, or benchmarks by runs if that is narrower; None unless there are several
    models and several benchmarks. A row is a model with what differs from the plain setting, so
    that no run replaces another."""
    benchmarks = list(dict.fromkeys(report.run.benchmark for report in runs))
    if len(benchmarks) < 2 or len({report.run.model for report in runs}) < 2:
        return None
    labels = _matrix_labels(runs)
    scores: dict[tuple[str, str], Cell] = {
        (label, report.run.benchmark): estimate(report.summary.headline)
        for label, report in zip(labels, runs, strict=True)
    }
    names = list(dict.fromkeys(labels))
    turned = len(benchmarks) > len(names)
    heads = names if turned else benchmarks
    first = Column("benchmark") if turned else Column("model", "name")
    columns = (first, *(Column(name, "points", best="highest") for name in heads))
    rows = [
        (side, *(scores.get((head, side) if turned else (side, head), "") for head in heads))
        for side in (benchmarks if turned else names)
    ]
    return Table("Results", columns, rows, best_in_rows=turned, on_terminal="untitled")


def _matrix_labels(runs: Sequence[Report]) -> list[str]:
    """The labels of the runs within their benchmarks; equal ones of a benchmark are numbered."""
    labels: dict[int, str] = {}
    for benchmark in dict.fromkeys(report.run.benchmark for report in runs):
        indices = [index for index, one in enumerate(runs) if one.run.benchmark == benchmark]
        infos = [runs[index].run for index in indices]
        counts: dict[str, int] = {}
        names = fmt.run_info_labels(infos, metric_named=False)
        for index, name in zip(indices, names, strict=True):
            counts[name] = counts.get(name, 0) + 1
            labels[index] = name if counts[name] == 1 else f"{name} #{counts[name]}"
    return [labels[index] for index in range(len(runs))]


def further_metrics(report: Report) -> Table | None:
    """The metrics of a run that its board does not have; None if there are none."""
    summary = report.summary
    displayed = {summary.headline.name, *summary.beside, *fmt.BASELINES, ANYTIME}
    metrics = [metric for name, metric in summary.metrics.items() if name not in displayed]
    if not metrics:
        return None
    rows = [(fmt.metric_label(metric.name), *_number_cells(metric)) for metric in metrics]
    return Table("further metrics", _number_columns("metric", "value"), rows, on_terminal="untitled")


def group_tables(board: Sequence[Report]) -> Iterator[Table]:
    """The scores by group, a table for each group column with more than one group: with interval
    and n for one run, with a column for each of several, which a terminal leaves out."""
    columns = dict.fromkeys(
        column for report in board for column, labels in report.summary.groups.items() if len(labels) > 1
    )
    if len(board) == 1:
        yield from _groups_of_one(board[0], list(columns))
        return
    for column in columns:
        having = [report for report in board if column in report.summary.groups]
        yield _groups_of_several(column, having)


def _group_title(column: str) -> str:
    return f"by {fmt.display_name(column)}"


def _groups_of_one(report: Report, columns: Sequence[str]) -> Iterator[Table]:
    """Groupings with another metric of the same groups become columns of the first one."""
    groups = report.summary.groups
    merged: set[str] = set()
    for column in columns:
        if column in merged:
            continue
        metrics = groups[column]
        more = [other for other in columns if _adds_metric(groups[other], metrics)]
        merged.update(more)
        rows = [
            (
                fmt.display_name(label),
                *_number_cells(metric),
                *(groups[one][label].value if label in groups[one] else "" for one in more),
            )
            for label, metric in metrics.items()
        ]
        headings = _number_columns(fmt.display_name(column), "score")
        headings += [Column(fmt.metric_label(other), "points") for other in more]
        yield Table(_group_title(column), headings, rows, on_terminal="untitled")


def _adds_metric(labels: Mapping[str, Metric], metrics: Mapping[str, Metric]) -> bool:
    """Whether `labels` are among the groups of `metrics`, with another metric."""
    names = {metric.name for metric in labels.values()}
    return labels.keys() <= metrics.keys() and not names & {metric.name for metric in metrics.values()}


def _groups_of_several(column: str, board: Sequence[Report]) -> Table:
    groups = dict.fromkeys(group for report in board for group in report.summary.groups[column])
    rows = []
    for group in groups:
        metrics = [report.summary.groups[column].get(group) for report in board]
        scores = [estimate(metric) if metric else "" for metric in metrics]
        counts = dict.fromkeys(fmt.count_text(metric.n) for metric in metrics if metric)
        rows.append((fmt.display_name(group), *scores, " / ".join(counts)))
    columns = (
        Column(fmt.display_name(column)),
        *(Column(name, "points", best="highest") for name in fmt.run_labels(board)),
        Column("n", "count"),
    )
    return Table(_group_title(column), columns, rows, best_in_rows=True, on_terminal="left out")


def _number_columns(first: str, value: str) -> list[Column]:
    names = (value, "interval")
    return [Column(first), *(Column(name, "points") for name in names), Column("n", "count")]


def _number_cells(metric: Metric) -> tuple[Cell, Cell, Cell]:
    return metric.value, metric.interval, metric.n
