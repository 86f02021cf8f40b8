"""Values with intervals over a numeric axis, such as training steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.summary import Interval
from snellen.report.plots.figure import DASHES, PALETTE, add_legend, cycle, draw_mark, new_plot, plot_style, series_keys
from snellen.report.ticks import round_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 5.6, 3.0


class LinePoint(NamedTuple):
    """A value at a place on the axis; `sign` is written above its interval."""

    place: float
    value: float
    interval: Interval | None = None
    sign: str = ""


@plot_style()
def line_plot(
    title: str, series: Mapping[str, Sequence[LinePoint]], *, label: str = "", signs: Mapping[str, str] | None = None
) -> Figure:
    """A line for each series, with the intervals as bars; series differ in marker and dash.

    `label` names the horizontal axis, `signs` says what each sign means. Raises MissingExtra
    without matplotlib.
    """
    from matplotlib.lines import Line2D

    figure, axes = new_plot(_WIDTH, _HEIGHT, title)
    for index, (name, points) in enumerate(series.items()):
        tooltips = [f"{name}, {label} {point.place:g}: {point.value:.1f}" for point in points]
        draw_line(axes, index, points, tooltips)
    every = [point for points in series.values() for point in points]
    keys = series_keys(series, lines=True)
    used = {point.sign for point in every}
    for sign, meaning in (signs or {}).items():
        if sign in used:
            keys.append(Line2D([], [], linestyle="none", label=f"{sign} {meaning}"))
    intervals = [point.interval for point in every if point.interval is not None]
    ends = [point.value for point in every] + [end for each in intervals for end in (each.low, each.high)]
    ticks = round_ticks(min(ends, default=0.0), max(ends, default=100.0))
    axes.set_ylim(ticks[0], ticks[-1])
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.grid(axis="y")
    axes.tick_params(axis="x", labelsize=8)
    places = {point.place for point in every}
    if len(places) == 1:
        axes.set_xticks([*places], [f"{place:g}" for place in places])
    axes.set_xlabel(label)
    named = " / ".join(f"{100 * level:g} %" for level in sorted({each.level for each in intervals}))
    axes.set_ylabel(f"points, with {named} intervals" if named else "points")
    add_legend(figure, keys, below=0.55)
    return figure


def draw_line(axes: Axes, index: int, points: Sequence[LinePoint], tooltips: Sequence[str]) -> None:
    """The points of the series `index` with their intervals and signs, joined by a line."""
    colour = cycle(PALETTE, index)
    places, values = [point.place for point in points], [point.value for point in points]
    axes.plot(places, values, lw=1.4, color=colour, linestyle=cycle(DASHES, index))
    for point, tooltip in zip(points, tooltips, strict=True):
        top = point.value
        if point.interval is not None:
            top = point.interval.high
            axes.plot([point.place] * 2, [point.interval.low, top], color=colour, lw=3.5, alpha=0.25)
        draw_mark(axes, index, point.place, point.value, tooltip)
        if point.sign:
            axes.annotate(
                point.sign,
                (point.place, top),
                (0, 4),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=colour,
            )
