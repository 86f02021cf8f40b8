"""Score, and right answers per million tokens, over the token budget of a reply."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.analysis.findings.reply_budgets import BudgetPoint
from snellen.core.summary import Interval
from snellen.report.plots.figure import (
    MARKERS,
    PALETTE,
    add_legend,
    add_tooltip,
    cycle,
    new_plot,
    plot_style,
    series_keys,
)
from snellen.report.plots.lines import LinePoint, draw_line
from snellen.report.ticks import round_ticks

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 5.6, 2.3
_GAP = 0.3
"""Space between the two panels, as a fraction of their height."""


class BudgetSeries(NamedTuple):
    """The curve of one run, and by budget the score of another run with exactly that limit."""

    name: str
    points: Sequence[BudgetPoint]
    measured: Mapping[int, float | None]


@plot_style()
def budget_plot(title: str, series: Sequence[BudgetSeries]) -> Figure:
    """Two panels over one axis of budgets, which is logarithmic: points with their intervals.

    Raises MissingExtra without matplotlib.
    """
    figure, scores = new_plot(_WIDTH, _HEIGHT, title)
    rates = figure.add_axes((0, -1 - _GAP, 1, 1))
    for spine in rates.spines.values():
        spine.set_visible(False)
    for index, (name, points, measured) in enumerate(series):
        _draw(scores, index, name, [(p.budget, p.score, p.score_interval) for p in points])
        _draw(rates, index, name, [(p.budget, p.right_per_million, p.right_interval) for p in points])
        for budget, score in measured.items():
            if score is not None:
                (mark,) = scores.plot([math.log2(budget)], [score], **_ring(cycle(MARKERS, index)))
                mark.set_markeredgecolor(cycle(PALETTE, index))
                add_tooltip(mark, f"measured with {budget:,} tokens: {score:.1f}")
    budgets = sorted({point.budget for each in series for point in each.points})
    _label_axes(scores, budgets, "points, with 95 % intervals", 100.0)
    _label_axes(rates, budgets, "right per million tokens", None)
    scores.tick_params(axis="x", labelbottom=False)
    rates.set_xlabel("tokens of a reply, at most")
    add_legend(figure, _keys(series), below=0.6 + (1 + _GAP) * _HEIGHT)
    return figure


def _ring(marker: str) -> dict[str, Any]:
    return {"linestyle": "none", "marker": marker, "markersize": 9, "color": "none", "clip_on": False}


def _keys(series: Sequence[BudgetSeries]) -> list[Artist]:
    from matplotlib.lines import Line2D

    keys = series_keys((each.name for each in series), lines=True)
    if any(score is not None for each in series for score in each.measured.values()):
        keys.append(Line2D([], [], **_ring("o"), markeredgecolor="black", label="a run with this limit"))
    return keys


def _draw(axes: Axes, index: int, name: str, points: Sequence[tuple[int, float, Interval | None]]) -> None:
    places = [LinePoint(math.log2(budget), value, interval) for budget, value, interval in points]
    draw_line(axes, index, places, [f"{name}, {budget:,} tokens: {value:,.1f}" for budget, value, _ in points])


def _label_axes(axes: Axes, budgets: Sequence[int], label: str, end: float | None) -> None:
    """Ticks at the budgets and at round values; `end` is the highest value that can occur."""
    low, high = axes.get_ylim()
    low = max(0.0, low) if low > 0.3 * high else 0.0
    ticks = round_ticks(low, high)
    if end is not None and ticks[-1] > end:
        ticks = round_ticks(low, end, end)
    axes.set_ylim(ticks[0], ticks[-1])
    axes.set_yticks(ticks, [f"{tick:,g}" for tick in ticks])
    places = [math.log2(budget) for budget in budgets]
    axes.set_xticks(places, [f"{budget:,}" for budget in budgets])
    axes.tick_params(axis="x", labelsize=8)
    axes.set_ylabel(label)
    axes.grid(axis="y")
