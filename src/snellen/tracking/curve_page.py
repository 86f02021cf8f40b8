"""`curve.html`: a curve as a page that loads nothing: chart, what it says, table of its points."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from snellen.core.atomic_write import save
from snellen.report import format as fmt
from snellen.report.page.layout import page_layout, template_environment
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.tracking.curve import Change, Curve, CurvePoint, StepDifference
from snellen.tracking.curve_chart import curve_chart
from snellen.tracking.statements import best_sentence, best_step, plateau_sentence

PAGE_FILE = "curve.html"
_HOME = "snellen.tracking"
CHANGE_LABELS: dict[Change, str] = {
    "first": "–",
    "better": "▲ better",
    "regression": "▼ regression",
    "unclear": "no evidence of change",
    "no score": "no score",
}


class CurveRow(NamedTuple):
    """A row of the table beneath a chart."""

    step: str
    remarks: str
    """`best`, `last`."""
    score: str
    interval: str
    difference: str
    """From the step before."""
    difference_interval: str
    change: str
    kind: Change
    n: str
    outcomes: str
    link: str


class CurveBoard(NamedTuple):
    """One benchmark of a curve."""

    benchmark: str
    metric: str
    unit: str
    chart: str
    latest: str
    sentences: tuple[str, ...]
    rows: tuple[CurveRow, ...]
    group_steps: tuple[int, ...]
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    """The scores of each group by step."""


def write_curve_page(curve: Curve, out: Path) -> Path:
    """Write `curve.html` next to the curve and return its path. Raises StorageError."""
    path = out / PAGE_FILE
    save(path, curve_page(curve, out))
    return path


def curve_page(curve: Curve, out: Path | None = None) -> str:
    """The page's text, with links to the pages of the runs in `out` that have one."""
    boards = [_board(curve, benchmark, out) for benchmark in curve.benchmarks]
    template = template_environment(_HOME).get_template("curve.html")
    return template.render(
        **page_layout(("page.css", "curve.css"), ("theme.js",), _HOME),
        curve=curve,
        boards=boards,
        settings=[f"{name} {value}" for name, value in curve.head.settings.items()],
        skipped=curve.skipped,
        confidence=f"{100 * DEFAULT_LEVEL:g} %",
        count=len({point.checkpoint for point in curve.points}),
    )


def _board(curve: Curve, benchmark: str, out: Path | None) -> CurveBoard:
    """A benchmark of the curve: chart, sentences, and the rows of its table."""
    points = curve.of(benchmark)
    latest = [point.sentence for point in curve.points if point.benchmark == benchmark][-1]
    best = best_step(points)
    names = list(dict.fromkeys(name for point in points for name in point.groups))
    return CurveBoard(
        benchmark=benchmark,
        metric=points[0].headline.name,
        unit="points",
        chart=curve_chart(points),
        latest=latest,
        sentences=tuple(filter(None, (best_sentence(points), plateau_sentence(points)))),
        rows=tuple(_row(point, out, point.step == best, point is points[-1]) for point in points),
        group_steps=tuple(point.step for point in points if point.groups),
        groups=tuple(
            (
                name,
                tuple(
                    fmt.score_text(point.groups[name].value if name in point.groups else None)
                    for point in points
                    if point.groups
                ),
            )
            for name in names
        ),
    )


def _row(point: CurvePoint, out: Path | None, is_best: bool, is_last: bool) -> CurveRow:
    """A point as a row, with the difference from the previous step."""
    previous = max(point.differences, key=lambda one: one.step, default=None)
    outcomes = [
        f"{fmt.count_text(count)} {fmt.OUTCOME_LABELS[outcome]}"
        for outcome, count in point.outcomes.items()
        if outcome != "answered" and count
    ]
    page = None if out is None else out / point.run / "report.html"
    return CurveRow(
        step=str(point.step),
        remarks=", ".join(name for name, is_so in (("best", is_best), ("last", is_last)) if is_so),
        score=fmt.score_text(point.score),
        interval=fmt.interval_text(point.headline.interval),
        difference=fmt.difference_text(previous.difference) if previous else fmt.NONE,
        difference_interval=_difference_interval(previous),
        change=CHANGE_LABELS[point.change],
        kind=point.change,
        n=fmt.count_text(point.headline.n),
        outcomes=", ".join(outcomes),
        link=f"{quote(point.run)}/report.html" if page is not None and page.exists() else "",
    )


def _difference_interval(difference: StepDifference | None) -> str:
    if difference is None or difference.low is None or difference.high is None:
        return fmt.NONE
    return f"{fmt.difference_text(difference.low)} to {fmt.difference_text(difference.high)}"
