"""Plots of findings as SVG files that stand alone: for papers, slides and print.

Nothing is told by colour alone: series differ in mark, dash or hatching too, and every value can be
read by pointing at it. Inside pages `charts` is used instead, which follows the page's style.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from snellen.core.summary import Interval
from snellen.report.palette import (
    FAINT,
    FONT,
    GRID,
    INK,
    PAPER,
    colour,
    dash,
    hatching,
    mark,
    width_of,
)

_TYPE = 12
_ROW = 22
_HEAD = 15
_SHORTEST_TICKS = 4
_MOST_FILLED = 3
"""Areas of more series than this lie over one another."""


class Value(NamedTuple):
    value: float
    interval: Interval | None = None


Series = Mapping[str, Mapping[str, Value]]
"""Series (a model, a setting) to row (an ability, a model) to value; a row may be absent."""


def frame(width: float, height: float, title: str, parts: Sequence[str], told: str = "") -> str:
    """A whole SVG file with its title."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" {FONT} font-size="{_TYPE}" role="img" '
        f'aria-label="{escape(told or title, quote=True)}">\n'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>\n'
        + (
            f'<text x="12" y="22" font-size="{_HEAD}" font-weight="bold" fill="{INK}">'
            f"{escape(title)}</text>\n"
            if title
            else ""
        )
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def dots(
    title: str,
    series: Series,
    *,
    top: float = 100.0,
    joined: bool = True,
    ends: bool = False,
    axis: str = "",
) -> str:
    """Rows with a mark for each series, and its interval as a line; `joined` draws a bar from the
    lowest to the highest of a row. The axis runs from 0 to `top`, or just over the values there
    are where `ends` is set."""
    rows = list(dict.fromkeys(row for held in series.values() for row in held))
    names = list(series)
    left = 24 + max((width_of(row, _TYPE) for row in rows), default=0)
    wide = 460.0
    keys, below = _legend(names, left, 46, left + wide, lines=False)
    start = below + 12
    ticks = _ticks(*_reach(series, top, ends))
    scale = _Scale(left, wide, ticks[0], ticks[-1])
    spread = any(one.interval for held in series.values() for one in held.values())
    offset = 4.0 if len(names) > 1 and spread else 0.0
    bottom = start + _ROW * len(rows)
    parts = [*keys, *_upright_grid(ticks, scale, start - 4, bottom)]
    for at, row in enumerate(rows):
        y = start + _ROW * (at + 0.5)
        parts.append(
            f'<text x="{left - 10:.1f}" y="{y + 4:.1f}" text-anchor="end" fill="{INK}">'
            f"{escape(row)}</text>"
        )
        held = {name: series[name][row] for name in names if row in series[name]}
        if joined and len(held) > 1:
            ends_of = [scale.at(one.value) for one in held.values()]
            parts.append(
                f'<line x1="{min(ends_of):.1f}" x2="{max(ends_of):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
                f'stroke="{GRID}" stroke-width="5" stroke-linecap="round"/>'
            )
        for number, name in enumerate(names):
            if name in held:
                shift = offset * (number - (len(names) - 1) / 2)
                parts += _dot(number, held[name], scale, y + shift, f"{name}, {row}")
    if axis:
        parts.append(
            f'<text x="{left + wide / 2:.1f}" y="{bottom + 34:.1f}" text-anchor="middle" '
            f'fill="{FAINT}">{escape(axis)}</text>'
        )
    return frame(left + wide + 30, bottom + (46 if axis else 28), title, parts)


def shares(title: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    """Each row a bar of its parts, as shares of their sum, with a part's percentage in it where
    there is room; parts are in the order of the first row."""
    kinds = list(dict.fromkeys(kind for row in rows.values() for kind in row))
    left = 24 + max((width_of(row, _TYPE) for row in rows), default=0)
    wide, high = 460.0, 26
    keys, below = _hatched_legend(kinds, left, 46, left + wide)
    start = below + 12
    parts = [f"<defs>{''.join(hatching(at)[1] for at in range(len(kinds)))}</defs>", *keys]
    for at, (row, held) in enumerate(rows.items()):
        y = start + (high + 10) * at
        parts.append(
            f'<text x="{left - 10:.1f}" y="{y + high / 2 + 4:.1f}" text-anchor="end" '
            f'fill="{INK}">{escape(row)}</text>'
        )
        total, x = sum(held.values()) or 1.0, left
        for number, kind in enumerate(kinds):
            share = held.get(kind, 0.0) / total
            if share <= 0:
                continue
            told = f"{row}, {kind}: {100 * share:.1f} %"
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{max(0.5, wide * share - 1.5):.1f}" '
                f'height="{high}" fill="url(#{hatching(number)[0]})" stroke="{colour(number)}">'
                f"<title>{escape(told)}</title></rect>"
            )
            parts += _inside(f"{100 * share:.1f}", x + wide * share / 2, y + high / 2, wide * share)
            x += wide * share
    return frame(left + wide + 24, start + (high + 10) * len(rows) + 8, title, parts)


