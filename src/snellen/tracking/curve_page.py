"""A curve as `snellen watch` shows it: tables and sentences, a figure for papers and slides, and `curve.html`,
a page that loads nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from snellen.core.atomic_write import save
from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.report.document import Block, Column, Document, Line, Table, table_of
from snellen.report.page.html import PAGE_FILE as RUN_PAGE
from snellen.report.page.layout import page_layout, template_environment
from snellen.report.plots.lines import LinePoint, line_plot
from snellen.report.ticks import Scale, round_ticks
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.tracking.curve import Change, Curve, CurvePoint
from snellen.tracking.statements import best_sentence, best_step, plateau_sentence

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PAGE_FILE = "curve.html"
_MAX_STEP_LABELS = 8
_HOME = "snellen.tracking"
CHANGE_LABELS: dict[Change, str] = {
    "first": "–",
    "better": "▲ better",
    "regression": "▼ regression",
    "unclear": "no evidence of change",
    "no score": "no score",
}


class CurveChart(NamedTuple):
    """What is drawn of a curve (`curve-chart.html`)."""

    points: tuple[CurvePoint, ...]
    """Those with a score."""
    values: Scale
    steps: Scale
    step_labels: tuple[int, ...]
    best: int | None
    """The step of the highest score."""


class CurveBoard(NamedTuple):
    """One benchmark of a curve."""

    benchmark: str
    chart: CurveChart | None
    """None without a score."""
    latest: str
    sentences: tuple[str, ...]
    points: tuple[CurvePoint, ...]
    best: int | None
    groups: tuple[str, ...]


def write_curve_page(curve: Curve, out: Path) -> Path:
    """Write `curve.html` next to the curve and return its path. Raises StorageError."""
    path = out / PAGE_FILE
    save(path, curve_page(curve, out))
    return path


def curve_page(curve: Curve, out: Path | None = None) -> str:
    """The page's text, with links to the pages of the runs in `out` that have one."""
    pages = [] if out is None else [point.run for point in curve.points if (out / point.run / RUN_PAGE).exists()]
    template = template_environment(_HOME).get_template("curve.html")
    return template.render(
        **page_layout(("page.css", "curve.css"), ("theme.js",), _HOME),
        curve=curve,
        boards=[_board(curve, benchmark) for benchmark in curve.benchmarks],
        links={run: f"{quote(run)}/{RUN_PAGE}" for run in pages},
        changes=CHANGE_LABELS,
        outcomes=fmt.OUTCOME_LABELS,
        settings=[f"{name} {value}" for name, value in curve.head.settings.items()],
        skipped=curve.skipped,
        confidence=f"{100 * DEFAULT_LEVEL:g} %",
        count=len({point.checkpoint for point in curve.points}),
    )


def _board(curve: Curve, benchmark: str) -> CurveBoard:
    """A benchmark of the curve: chart, sentences, and the points of its table."""
    points = curve.of(benchmark)
    latest = [point.sentence for point in curve.points if point.benchmark == benchmark][-1]
    return CurveBoard(
        benchmark=benchmark,
        chart=_chart(points),
        latest=latest,
        sentences=tuple(filter(None, (best_sentence(points), plateau_sentence(points)))),
        points=tuple(points),
        best=best_step(points),
        groups=tuple(dict.fromkeys(name for point in points for name in point.groups)),
    )


def _chart(points: Sequence[CurvePoint]) -> CurveChart | None:
    scored = tuple(point for point in points if point.score is not None)
    if not scored:
        return None
    steps = sorted({point.step for point in points})
    values = _value_scale([point.headline for point in scored])
    return CurveChart(scored, values, Scale((steps[0], steps[-1])), tuple(_step_labels(steps)), best_step(scored))


def _value_scale(headlines: Sequence[Metric]) -> Scale:
    """Round numbers around all values and intervals, within what is possible."""
    ends = [headline.value for headline in headlines if headline.value is not None]
    for headline in headlines:
        if headline.interval is not None:
            ends += [headline.interval.low, headline.interval.high]
    low, high = min(ends), min(max(ends), max(headline.top for headline in headlines))
    if low == high:
        low, high = max(0.0, low - 1), high + 1
    return Scale(tuple(round_ticks(low, high)))


def _step_labels(steps: Sequence[int]) -> list[int]:
    """The first and the last step, and evenly chosen ones between."""
    stride = -(-len(steps) // _MAX_STEP_LABELS)
    chosen = list(steps[::stride])
    if chosen[-1] != steps[-1]:
        # The last one takes the place of a near neighbour.
        is_near = len(steps) - 1 - steps.index(chosen[-1]) < stride
        chosen = [*(chosen[:-1] if is_near else chosen), steps[-1]]
    return chosen


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
