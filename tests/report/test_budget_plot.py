"""The axes of the plot of scores over token budgets."""

from __future__ import annotations

import pytest

from snellen.analysis.findings.reply_budgets import BudgetPoint
from snellen.report.plots.budgets import BudgetSeries, budget_plot


def point(budget: int, score: float) -> BudgetPoint:
    return BudgetPoint(
        budget=budget,
        samples=10,
        cut=0,
        score=score,
        score_interval=None,
        tokens=100.0,
        right_per_million=10 * score,
        right_interval=None,
    )


@pytest.mark.parametrize(
    ("scores", "ticks"),
    [((1.0, 17.0), [0, 5, 10, 15, 20]), ((20.0, 98.0), [0, 25, 50, 75, 100]), ((80.0, 99.0), [70, 80, 90, 100])],
)
def test_the_scores_have_even_steps_over_their_own_range(scores: tuple[float, float], ticks: list[float]) -> None:
    points = [point(128, scores[0]), point(256, scores[1])]
    axes = budget_plot("", [BudgetSeries("a", points, {})]).axes[0]
    assert list(axes.get_yticks()) == ticks
    assert tuple(axes.get_ylim()) == (ticks[0], ticks[-1])
