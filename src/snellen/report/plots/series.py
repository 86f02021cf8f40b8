"""Values of several series over the same rows: a dot plot, a radar, stacked bars; and the scores of
runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.core.run import Report
from snellen.core.summary import Interval
from snellen.report import format as fmt
from snellen.report.documents.result_tables import boards
from snellen.report.plots.figure import (
    DASHES,
    FAINT,
    GRID,
    HATCHES,
    PALETTE,
    add_legend,
    add_tooltip,
    cycle,
    draw_mark,
    new_plot,
    plot_style,
    series_keys,
    set_title,
    to_tint,
)
from snellen.report.ticks import round_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 4.8
"""Inches of an axis of values."""
_ROW = 0.24
_LANE = 0.1
"""Inches of a row, and of each series in a row whose series lie one above the other."""
_RADIUS, _LINE = 1.9, 0.17
"""Inches of a radar, and of a line of text."""
_CENTRAL = 0.08
"""Names of spokes whose sine is below this stand above or below the circle, not beside it."""
_MAX_FILLED = 3
"""Areas of more series than this would hide one another."""
_MIN_SHARE_LABELLED = 0.06
_PANEL_GAP = 0.72
"""Inches between two panels, for the numbers of one axis and the title of the next panel."""
_CHANCE = "chance"
"""The metric that says what guessing scores."""


class Value(NamedTuple):
    value: float
    interval: Interval | None = None


Series = Mapping[str, Mapping[str, Value]]
"""Series (a model, a setting) to row (an ability, a model) to value; a row may be absent."""


@plot_style()
def dot_plot(
    title: str, series: Series, *, top: float = 100.0, connect: bool = True, fit_axis: bool = False, label: str = ""
) -> Figure:
    """Rows with a mark for each series, and its interval as a line.

    `connect` draws a bar from a row's lowest to its highest value. The axis runs from 0 to `top`,
    or, if `fit_axis`, just around the values; its name is `label`, or else "points" with the level
    of the intervals.
    """
    rows = list(dict.fromkeys(row for values in series.values() for row in values))
    intervals = [value.interval for values in series.values() for value in values.values() if value.interval]
    # Marks of one row get a lane each where their intervals would lie on each other.
    lanes = len(series) if len(series) > 1 and (intervals or not connect) else 1
    row_height = max(_ROW, _LANE * lanes + 0.08)
    height = row_height * max(1, len(rows))
    figure, axes = new_plot(_WIDTH, height, title)
    ticks = round_ticks(*_value_range(series, top, fit_axis), end=None if fit_axis else top)
    _label_rows(axes, rows, ticks)
    axes.set_xlabel(label or _points_label(intervals))
    if ticks[0] < 0 < ticks[-1]:
        axes.axvline(0, color=FAINT, linewidth=0.8)
    if lanes > 1:
        axes.hlines([row - 0.5 for row in range(1, len(rows))], ticks[0], ticks[-1], GRID, lw=0.6)
    elif connect and len(series) > 1:
        for y, row in enumerate(rows):
            present = [values[row].value for values in series.values() if row in values]
            axes.plot([min(present), max(present)], [y, y], color=GRID, lw=4, zorder=1)
    for index, (name, values) in enumerate(series.items()):
        shift = (index - (lanes - 1) / 2) * _LANE / row_height if lanes > 1 else 0.0
        for y, row in enumerate(rows):
            if row in values:
                _draw_value(axes, index, values[row], y + shift, f"{name}, {row}")
    add_legend(figure, series_keys(series, lines=False), below=0.5)
    return figure


def _draw_value(axes: Axes, index: int, value: Value, y: float, name: str) -> None:
    if value.interval is not None:
        axes.plot([value.interval.low, value.interval.high], [y, y], color=cycle(PALETTE, index), lw=1.1)
    draw_mark(axes, index, value.value, y, f"{name}: {value.value:.1f}")


def _value_range(series: Series, top: float, fit_axis: bool) -> tuple[float, float]:
    values = [value for row in series.values() for value in row.values()]
    ends = [value.value for value in values]
    for value in values:
        if value.interval is not None:
            ends += [value.interval.low, value.interval.high]
    low = min(ends, default=0.0)
    return (low if fit_axis else min(0.0, low)), (max(ends, default=top) if fit_axis else top)


def _points_label(intervals: Sequence[Interval]) -> str:
    levels = " / ".join(dict.fromkeys(f"{100 * each.level:g} %" for each in intervals))
    return f"points, with {levels} intervals" if levels else "points"


@plot_style()
def results_plot(reports: Sequence[Report]) -> Figure:
    """The scores of runs with their intervals, a panel for each benchmark and metric; what guessing
    scores is a dashed line."""
    from matplotlib.lines import Line2D

    panels = boards(reports)
    figure, axes = new_plot(_WIDTH, _ROW * max(map(len, panels[:1]), default=1))
    figure.set_label(f"Scores on {', '.join(panel[0].run.benchmark for panel in panels)}")
    height, top = figure.get_size_inches()[1], 0.0
    chances = []
    for index, board in enumerate(panels):
        tall = _ROW * len(board)
        if index:
            axes = figure.add_axes((0, (top - tall) / height, 1, tall / height), frame_on=False)
        else:
            top = tall
        metric = fmt.metric_label(board[0].summary.headline.name)
        set_title(axes, f"{board[0].run.benchmark}, {metric}", _WIDTH, pad=8)
        chances.append(_draw_scores(axes, board))
        top -= tall + _PANEL_GAP
    intervals = [report.summary.headline.interval for report in reports]
    axes.set_xlabel(_points_label([interval for interval in intervals if interval]))
    if any(chances):
        key = Line2D([], [], color=FAINT, linestyle="--", linewidth=1, label=_CHANCE)
        axes.legend(handles=[key], loc="upper right", bbox_to_anchor=(1, -0.25 / tall), borderaxespad=0)
    return figure


def _draw_scores(axes: Axes, board: Sequence[Report]) -> bool:
    """Draw the headlines of the runs of one panel. Returns whether chance is drawn too."""
    metrics = [report.summary.headline for report in board]
    values = {
        name: Value(metric.value, metric.interval)
        for name, metric in zip(fmt.run_labels(board), metrics, strict=True)
        if metric.value is not None
    }
    top = max(metric.top for metric in metrics)
    _label_rows(axes, [*values], round_ticks(*_value_range({"": values}, top, False), end=top))
    for y, (name, value) in enumerate(values.items()):
        _draw_value(axes, 0, value, y, name)
    guesses = [one.summary.metrics[_CHANCE] for one in board if _CHANCE in one.summary.metrics]
    chance = max(guesses, key=lambda metric: metric.n, default=None)
    if chance is None or chance.value is None:
        return False
    axes.axvline(chance.value, color=FAINT, linestyle="--", linewidth=1, zorder=1)
    return True


def _label_rows(axes: Axes, rows: Sequence[str], ticks: Sequence[float]) -> None:
    """Set the rows, from top to bottom, and the axis of values."""
    axes.set_xlim(ticks[0], ticks[-1])
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), rows)
    axes.grid(axis="x")


@plot_style()
def radar_plot(title: str, series: Series, *, top: float = 100.0) -> Figure:
    """A line around a centre for each series, a spoke for each row that all of them have; the
    outer ring is `top` (MMBench Fig. 1, MME Fig. 3). Intervals are bars along the spokes."""
    first = next(iter(series.values()))
    spokes = [row for row in first if all(row in values for values in series.values())]
    angles = [2 * math.pi * index / len(spokes) for index in range(len(spokes))]
    figure, axes = new_plot(2 * _RADIUS, 2 * _RADIUS, projection="polar")
    figure.set_label(title)
    polar: Any = axes
    polar.set_theta_zero_location("N")
    polar.set_theta_direction(-1)
    # The numbers of the rings stand between two spokes, where no mark hides them.
    polar.set_rlabel_position(180 / max(3, len(spokes)))
    ticks = round_ticks(0, top, end=top)
    axes.set_ylim(0, top)
    axes.set_yticks(ticks[1:], [f"{tick:g}" for tick in ticks[1:]], fontsize=7, color=FAINT)
    axes.set_xticks(angles, [""] * len(spokes))
    for index, (name, values) in enumerate(series.items()):
        shown = [values[spoke] for spoke in spokes]
        heights = [min(top, max(0.0, value.value)) for value in shown]
        colour = cycle(PALETTE, index)
        around = [*angles, angles[0]], [*heights, heights[0]]
        axes.plot(*around, color=colour, linestyle=cycle(DASHES, index), lw=1.6)
        if len(series) <= _MAX_FILLED:
            axes.fill(*around, color=colour, alpha=0.06, lw=0)
        for angle, height, spoke, (value, interval) in zip(angles, heights, spokes, shown, strict=True):
            if interval is not None:
                ends = [max(0.0, interval.low), min(top, interval.high)]
                axes.plot([angle] * 2, ends, color=colour, lw=3.5, alpha=0.25)
            draw_mark(axes, index, angle, height, f"{name}, {spoke}: {value:.1f}", size=5)
    above, below = _name_spokes(axes, angles, spokes)
    set_title(axes, title, 2 * _RADIUS, pad=72 * above)
    add_legend(figure, series_keys(series, lines=True), below=below)
    return figure


def _name_spokes(axes: Axes, angles: Sequence[float], spokes: Sequence[str]) -> tuple[float, float]:
    """Write the names around the circle, one below the other on each side. Returns the inches that
    they need above and below it."""
    reach = {1: 0.0, -1: 0.0}
    used: dict[tuple[int, int], float] = {}
    # From the middle of the circle up and down, so that names are moved away from it.
    for angle, name in sorted(zip(angles, spokes, strict=True), key=lambda at: abs(math.cos(at[0]))):
        x, y = (1.07 * _RADIUS * part for part in (math.sin(angle), math.cos(angle)))
        up = 1 if y >= 0 else -1
        side = 0 if abs(math.sin(angle)) < _CENTRAL else int(math.copysign(1, x))
        taken = max(used.get((up, one), -_LINE) for one in ((side,) if side else (-1, 0, 1)))
        height = max(abs(y), taken + _LINE) if taken > -_LINE or not side else abs(y)
        used[up, side] = height
        reach[up] = max(reach[up], height)
        axes.text(
            0.5 + x / (2 * _RADIUS),
            0.5 + up * height / (2 * _RADIUS),
            name,
            ha=("center", "left", "right")[side],
            va="center",
            transform=axes.transAxes,
        )
    above, below = (reach[up] - _RADIUS + _LINE for up in (1, -1))
    return max(0.3, above), max(0.3, below)


@plot_style()
def stacked_bars(title: str, rows: Mapping[str, Mapping[str, float]]) -> Figure:
    """Each row a bar of its parts, as shares of their sum in percent; the parts are in the order
    of the first row. A part's percentage is in it where there is room."""
    from matplotlib.patches import Patch

    figure, axes = new_plot(_WIDTH, 0.38 * max(1, len(rows)), title)
    axes.set_xlim(0, 100)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks([])
    kinds = dict.fromkeys(kind for parts in rows.values() for kind in parts)
    paints = {kind: _paint(index) for index, kind in enumerate(kinds)}
    for y, (row, parts) in enumerate(rows.items()):
        total, left = sum(parts.values()) or 1.0, 0.0
        for kind, paint in paints.items():
            share = 100 * parts.get(kind, 0.0) / total
            if share <= 0:
                continue
            (bar,) = axes.barh(y, share, 0.72, left, **paint)
            add_tooltip(bar, f"{row}, {kind}: {share:.1f} %")
            if share >= 100 * _MIN_SHARE_LABELLED:
                ground = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
                middle = left + share / 2
                axes.text(middle, y, f"{share:.1f}", ha="center", va="center", fontsize=8, bbox=ground)
            left += share
    add_legend(figure, [Patch(label=kind, **paint) for kind, paint in paints.items()], below=0.12)
    return figure


def _paint(index: int) -> dict[str, Any]:
    """The colours and the hatch of a part."""
    colour = cycle(PALETTE, index)
    return {"facecolor": to_tint(colour), "edgecolor": colour, "hatch": cycle(HATCHES, index), "linewidth": 0.8}
