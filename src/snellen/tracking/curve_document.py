"""What `snellen watch` shows of a curve."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from snellen.report import format as fmt
from snellen.report.document import Block, Document, Line
from snellen.report.table import Cell, Column, Table
from snellen.tracking.curve import Curve, CurvePoint
from snellen.tracking.curve_plot import curve_plot
from snellen.tracking.statements import best_sentence, plateau_sentence

_RECORDS = (
    "benchmark",
    "step",
    "checkpoint",
    "epoch",
    "metric",
    "value",
    "low",
    "high",
    "level",
    "n",
    "total",
    "change",
    "run",
)


def curve_document(curve: Curve) -> Document:
    """A table of the points of each benchmark, which a terminal leaves out as it has shown each
    when it came, and what the whole curve says. JSON holds the curve."""
    blocks: list[Block] = []
    for benchmark in curve.benchmarks:
        points = curve.of(benchmark)
        blocks.append(_points_table(benchmark, points))
        texts = filter(None, (best_sentence(points), plateau_sentence(points)))
        blocks += [Line(f"{benchmark}: {text}", is_unbroken=True) for text in texts]
    columns = [Column(name, "number") for name in _RECORDS]
    rows = [row for one in curve.benchmarks for row in _records(curve.of(one))]
    plot = partial(curve_plot, curve) if curve.points else None
    return Document(blocks, curve, Table("", columns, rows), plot)


def _points_table(benchmark: str, points: list[CurvePoint]) -> Table:
    level = fmt.level_text(points[0].headline.interval)
    columns = (
        Column("step", "count"),
        Column("checkpoint", "name"),
        Column("score", "points"),
        Column(f"{level} interval", "points"),
        Column("n", "count"),
        Column("change"),
    )
    rows = [(one.step, one.checkpoint, one.score, one.headline.interval, one.headline.n, one.change) for one in points]
    title = f"{benchmark}, {fmt.metric_label(points[0].headline.name)}"
    return Table(title, columns, rows, on_terminal="left out")


def _records(points: list[CurvePoint]) -> Iterator[tuple[Cell, ...]]:
    for one in points:
        interval = one.headline.interval
        ends = (interval.low, interval.high, interval.level) if interval else (None, None, None)
        numbers = (one.headline.name, one.score, *ends, one.headline.n, one.total)
        where = (one.benchmark, one.step, one.checkpoint, one.epoch)
        yield (*where, *numbers, one.change, one.run)