def radars(title: str, series: Series, *, top: float = 100.0) -> str:
    """A line around a centre for each series, an axis for each row that all have; the outer ring
    is `top`."""
    names = list(series)
    axes = [row for row in series[names[0]] if all(row in series[name] for name in names)]
    radius = 190.0
    side = max((width_of(axis, _TYPE) for axis in axes), default=0) + 24
    centre_x = max(side + radius, 12 + width_of(title, _HEAD) / 2)
    keys, below = _legend(names, 16, 46, 2 * centre_x - 16)
    centre_y = below + 34 + radius
    parts = [*keys]
    ticks = _ticks(0, top)
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
            f'font-size="10" fill="{FAINT}">{tick:g}</text>'
        )
    return frame(2 * centre_x, centre_y + radius + 40, title, parts)


class _Scale(NamedTuple):
    left: float
    wide: float
    low: float
    high: float

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.left + self.wide * min(1.0, max(0.0, share))


def _reach(series: Series, top: float, ends: bool) -> tuple[float, float]:
    values = [one for held in series.values() for one in held.values()]
    marks = [one.value for one in values]
    marks += [
        end for one in values if one.interval for end in (one.interval.low, one.interval.high)
    ]
    low = min(marks, default=0.0)
    return (low if ends else min(0.0, low)), (max(marks, default=top) if ends else top)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from below `low` to above `high`."""
    span = (high - low) or 1.0
    least = span / _SHORTEST_TICKS
    power = 10.0 ** math.floor(math.log10(least))
    step = next(one * power for one in (1, 2, 2.5, 5, 10) if one * power >= least - 1e-9)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * at for at in range(first, max(last, first + 1) + 1)]


def _upright_grid(ticks: Sequence[float], scale: _Scale, top: float, bottom: float) -> list[str]:
    parts = []
    for tick in ticks:
        x = scale.at(tick)
        heavy = FAINT if tick == 0 and ticks[0] < 0 else GRID
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}" stroke="{heavy}"/>'
            f'<text x="{x:.1f}" y="{bottom + 16:.1f}" text-anchor="middle" font-size="11" '
            f'fill="{FAINT}">{tick:g}</text>'
        )
    return parts


def _dot(number: int, one: Value, scale: _Scale, y: float, told: str) -> list[str]:
    parts = []
    if one.interval is not None:
        x1, x2 = scale.at(one.interval.low), scale.at(one.interval.high)
        parts.append(
            f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="{colour(number)}" stroke-width="1.3"/>'
        )
    title = escape(f"{told}: {one.value:.1f}")
    return [*parts, mark(number, scale.at(one.value), y, 4.5, title)]


def _inside(text: str, x: float, y: float, room: float) -> list[str]:
    """A number on a patch of paper, where there is room for it."""
    wide = width_of(text, 11) + 6
    if wide > room - 4:
        return []
    return [
        f'<rect x="{x - wide / 2:.1f}" y="{y - 8:.1f}" width="{wide:.1f}" height="16" rx="3" '
        f'fill="{PAPER}" fill-opacity="0.9" pointer-events="none"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-size="11" fill="{INK}" '
        f'pointer-events="none">{text}</text>'
    ]


def _legend(
    names: Sequence[str], left: float, y: float, right: float, lines: bool = True
) -> tuple[list[str], float]:  # fmt: skip
    """A key for each series, in as many lines as it takes; and where the last line ends."""
    parts, x = [], left
    reach = 26 if lines else 10
    for at, name in enumerate(names):
        wide = reach + 8 + width_of(name, _TYPE) + 18
        if x > left and x + wide > right:
            x, y = left, y + 18
        if lines:
            parts.append(
                f'<line x1="{x:.1f}" x2="{x + reach:.1f}" y1="{y - 4:.1f}" y2="{y - 4:.1f}" '
                f'stroke="{colour(at)}" stroke-width="2"{dash(at)}/>'
            )
        parts.append(
            f"{mark(at, x + reach / 2, y - 4, 4)}"
            f'<text x="{x + reach + 6:.1f}" y="{y:.1f}" fill="{INK}">{escape(name)}</text>'
        )
        x += wide
    return parts, y


def _hatched_legend(
    names: Sequence[str], left: float, y: float, right: float
) -> tuple[list[str], float]:  # fmt: skip
    parts, x = [], left
    for at, name in enumerate(names):
        wide = 22 + width_of(name, _TYPE) + 18
        if x > left and x + wide > right:
            x, y = left, y + 20
        parts.append(
            f'<rect x="{x:.1f}" y="{y - 11:.1f}" width="15" height="13" '
            f'fill="url(#{hatching(at)[0]})" stroke="{colour(at)}"/>'
            f'<text x="{x + 21:.1f}" y="{y:.1f}" fill="{INK}">{escape(name)}</text>'
        )
        x += wide
    return parts, y


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
