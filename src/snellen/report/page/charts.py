"""Charts of numbers as inline SVG. Colours and fonts come from the page's style sheet by class
name, so that a chart fits light and dark mode and print; nothing is said by colour alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from textwrap import wrap
from typing import NamedTuple

from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.report.page.text_width import text_width
from snellen.report.ticks import round_ticks

MAX_SPOKES = 14
"""A radar with more axes is unreadable."""


class Axis(NamedTuple):
    """A linear axis with round ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def fraction(self, value: float) -> float:
        """The position of a value between 0 (left) and 1 (right), clipped."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


class BaselineMark(NamedTuple):
    """A value that is marked on a scale next to a bar."""

    name: str
    value: float


def axis(metrics: Sequence[Metric]) -> Axis:
    """An axis of 0..100, or up to the highest possible value, extended in round steps if a value
    lies outside."""
    top = max((metric.top for metric in metrics), default=100.0)
    ends = [0.0, top]
    for metric in metrics:
        ends += [metric.value] if metric.value is not None else []
        ends += [metric.interval.low, metric.interval.high] if metric.interval else []
    ticks = tuple(round_ticks(min(ends), max(ends), end=top))
    return Axis(ticks[0], ticks[-1], ticks)


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _label(value: float) -> str:
    return f"{value:g}"


def axis_labels(scale: Axis) -> str:
    """The numbers at the ticks, for the head of a column of bars."""
    texts = []
    last = len(scale.ticks) - 1
    for index, tick in enumerate(scale.ticks):
        anchor = "start" if index == 0 else "end" if index == last else "middle"
        inner = 0 < index < last
        minor = f' class="inner{" minor" if index % 2 else ""}"' if inner else ""
        where = _percent(scale.fraction(tick))
        texts.append(
            f'<text{minor} x="{where}" y="11" text-anchor="{anchor}">{_label(tick)}</text>'
        )
    return f'<svg class="axis" height="14" aria-hidden="true">{"".join(texts)}</svg>'


def bar(metric: Metric, scale: Axis, marks: Sequence[BaselineMark] = (), height: int = 22) -> str:
    """A horizontal bar as wide as its container, with a whisker for its interval and ticks for
    baselines. The label of the chart says its numbers, for those who cannot see it."""
    parts = [_grid(scale, height)]
    middle = height / 2
    if metric.value is not None:
        zero, end = scale.fraction(max(0.0, scale.low)), scale.fraction(metric.value)
        left, width = _percent(min(zero, end)), _percent(abs(end - zero))
        thick = height * 0.5
        parts.append(
            f'<rect class="bar" x="{left}" y="{middle - thick / 2:g}" width="{width}" '
            f'height="{thick:g}" rx="2"/>'
        )
    if metric.interval is not None:
        parts.append(_whisker(scale, metric.interval.low, metric.interval.high, middle))
    for mark in marks:
        where = _percent(scale.fraction(mark.value))
        parts.append(
            f'<line class="mark" x1="{where}" x2="{where}" y1="1" y2="{height - 1}">'
            f"<title>{escape(mark.name)} {fmt.score_text(mark.value)}</title></line>"
        )
    label = escape(f"{fmt.metric_label(metric.name)} {fmt.score_with_interval(metric)}")
    opening = f'<svg class="bars" height="{height}" role="img" aria-label="{label}">'
    return opening + "".join(parts) + "</svg>"


def _grid(scale: Axis, height: int) -> str:
    lines = (_percent(scale.fraction(tick)) for tick in scale.ticks)
    return "".join(
        f'<line class="grid" x1="{where}" x2="{where}" y1="0" y2="{height}"/>' for where in lines
    )


def _whisker(scale: Axis, low: float, high: float, middle: float) -> str:
    left, right = _percent(scale.fraction(low)), _percent(scale.fraction(high))
    ends = "".join(
        f'<line class="whisker" x1="{x}" x2="{x}" y1="{middle - 4:g}" y2="{middle + 4:g}"/>'
        for x in (left, right)
    )
    return f'<line class="whisker" x1="{left}" x2="{right}" y1="{middle:g}" y2="{middle:g}"/>{ends}'


class BarSegment(NamedTuple):
    """A part of a stacked bar; `kind` is its class in the style sheet."""

    kind: str
    name: str
    samples: int


def stacked_bar(segments: Sequence[BarSegment], height: int = 16) -> str:
    """Counts side by side as one bar with thin white gaps."""
    total = sum(share.samples for share in segments) or 1
    parts, left = [], 0.0
    for segment in segments:
        width = segment.samples / total
        parts.append(
            f'<rect class="share {escape(segment.kind)}" x="{_percent(left)}" y="0" '
            f'width="{_percent(width)}" height="{height}">'
            f"<title>{escape(segment.name)}: {fmt.count_text(segment.samples)}</title></rect>"
        )
        left += width
    label = escape(", ".join(f"{fmt.count_text(share.samples)} {share.name}" for share in segments))
    opening = f'<svg class="stack" height="{height}" role="img" aria-label="{label}">'
    return opening + "".join(parts) + "</svg>"


def radar(title: str, groups: Sequence[tuple[str, Metric]], scale: Axis) -> str:
    """A radar with a spoke for each group, the values as a line with dots and the intervals as a
    band. Empty for fewer than 3 groups, more than `MAX_SPOKES`, or a group without a value."""
    values = [metric.value for _, metric in groups]
    if not 3 <= len(groups) <= MAX_SPOKES or any(value is None for value in values):
        return ""
    count = len(groups)
    rings = [
        f'<polygon class="ring" points="{_polygon([scale.fraction(tick)] * count)}"/>'
        for tick in scale.ticks[1:]
    ]
    spokes = [
        f'<line class="spoke" x1="0" y1="0" x2="{x:.1f}" y2="{y:.1f}"/>'
        for x, y in (_point(index, count, 1.0) for index in range(count))
    ]
    ticks = [
        f'<text class="tick" x="3" y="{-_RADIUS * scale.fraction(tick) - 2:.1f}">'
        f"{_label(tick)}</text>"
        for tick in scale.ticks[1:]
    ]
    shares = [scale.fraction(value or 0.0) for value in values]
    dots = [
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(name)} '
        f"{fmt.score_with_interval(metric)}</title></circle>"
        for (x, y), (name, metric) in zip(
            (_point(index, count, share) for index, share in enumerate(shares)), groups, strict=True
        )
    ]
    names = [_spoke_name(index, count, name, metric) for index, (name, metric) in enumerate(groups)]
    label = escape(
        title
        + ": "
        + ", ".join(f"{fmt.display_name(n)} {fmt.score_text(m.value)}" for n, m in groups)
    )
    return (
        f'<svg class="radar" viewBox="{_view_box(groups)}" role="img" aria-label="{label}">'
        + "".join([*rings, *spokes, _band(groups, scale)])
        + f'<polygon class="line" points="{_polygon(shares)}"/>'
        + "".join([*ticks, *dots, *names])
        + "</svg>"
    )


_RADIUS = 120
_TYPE = 12.5
"""The font size of the names, in units of the view box."""
_LINE = 14
_NAME = 16
"""The characters of a line of a name; a longer word is broken."""


def _point(index: int, count: int, share: float) -> tuple[float, float]:
    angle = 2 * math.pi * index / count - math.pi / 2
    return _RADIUS * share * math.cos(angle), _RADIUS * share * math.sin(angle)


def _polygon(shares: Sequence[float]) -> str:
    points = (_point(index, len(shares), share) for index, share in enumerate(shares))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _band(groups: Sequence[tuple[str, Metric]], scale: Axis) -> str:
    """The ring between the lower and the upper ends of the intervals; empty if one is missing."""
    intervals = [metric.interval for _, metric in groups]
    present = [interval for interval in intervals if interval is not None]
    if len(present) < len(intervals):
        return ""
    outer = _polygon([scale.fraction(interval.high) for interval in present])
    inner = _polygon([scale.fraction(interval.low) for interval in present])
    return f'<path class="band" fill-rule="evenodd" d="M{outer}Z M{inner}Z"/>'


def _spoke_name(index: int, count: int, name: str, metric: Metric) -> str:
    """The name of a spoke in as many lines as it needs, and its value."""
    x, y, anchor, lines = _name_position(index, count, name)
    first, *more = map(escape, lines)
    more_lines = "".join(f'<tspan x="{x:.1f}" dy="{_LINE}">{line}</tspan>' for line in more)
    return (
        f'<text class="name" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{first}{more_lines}'
        f'<tspan class="value" x="{x:.1f}" dy="{_LINE}">'
        f"{fmt.score_text(metric.value)}</tspan></text>"
    )


def _name_position(index: int, count: int, name: str) -> tuple[float, float, str, list[str]]:
    """The position of a name's first line, its alignment, and its lines."""
    x, y = _point(index, count, 1.1)
    anchor = "middle" if abs(x) < 12 else "start" if x > 0 else "end"
    lines = wrap(fmt.display_name(name), _NAME) or [""]
    up = _LINE * (len(lines) - 1)
    if y < -_RADIUS:
        return x, y - 22 - up, anchor, lines
    return x, y + 8 if y > _RADIUS else y - up / 2, anchor, lines


def _view_box(groups: Sequence[tuple[str, Metric]]) -> str:
    """A view box that contains the rings and every name."""
    aside, above, below = 0.0, 0.0, 0.0
    for index, (name, _) in enumerate(groups):
        x, y, anchor, lines = _name_position(index, len(groups), name)
        wide = max(text_width(line, _TYPE) for line in lines)
        aside = max(aside, abs(x) + (wide / 2 if anchor == "middle" else wide))
        above = min(above, y - _LINE)
        below = max(below, y + _LINE * len(lines) + 6)
    return f"{-aside - 6:.0f} {above:.0f} {2 * aside + 12:.0f} {below - above:.0f}"
