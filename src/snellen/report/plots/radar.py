"""Series around a centre, an axis for each row (MMBench Fig. 1, MME Fig. 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from snellen.report.plots.dot_plot import HEAD, TYPE, Series, frame, legend, ticks_of
from snellen.report.plots.palette import FAINT, GRID, INK, PAPER, colour, dash, mark, width_of

_MOST_FILLED = 3
"""Areas of more series than this lie over one another."""


def radars(title: str, series: Series, *, top: float = 100.0) -> str:
    """A line around a centre for each series, an axis for each row that all have; the outer ring
    is `top`."""
    names = list(series)
    axes = [row for row in series[names[0]] if all(row in series[name] for name in names)]
    radius = 190.0
    side = max((width_of(axis, TYPE) for axis in axes), default=0) + 24
    key = max((width_of(name, TYPE) for name in names), default=0) + 46
    centre_x = max(side + radius, 12 + width_of(title, HEAD) / 2, (32 + key) / 2)
    keys, below = legend(names, 16, 46, 2 * centre_x - 16)
    centre_y = below + 34 + radius
    parts = [*keys]
    ticks = ticks_of(0, top, end=top)
    filled = 0.06 if len(names) <= _MOST_FILLED else 0
    for tick in ticks[1:]:
        ring = _around([tick / top] * len(axes), radius, centre_x, centre_y)
        parts.append(f'<polygon points="{ring}" fill="none" stroke="{GRID}"/>')
    for at, axis in enumerate(axes):
        x, y = _spoke(at, len(axes), radius, centre_x, centre_y)
        parts.append(
            f'<line x1="{centre_x:.1f}" y1="{centre_y:.1f}" x2="{x:.1f}" y2="{y:.1f}" '
            f'stroke="{GRID}"/>'
        )
        parts.append(_axis_name(axis, at, len(axes), radius, centre_x, centre_y))
    for number, name in enumerate(names):
        held = [min(top, max(0.0, series[name][axis].value)) / top for axis in axes]
        parts.append(
            f'<polygon points="{_around(held, radius, centre_x, centre_y)}" '
            f'fill="{colour(number)}" fill-opacity="{filled}" stroke="{colour(number)}" '
            f'stroke-width="2"{dash(number)}/>'
        )
        for at, (axis, share) in enumerate(zip(axes, held, strict=True)):
            x, y = _spoke(at, len(axes), radius * share, centre_x, centre_y)
            told = escape(f"{name}, {axis}: {series[name][axis].value:.1f}")
            parts.append(mark(number, x, y, 3.6, told))
    for tick in ticks[1:]:
        parts.append(
            f'<text x="{centre_x + 3:.1f}" y="{centre_y - radius * tick / top + 12:.1f}" '
            f'font-size="10" fill="{FAINT}" stroke="{PAPER}" stroke-width="3" '
            f'paint-order="stroke">{tick:g}</text>'
        )
    return frame(2 * centre_x, centre_y + radius + 40, title, parts)


def _spoke(at: int, count: int, reach: float, x: float, y: float) -> tuple[float, float]:
    angle = 2 * math.pi * at / count - math.pi / 2
    return x + reach * math.cos(angle), y + reach * math.sin(angle)


def _around(shares: Sequence[float], radius: float, x: float, y: float) -> str:
    points = (_spoke(at, len(shares), radius * one, x, y) for at, one in enumerate(shares))
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in points)


def _axis_name(name: str, at: int, count: int, radius: float, x: float, y: float) -> str:
    a, b = _spoke(at, count, radius + 12, x, y)
    anchor = "middle" if abs(a - x) < 14 else "start" if a > x else "end"
    down = 4 + (b - y) / (radius + 12) * 6
    return (
        f'<text x="{a:.1f}" y="{b + down:.1f}" text-anchor="{anchor}" fill="{INK}">'
        f"{escape(name)}</text>"
    )
