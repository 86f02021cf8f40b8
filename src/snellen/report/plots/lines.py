"""Values with intervals over a numeric axis, such as training steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.summary import Interval
from snellen.report.plots.figure import DASHES, MARKERS, PALETTE, add_legend, add_tooltip, cycle, new_plot, plot_style
from snellen.report.ticks import round_ticks

if TYPE_CHECKING:
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
    keys = []
    ends: list[float] = []
    for index, (name, points) in enumerate(series.items()):
        colour, marker = cycle(PALETTE, index), cycle(MARKERS, index)
        style = {"color": colour, "linestyle": cycle(DASHES, index)}
        axes.plot([p.place for p in points], [p.value for p in points], lw=1.4, **style)
        for point in points:
            ends.append(point.value)
            if point.interval is not None:
                low, high = point.interval.low, point.interval.high
                ends += [low, high]
                axes.plot([point.place] * 2, [low, high], color=colour, lw=3.5, alpha=0.25)
            (mark,) = axes.plot(
                [point.place],
                [point.value],
                color=colour,
                marker=marker,
                markersize=6,
                markeredgecolor="white",
                markeredgewidth=0.6,
                clip_on=False,
            )
            add_tooltip(mark, f"{name}, {label} {point.place:g}: {point.value:.1f}")
            if point.sign:
                top = point.interval.high if point.interval is not None else point.value
                axes.annotate(
                    point.sign,
                    (point.place, top),
                    (0, 4),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                    color=colour,
                )
        keys.append(Line2D([], [], marker=marker, markersize=6, markeredgecolor="white", label=name, **style))
    used = {point.sign for points in series.values() for point in points}
    for sign, meaning in (signs or {}).items():
        if sign in used:
            keys.append(Line2D([], [], linestyle="none", label=f"{sign} {meaning}"))
    ticks = round_ticks(min(ends, default=0.0), max(ends, default=100.0))
    axes.set_ylim(ticks[0], ticks[-1])
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.grid(axis="y")
    axes.tick_params(axis="x", labelsize=8)
    places = {point.place for points in series.values() for point in points}
    if len(places) == 1:
        axes.set_xticks([*places], [f"{place:g}" for place in places])
    axes.set_xlabel(label)
    levels = {p.interval.level for points in series.values() for p in points if p.interval}
    named = " / ".join(f"{100 * level:g} %" for level in sorted(levels))
    axes.set_ylabel(f"points, with {named} intervals" if named else "points")
    add_legend(figure, keys, below=0.55)
    return figure
