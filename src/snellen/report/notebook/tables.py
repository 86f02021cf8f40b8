"""Runs and comparisons as tables in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from snellen.analysis.comparison.deviations import deviations
from snellen.analysis.comparison.paired import RunComparison
from snellen.core.run import Report
from snellen.report import format as fmt
from snellen.report.notebook import fragments as html
from snellen.report.terminal.comparison import (
    TextTable,
    comparison_tables,
    groups_legend,
    legend,
    notices,
    verdicts,
)

CHANCE = "chance"


class RunWithPage(NamedTuple):
    """A run with its numbers, and the page that has more, if there is one."""

    report: Report
    page: Path | None


def runs_html(runs: Sequence[RunWithPage], remarks: Iterable[str] = ()) -> str:
    """A table of runs: score with interval, n, outcomes, what differs from the plain setting of the
    benchmark, and a link to the page; below it notices and `remarks`."""
    ordered = sorted(runs, key=lambda run: list(_benchmarks(runs)).index(_key(run.report)))
    levels = dict.fromkeys(fmt.level_text(run.report.summary.headline.interval) for run in ordered)
    interval = f"{' / '.join(levels)} interval"
    headings = ("benchmark", "model", "score", "", interval, "n", "outcomes", "setting", "")
    rows: list[str] = []
    for index, run in enumerate(ordered):
        is_first = not index or _key(ordered[index - 1].report) != _key(run.report)
        rows.append(_run_row(run, is_first and index > 0, is_first))
        is_last = index + 1 == len(ordered) or _key(ordered[index + 1].report) != _key(run.report)
        if is_last:
            rows += _baseline_rows(run.report)
    sentences = [
        f"{run.report.run.model} on {run.report.run.benchmark}: {notice}"
        for run in ordered
        for notice in fmt.notices(run.report, command=False)
    ]
    table = html.table(headings, rows, (2, 4, 5)) if rows else ""
    return html.block(table, html.notes((*sentences, *remarks)))


def _benchmarks(runs: Sequence[RunWithPage]) -> dict[tuple[str, str], None]:
    return dict.fromkeys(_key(run.report) for run in runs)


def _key(report: Report) -> tuple[str, str]:
    """Runs of one table have one benchmark, data and headline."""
    return (report.run.benchmark, report.summary.headline.name)


def _run_row(run: RunWithPage, has_line: bool, names_benchmark: bool) -> str:
    report, headline = run.report, run.report.summary.headline
    chance = report.summary.metrics.get(CHANCE)
    bar = ""
    if headline.unit == "percent":
        bar = html.interval_bar(
            headline.value, headline.interval, chance.value if chance is not None else None
        )
    setting = "; ".join(deviation.label for deviation in deviations(report.run))
    metric = fmt.metric_label(headline.name)
    name = f"<b>{html.text(report.run.benchmark)}</b>" if names_benchmark else ""
    if names_benchmark and metric != "accuracy":
        name += f'<br><span style="{html.DIM}">{html.text(metric)}</span>'
    cells = [
        html.cell(name),
        html.cell(html.text(report.run.model)),
        html.cell(f"<b>{html.text(fmt.score_text(headline.value))}</b>", number=True),
        html.cell(bar),
        html.cell(html.text(fmt.interval_text(headline.interval)), number=True),
        html.cell(html.text(fmt.count_text(headline.n)), number=True),
        html.cell(html.text(fmt.outcomes_text(report) or "all answered")),
        html.cell(html.text(setting or "plain")),
        html.cell(html.link(run.page, "page") if run.page is not None else ""),
    ]
    return html.row(cells, f"border-top:1px solid {html.LINE}" if has_line else "")


def _baseline_rows(report: Report) -> Iterator[str]:
    """What guessing scores, dimmed."""
    for key in fmt.BASELINES:
        if key in report.summary.metrics:
            metric = report.summary.metrics[key]
            cells = [
                html.cell(""),
                html.cell(html.text(fmt.metric_label(key))),
                html.cell(html.text(fmt.score_text(metric.value)), number=True),
                *[html.cell("") for _ in range(6)],
            ]
            yield html.row(cells, html.DIM)


def comparison_html(comparison: RunComparison) -> str:
    """The tables of `snellen compare`."""
    parts = [html.notes(notices(comparison))]
    for grid in comparison_tables(comparison):
        if grid.title:
            parts.append(f"<div><b>{html.text(grid.title)}</b></div>")
        parts.append(_grid(grid))
        if not grid.title:
            parts.append(html.notes([legend(comparison)]))
    if groups_legend(comparison):
        parts.append(html.notes([groups_legend(comparison)]))
    parts.append(html.notes(verdicts(comparison), ""))
    return html.block(*parts)


def _grid(grid: TextTable) -> str:
    numbers = range(grid.text_columns, len(grid.headings))
    rows = (
        html.row(
            html.cell(html.text(value), number=index in numbers)
            for index, value in enumerate(cells)
        )
        for cells in grid.rows
    )
    return html.table(grid.headings, rows, numbers)
