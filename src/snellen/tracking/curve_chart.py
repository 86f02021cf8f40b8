"""A curve as inline SVG: it takes its colours from the page, and says nothing by colour alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.report.ticks import round_ticks
from snellen.tracking.curve import Change, CurvePoint
from snellen.tracking.statements import best_step

_HEIGHT = 300
_TOP, _BOTTOM = 26, 10
"""Pixels above and below the range of the values, for labels and marks."""
_MAX_STEP_LABELS = 8
_SHAPES: dict[Change, str] = {"better": "M0 -7 L6.5 5 L-6.5 5 Z", "regression": "M0 7 L6.5 -5 L-6.5 -5 Z"}
"""Triangles for changes beyond chance; other points are discs."""


class _Scale(NamedTuple):
    """From steps and values to the chart: x in percent of its width, y in pixels."""

    first: float
    last: float
    low: float
    high: float

    def x(self, step: float) -> float:
        span = self.last - self.first
        # A margin on both sides keeps marks and their labels inside.
        return 50.0 if not span else 4 + 92 * (step - self.first) / span

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def curve_chart(points: Sequence[CurvePoint]) -> str:
    """Scores with intervals over steps, for the points of one benchmark by step; empty without a
    score."""
    scored = [point for point in points if point.score is not None]
    if not scored:
        return ""
    ticks = _value_ticks([point.headline for point in scored])
    steps = [point.step for point in points]
    scale = _Scale(min(steps), max(steps), ticks[0], ticks[-1])
    best, last = best_step(scored), scored[-1].step
    label = escape(
        f"{fmt.metric_label(scored[0].headline.name)} by step: "
        + ", ".join(f"{point.step} {fmt.score_with_interval(point.headline)}" for point in scored),
        quote=True,
    )
    body = "".join(
        [
            *_grid(ticks, scale),
            *_lines(scored, scale),
            *(_mark(point, scale, point.step == best, point.step == last) for point in scored),
        ]
    )
    return (
        '<div class="curve">'
        f'<svg class="values" width="44" height="{_HEIGHT}" aria-hidden="true">'
        f"{''.join(_value_labels(ticks, scale))}</svg>"
        f'<svg class="plot" height="{_HEIGHT}" role="img" aria-label="{label}">{body}</svg>'
        f'<svg class="steps" height="18" aria-hidden="true">{"".join(_step_labels(steps, scale))}'
        "</svg></div>"
    )


def _value_ticks(headlines: Sequence[Metric]) -> list[float]:
    """Round numbers around all values and intervals, within what is possible."""
    ends = [headline.value for headline in headlines if headline.value is not None]
    for headline in headlines:
        if headline.interval is not None:
            ends += [headline.interval.low, headline.interval.high]
    top = max(headline.top for headline in headlines)
    low, high = min(ends), min(max(ends), top)
    if low == high:
        low, high = max(0.0, low - 1), high + 1
    return round_ticks(low, high)


def _grid(ticks: Sequence[float], scale: _Scale) -> Iterator[str]:
    for tick in ticks:
        y = scale.y(tick)
        yield f'<line class="grid" x1="0" x2="100%" y1="{y:.1f}" y2="{y:.1f}"/>'


def _value_labels(ticks: Sequence[float], scale: _Scale) -> Iterator[str]:
    for tick in ticks:
        yield f'<text x="36" y="{scale.y(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'


def _step_labels(steps: Sequence[int], scale: _Scale) -> Iterator[str]:
    """The first and the last step, and evenly chosen ones between."""
    every = sorted(set(steps))
    stride = max(1, -(-len(every) // _MAX_STEP_LABELS))
    chosen = every[::stride]
    if chosen[-1] != every[-1]:
        # The last one takes the place of a near neighbour.
        chosen = [*(chosen[:-1] if len(every) - 1 - every.index(chosen[-1]) < stride else chosen), every[-1]]
    for index, step in enumerate(chosen):
        minor = ' class="minor"' if 0 < index < len(chosen) - 1 and index % 2 else ""
        yield f'<text{minor} x="{scale.x(step):.2f}%" y="13" text-anchor="middle">{step}</text>'


def _lines(points: Sequence[CurvePoint], scale: _Scale) -> Iterator[str]:
    """The line between the points, and the interval of each."""
    for before, after in pairwise(points):
        assert before.score is not None
        assert after.score is not None
        yield (
            f'<line class="line" x1="{scale.x(before.step):.2f}%" y1="{scale.y(before.score):.1f}" '
            f'x2="{scale.x(after.step):.2f}%" y2="{scale.y(after.score):.1f}"/>'
        )
    for point in points:
        interval = point.headline.interval
        if interval is None:
            continue
        x, low, high = scale.x(point.step), scale.y(interval.low), scale.y(interval.high)
        yield f'<line class="whisker" x1="{x:.2f}%" x2="{x:.2f}%" y1="{high:.1f}" y2="{low:.1f}"/>'


def _mark(point: CurvePoint, scale: _Scale, is_best: bool, is_last: bool) -> str:
    """The mark of a point, with what it says for those who point at it."""
    assert point.score is not None
    shape = _SHAPES.get(point.change)
    mark = f'<path class="mark {point.change}" d="{shape}"/>' if shape else '<circle class="mark" r="4.5"/>'
    ring = '<circle class="best" r="11"/>' if is_best else ""
    names = [name for name, is_so in (("best", is_best), ("last", is_last)) if is_so]
    text = ""
    if names:
        text = f'<text class="name" y="-16" text-anchor="middle">{", ".join(names)}</text>'
    return (
        f'<svg class="at" x="{scale.x(point.step):.2f}%" y="{scale.y(point.score):.1f}">'
        f"<title>{escape(point.sentence)}</title>{ring}{mark}{text}</svg>"
    )
