"""Runs and comparisons as tables in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from snellen.analysis.comparison.deviations import deviations
from snellen.core.benchmark import CHANCE
from snellen.core.run import Report
from snellen.models.naming.spec import short_name
from snellen.report import format as fmt
from snellen.report.documents.result_tables import Baseline, baselines, boards
from snellen.report.notebook import fragments as html


class RunWithPage(NamedTuple):
    """A run with its numbers, and the page that has more, if there is one."""

    report: Report
    page: Path | None


def runs_html(runs: Sequence[RunWithPage], remarks: Iterable[str] = ()) -> str:
    """A table of runs: score with interval, n, outcomes, what differs from the plain setting of the
    benchmark, and a link to the page; below it notices and `remarks`."""
    reports = [run.report for run in runs]
    pages = {id(run.report): run.page for run in runs}
    levels = dict.fromkeys(fmt.level_text(report.summary.headline.interval) for report in reports)
    interval = f"{' / '.join(levels)} interval"
    headings = ("benchmark", "model", "score", "", interval, "n", "outcomes", "setting", "")
    rows: list[str] = []
    for board in boards(reports):
        for report in board:
            is_first = report is board[0]
            style = f"border-top:1px solid {html.LINE}" if is_first and rows else ""
            rows.append(html.row(_run_cells(report, pages[id(report)], is_first), style))
        rows += map(_baseline_row, baselines(board))
    sentences = [
        f"{report.run.model} on {report.run.benchmark}: {notice}"
        for report in reports
        for notice in fmt.notices(report, command=False)
    ]
    table = html.table(headings, rows, (2, 4, 5)) if rows else ""
    return html.block(table, html.notes((*sentences, *remarks)))


def _run_cells(report: Report, page: Path | None, names_benchmark: bool) -> list[str]:
    """The cells of a run: benchmark, model, score with its drawing, n, outcomes, settings, page."""
    headline = report.summary.headline
    chance = report.summary.metrics.get(CHANCE)
    bar = ""
    if headline.unit == "percent":
        bar = html.interval_bar(headline.value, headline.interval, chance.value if chance is not None else None)
    # Options of the model stand in its name.
    setting = [each.label for each in deviations(report.run) if each.key != "model_options"]
    metric = fmt.metric_label(headline.name)
    name = f"<b>{html.text(report.run.benchmark)}</b>" if names_benchmark else ""
    if names_benchmark and metric != "accuracy":
        name += f'<br><span style="{html.DIM}">{html.text(metric)}</span>'
    return [
        html.cell(name),
        html.cell(html.text(short_name(report.run.model))),
        html.cell(f"<b>{html.text(fmt.score_text(headline.value))}</b>", number=True),
        html.cell(bar),
        html.cell(html.text(fmt.interval_text(headline.interval)), number=True),
        html.cell(html.text(fmt.count_text(headline.n)), number=True),
        html.cell(html.text(fmt.outcomes_text(report) or "all answered")),
        html.cell(html.text("; ".join(setting) or "plain")),
        html.cell(html.link(page, "page") if page is not None else ""),
    ]


def _baseline_row(baseline: Baseline) -> str:
    """A row for the score of guessing, dimmed."""
    score = html.text(fmt.score_text(baseline.metric.value))
    cells = ["", html.text(baseline.label), score, *[""] * 6]
    return html.row((html.cell(content, number=index == 2) for index, content in enumerate(cells)), html.DIM)
