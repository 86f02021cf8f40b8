"""Charts of numbers as inline SVG. Colours and fonts come from the page's style sheet by class
name, so that a chart fits light and dark mode and print; nothing is said by colour alone.

Functions and not macros of a template: jinja compiles a template anew in each process, which took
longer than to draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snellen.report import format as fmt

if TYPE_CHECKING:
    from markupsafe import Markup

    from snellen.core.summary import Metric
    from snellen.report.page.views import BarSegment, BaselineMark
    from snellen.report.ticks import Scale


def axis(scale: Scale) -> Markup:
    """The numbers at the ticks, for the head of a column of bars."""
    texts = []
    last = len(scale.ticks) - 1
    for index, tick in enumerate(scale.ticks):
        anchor = "start" if index == 0 else "end" if index == last else "middle"
        inner = f' class="inner{" minor" if index % 2 else ""}"' if 0 < index < last else ""
        texts.append(f'<text{inner} x="{_percent(scale.position(tick))}" y="11" text-anchor="{anchor}">{tick:g}</text>')
    return _svg("axis", 14, 'aria-hidden="true"', texts)


def bar(metric: Metric, scale: Scale, marks: Sequence[BaselineMark] = (), height: int = 22) -> Markup:
    """A horizontal bar as wide as its container, with a whisker for its interval and ticks for
    baselines. The label of the chart says its numbers, for those who cannot see it."""
    from markupsafe import escape

    middle = height / 2
    parts = [_upright("grid", scale.position(tick), "0", f"{height}") + "/>" for tick in scale.ticks]
    if metric.value is not None:
        zero, end = scale.position(max(0.0, scale.ticks[0])), scale.position(metric.value)
        parts.append(
            f'<rect class="bar" x="{_percent(min(zero, end))}" y="{height / 4:g}" '
            f'width="{_percent(abs(end - zero))}" height="{middle:g}" rx="2"/>'
        )
    if metric.interval is not None:
        low, high = scale.position(metric.interval.low), scale.position(metric.interval.high)
        parts.append(
            f'<line class="whisker" x1="{_percent(low)}" x2="{_percent(high)}" y1="{middle:g}" y2="{middle:g}"/>'
        )
        parts += [_upright("whisker", x, f"{middle - 4:g}", f"{middle + 4:g}") + "/>" for x in (low, high)]
    for mark in marks:
        title = f"<title>{escape(mark.name)} {fmt.score_text(mark.value)}</title></line>"
        parts.append(f"{_upright('mark', scale.position(mark.value), '1', f'{height - 1}')}>{title}")
    return _svg("bars", height, _label(f"{fmt.metric_label(metric.name)} {fmt.score_with_interval(metric)}"), parts)


def stacked_bar(segments: Sequence[BarSegment], height: int = 16) -> Markup:
    """Counts side by side as one bar with thin white gaps."""
    from markupsafe import escape

    total = sum(each.samples for each in segments) or 1
    parts, left = [], 0.0
    for each in segments:
        width = 100 * each.samples / total
        parts.append(
            f'<rect class="share {escape(each.kind)}" x="{_percent(left)}" y="0" width="{_percent(width)}" '
            f'height="{height}"><title>{escape(each.name)}: {fmt.count_text(each.samples)}</title></rect>'
        )
        left += width
    return _svg(
        "stack", height, _label(", ".join(f"{fmt.count_text(each.samples)} {each.name}" for each in segments)), parts
    )


def _percent(position: float) -> str:
    return f"{position:.2f}%"


def _upright(kind: str, x: float, top: str, bottom: str) -> str:
    """The beginning of the element of an upright line."""
    return f'<line class="{kind}" x1="{_percent(x)}" x2="{_percent(x)}" y1="{top}" y2="{bottom}"'


def _label(text: str) -> str:
    from markupsafe import escape

    return f'role="img" aria-label="{escape(text)}"'


def _svg(kind: str, height: int, attributes: str, parts: Sequence[str]) -> Markup:
    from markupsafe import Markup

    return Markup(f'<svg class="{kind}" height="{height}" {attributes}>{"".join(parts)}</svg>')
