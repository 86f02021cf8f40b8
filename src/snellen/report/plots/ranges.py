"""Distributions as ranges: a thin line for most values, a thick one for the middle half, and a mark
at the median."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from snellen.report.plots.figure import (
    MARKERS,
    PALETTE,
    add_legend,
    add_tooltip,
    cycle,
    new_plot,
    plot_style,
)
from snellen.report.ticks import round_ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH, _ROW = 4.8, 0.26


class ValueRange(NamedTuple):
    """Quantiles of a distribution."""

    low: float
    first_quarter: float
    median: float
    third_quarter: float
    high: float


@plot_style()
def range_plot(
    title: str, series: Mapping[str, Mapping[str, ValueRange]], *, label: str, part: str = "90 %"
) -> Figure:
    """Rows with a range for each series, those of a row below each other; series differ in marker.

    The axis begins at 0 and is named `label`; `part` is the share of values from `low` to `high`.
    Raises MissingExtra without matplotlib.
    """
    from matplotlib.lines import Line2D

    rows = list(dict.fromkeys(row for ranges in series.values() for row in ranges))
    height = max(_ROW, 0.12 * len(series) + 0.1) * max(1, len(rows))
    figure, axes = new_plot(_WIDTH, height, title)
    ends = [one.high for ranges in series.values() for one in ranges.values()]
    ticks = round_ticks(0.0, max(ends, default=1.0) or 1.0)
    axes.set_xlim(ticks[0], ticks[-1])
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), rows)
    axes.grid(axis="x")
    axes.set_xlabel(f"{label}: median, middle half, {part}")
    for index, (name, ranges) in enumerate(series.items()):
        colour, marker = cycle(PALETTE, index), cycle(MARKERS, index)
        shift = (index - (len(series) - 1) / 2) * 0.7 / len(series)
        for y, row in enumerate(rows):
            if row not in ranges:
                continue
            one, place = ranges[row], y + shift
            axes.plot([one.low, one.high], [place] * 2, color=colour, lw=1.0)
            axes.plot([one.first_quarter, one.third_quarter], [place] * 2, color=colour, lw=4,
                      alpha=0.35, solid_capstyle="butt")  # fmt: skip
            (mark,) = axes.plot(
                [one.median], [place], color=colour, marker=marker, markersize=5.5,
                markeredgecolor="white", markeredgewidth=0.6, clip_on=False,
            )  # fmt: skip
            add_tooltip(mark, f"{name}, {row}: median {one.median:g}, {one.low:g} to {one.high:g}")
    if len(series) > 1:
        keys = [
            Line2D(
                [], [], color=cycle(PALETTE, index), marker=cycle(MARKERS, index), lw=1.0,
                label=name, markersize=5.5, markeredgecolor="white",
            )
            for index, name in enumerate(series)
        ]  # fmt: skip
        add_legend(figure, keys, below=0.5)
    return figure
