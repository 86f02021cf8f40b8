"""The score of a run over the token budget of a reply, as rows of its page."""

from __future__ import annotations

from typing import NamedTuple

from snellen.analysis.findings.reply_budgets import BudgetPoint, budget_curve, token_counts, usual_budgets
from snellen.core.run import Report
from snellen.core.summary import Metric
from snellen.report.page import charts
from snellen.store.runs import RunFolder


class BudgetRow(NamedTuple):
    """One budget with its score as a bar."""

    point: BudgetPoint
    metric: Metric
    bar: str


class BudgetTable(NamedTuple):
    """The rows over one axis."""

    axis: str
    rows: tuple[BudgetRow, ...]


def budget_table(run: RunFolder, report: Report) -> BudgetTable | None:
    """The scores with fewer tokens a reply. None unless replies were cut, in this run or in the one
    that it extends: elsewhere its limit decides nothing. None too without counts of tokens."""
    config = report.run.config
    if not report.summary.outcomes.get("truncated") and config.extend_truncated is None:
        return None
    counts = token_counts(run.records())
    if not counts.draws:
        return None
    budgets = usual_budgets(counts.draws, config.longest_reply)
    early = config.parameters.get("circular") == "early"
    points = list(budget_curve(counts.draws, budgets, stops_early=early))
    metrics = [_metric(point) for point in points]
    scale = charts.axis(metrics)
    rows = zip(points, metrics, (charts.bar(metric, scale) for metric in metrics), strict=True)
    return BudgetTable(charts.axis_labels(scale), tuple(BudgetRow(*row) for row in rows))


def _metric(point: BudgetPoint) -> Metric:
    return Metric(f"{point.budget} tokens", point.score, point.samples, point.score_interval)
