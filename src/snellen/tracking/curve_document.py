"""What `snellen watch` shows of a curve: tables and sentences, and a figure for papers and slides."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from snellen.report import format as fmt
from snellen.report.document import Block, Document, Line
from snellen.report.plots.lines import LinePoint, line_plot
from snellen.report.table import Column, Table, table_of
from snellen.tracking.curve import Curve, CurvePoint
from snellen.tracking.statements import best_sentence, plateau_sentence

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SIGNS = {"better": "▲", "regression": "▼"}


def curve_document(curve: Curve) -> Document:
    """A table of the points of each benchmark, which a terminal leaves out as it has shown each
    when it came, and what the whole curve says. JSON holds the curve."""
    blocks: list[Block] = []
    for benchmark in curve.benchmarks:
        points = curve.of(benchmark)
        blocks.append(_points_table(benchmark, points))
        texts = filter(None, (best_sentence(points), plateau_sentence(points)))
        blocks += [Line(f"{benchmark}: {text}", is_unbroken=True) for text in texts]
    plot = partial(curve_plot, curve) if curve.points else None
    return Document(blocks, curve, _records(curve), plot)


def _points_table(benchmark: str, points: list[CurvePoint]) -> Table:
    level = fmt.level_text(points[0].headline.interval)
    table = table_of(
        f"{benchmark}, {fmt.metric_label(points[0].headline.name)}",
        points,
        [
            (Column("step", "count"), lambda point: point.step),
            (Column("checkpoint", "name"), lambda point: point.checkpoint),
            (Column("score", "points"), lambda point: point.score),
            (Column(f"{level} interval", "points"), lambda point: point.headline.interval),
            (Column("n", "count"), lambda point: point.headline.n),
            (Column("change"), lambda point: point.change),
        ],
    )
    return table._replace(on_terminal="left out")


def _records(curve: Curve) -> Table:
    """A row for each point."""
    return table_of(
        "",
        [point for benchmark in curve.benchmarks for point in curve.of(benchmark)],
        [
            (Column("benchmark"), lambda point: point.benchmark),
            (Column("step", "number"), lambda point: point.step),
            (Column("checkpoint"), lambda point: point.checkpoint),
            (Column("epoch", "number"), lambda point: point.epoch),
            (Column("metric"), lambda point: point.headline.name),
            (Column("value", "number"), lambda point: point.score),
            (Column("low", "number"), lambda point: point.headline.interval and point.headline.interval.low),
            (Column("high", "number"), lambda point: point.headline.interval and point.headline.interval.high),
            (Column("level", "number"), lambda point: point.headline.interval and point.headline.interval.level),
            (Column("n", "count"), lambda point: point.headline.n),
            (Column("total", "count"), lambda point: point.total),
            (Column("change"), lambda point: point.change),
            (Column("run"), lambda point: point.run),
        ],
    )


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
