"""A curve as a figure for papers and slides: an SVG or PNG file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snellen.report import format as fmt
from snellen.report.plots.lines import LinePoint, line_plot
from snellen.tracking.curve import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_SIGNS = {"better": "▲", "regression": "▼"}


def curve_plot(curve: Curve) -> Figure:
    """Scores with intervals over steps, a line for each benchmark; points that changed beyond
    chance are marked. Raises MissingExtra without matplotlib."""
    series = {
        f"{benchmark}, {fmt.metric_label(points[0].headline.name)}": [
            LinePoint(point.step, point.score, point.headline.interval, _SIGNS.get(point.change, ""))
            for point in points
            if point.score is not None
        ]
        for benchmark in curve.benchmarks
        if (points := curve.of(benchmark))
    }
    signs = {sign: change for change, sign in _SIGNS.items()}
    title = f"Checkpoints of {curve.head.checkpoints}"
    return line_plot(title, series, label="training step", signs=signs)
