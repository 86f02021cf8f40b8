"""The score of a run over the token budget of a reply, as rows of its page."""

from __future__ import annotations

from typing import NamedTuple

from snellen.analysis.findings.reply_budgets import BudgetPoint, budget_curve, token_counts, usual_budgets
from snellen.core.run import Report
from snellen.core.summary import Metric
from snellen.report.ticks import Scale, metric_scale
from snellen.store.runs import RunFolder


class BudgetTable(NamedTuple):
    """Each budget with its score as a bar, over one scale."""

    rows: tuple[tuple[BudgetPoint, Metric], ...]

    @property
    def scale(self) -> Scale:
        return metric_scale([metric for _, metric in self.rows])


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
    points = budget_curve(counts.draws, budgets, stops_early=early)
    return BudgetTable(
        tuple((one, Metric(f"{one.budget} tokens", one.score, one.samples, one.score_interval)) for one in points)
    )
