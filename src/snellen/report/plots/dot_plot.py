"""Plots of findings as SVG files that stand alone: for papers, slides and print.

Nothing is told by colour alone: series differ in mark, dash or hatching too, and every value can be
read by pointing at it. Inside pages `charts` is used instead, which follows the page's style.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import NamedTuple

from snellen.core.summary import Interval
from snellen.report.plots.palette import (
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

TYPE = 12
_ROW = 22
_LANE = 9
"""Of a row in which marks lie one above the other: the height of each."""
HEAD = 15
_SHORTEST_TICKS = 4


class Value(NamedTuple):
    value: float
    interval: Interval | None = None


Series = Mapping[str, Mapping[str, Value]]
"""Series (a model, a setting) to row (an ability, a model) to value; a row may be absent."""


def frame(width: float, height: float, title: str, parts: Sequence[str], told: str = "") -> str:
    """A whole SVG file with its title."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" {FONT} font-size="{TYPE}" role="img" '
        f'aria-label="{escape(told or title, quote=True)}">\n'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>\n'
        + (
            f'<text x="12" y="22" font-size="{HEAD}" font-weight="bold" fill="{INK}">'
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
    are where `ends` is set; it is called `axis`, or else points, with the level of the intervals
    where there are any."""
    rows = list(dict.fromkeys(row for held in series.values() for row in held))
    names = list(series)
    left = 24 + max((width_of(row, TYPE) for row in rows), default=0)
    wide = 460.0
    keys, below = legend(names, left, 46, left + wide, lines=False)
    start = below + 12
    ticks = ticks_of(*_reach(series, top, ends), end=None if ends else top)
    scale = _Scale(left, wide, ticks[0], ticks[-1])
    spread = [one.interval for held in series.values() for one in held.values() if one.interval]
    lanes = len(names) if len(names) > 1 and (spread or not joined) else 1
    high = max(_ROW, _LANE * lanes + 8)
    bottom = start + high * len(rows)
    parts = [*keys, *_upright_grid(ticks, scale, start - 4, bottom)]
    for at, row in enumerate(rows):
        y = start + high * (at + 0.5)
        if at and lanes > 1:
            parts.append(_between(scale, y - high / 2))
        parts.append(_row_name(row, left, y))
        parts += _marks(row, series, scale, y, lanes, joined)
    parts.append(
        f'<text x="{left + wide / 2:.1f}" y="{bottom + 34:.1f}" text-anchor="middle" '
        f'fill="{FAINT}">{escape(axis or _points(spread))}</text>'
    )
    return frame(left + wide + 30, bottom + 46, title, parts)


def _row_name(row: str, left: float, y: float) -> str:
    """To the left of the row, whose middle is at `y`."""
    return (
        f'<text x="{left - 10:.1f}" y="{y + 4:.1f}" text-anchor="end" fill="{INK}">'
        f"{escape(row)}</text>"
    )


def _between(scale: _Scale, y: float) -> str:
    """A line between two rows whose marks lie one above the other."""
    return (
        f'<line x1="{scale.left:.1f}" x2="{scale.left + scale.wide:.1f}" y1="{y:.1f}" '
        f'y2="{y:.1f}" stroke="{GRID}" stroke-width="0.7"/>'
    )


def _marks(
    row: str, series: Series, scale: _Scale, y: float, lanes: int, joined: bool
) -> Iterator[str]:
    """A row's mark for each series, in as many lanes about `y`."""
    held = {
        number: (name, values[row])
        for number, (name, values) in enumerate(series.items())
        if row in values
    }
    if joined and len(held) > 1:
        places = [scale.at(one.value) for _, one in held.values()]
        yield (
            f'<line x1="{min(places):.1f}" x2="{max(places):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="{GRID}" stroke-width="5" stroke-linecap="round"/>'
        )
    for number, (name, one) in held.items():
        shift = _LANE * (number - (lanes - 1) / 2) if lanes > 1 else 0.0
        yield from _dot(number, one, scale, y + shift, f"{name}, {row}")


def _points(intervals: Sequence[Interval]) -> str:
    """The name of an axis of scores."""
    levels = " / ".join(dict.fromkeys(f"{100 * one.level:g} %" for one in intervals))
    return f"points, with {levels} intervals" if levels else "points"


def shares(title: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    """Each row a bar of its parts, as shares of their sum, with a part's percentage in it where
    there is room; parts are in the order of the first row."""
    kinds = list(dict.fromkeys(kind for row in rows.values() for kind in row))
    left = 24 + max((width_of(row, TYPE) for row in rows), default=0)
    wide, high = 460.0, 26
    keys, below = _hatched_legend(kinds, left, 46, left + wide)
    start = below + 12
    parts = [f"<defs>{''.join(hatching(at)[1] for at in range(len(kinds)))}</defs>", *keys]
    for at, (row, held) in enumerate(rows.items()):
        y = start + (high + 10) * at
        parts.append(_row_name(row, left, y + high / 2))
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


def ticks_of(low: float, high: float, end: float | None = None) -> list[float]:
    """Round numbers from below `low` to above `high`; where nothing can be above `end`, they end
    with it, round or not."""
    span = (high - low) or 1.0
    least = span / _SHORTEST_TICKS
    power = 10.0 ** math.floor(math.log10(least))
    step = next(one * power for one in (1, 2, 2.5, 5, 10) if one * power >= least - 1e-9)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = [step * at for at in range(first, max(last, first + 1) + 1)]
    if end is None or high > end:
        return ticks
    return [*(tick for tick in ticks if tick <= end - step / 2), end]


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


def legend(
    names: Sequence[str], left: float, y: float, right: float, lines: bool = True
) -> tuple[list[str], float]:  # fmt: skip
    """A key for each series, in as many lines as it takes; and where the last line ends."""
    parts, x = [], left
    reach = 26 if lines else 10
    for at, name in enumerate(names):
        wide = reach + 8 + width_of(name, TYPE) + 18
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
        wide = 22 + width_of(name, TYPE) + 18
        if x > left and x + wide > right:
            x, y = left, y + 20
        parts.append(
            f'<rect x="{x:.1f}" y="{y - 11:.1f}" width="15" height="13" '
            f'fill="url(#{hatching(at)[0]})" stroke="{colour(at)}"/>'
            f'<text x="{x + 21:.1f}" y="{y:.1f}" fill="{INK}">{escape(name)}</text>'
        )
        x += wide
    return parts, y
