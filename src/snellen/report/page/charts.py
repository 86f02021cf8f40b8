"""Charts of numbers as inline SVG. Colours and fonts come from the page's style sheet by class
name, so that a chart fits light and dark mode and print; nothing is said by colour alone."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.report.ticks import round_ticks


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
        texts.append(f'<text{minor} x="{where}" y="11" text-anchor="{anchor}">{_label(tick)}</text>')
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
            f'<rect class="bar" x="{left}" y="{middle - thick / 2:g}" width="{width}" height="{thick:g}" rx="2"/>'
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
    return "".join(f'<line class="grid" x1="{where}" x2="{where}" y1="0" y2="{height}"/>' for where in lines)


def _whisker(scale: Axis, low: float, high: float, middle: float) -> str:
    left, right = _percent(scale.fraction(low)), _percent(scale.fraction(high))
    ends = "".join(
        f'<line class="whisker" x1="{x}" x2="{x}" y1="{middle - 4:g}" y2="{middle + 4:g}"/>' for x in (left, right)
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
