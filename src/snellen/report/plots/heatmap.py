"""Ranks of models per column as a heat map (SEED-Bench-H, Fig. 10), as self-contained SVG.

Darker is a higher rank, grey is no value. The rank stands in its cell, so nothing is told by
colour alone; pointing at a cell shows the value behind it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from snellen.benchmarks.seedbench.levels import DimensionGroup
from snellen.report.plots.palette import width_of
from snellen.scoring.ranks import competition_ranks

Values = Mapping[str, Mapping[str, float | None]]
"""Row (a model) to column (a dimension) to value, higher being better."""

CELL, ROW = 25, 19
_FONT = 'font-family="Helvetica, Arial, sans-serif"'
_GREY = "#d4d4d4"
_LIGHT, _DARK = (232, 240, 250), (10, 48, 112)
_WHITE_FROM = 0.6
"""Shade from which a number is written in white."""
_TYPE = 11
_SLANT = 35
"""Degrees by which the names of groups fall where they have no room beneath their brackets."""


def heat_map(values: Values, groups: Sequence[DimensionGroup], title: str = "") -> str:
    """Rows in the order given, columns in groups with a heading. Ranks are per column, among the
    rows that have a value there; equal values share the smaller rank."""
    columns = [name for group in groups for name in group.members]
    left = 16 + round(max((width_of(name, _TYPE) for name in values), default=0))
    slant = round(0.75 * max((width_of(name, _TYPE) for name in columns), default=0))
    top = 36 + slant
    named, aside, below = _brackets(groups, left, top + ROW * len(values) + 5)
    width = max(left + CELL * len(columns) + slant, aside, left + 260) + 8
    height = below + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" {_FONT} font-size="{_TYPE}" role="img" '
        f'aria-label="{escape(title or "ranks", quote=True)}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
        *_names(columns, left, top),
    ]
    by_column = {
        name: competition_ranks({row: cells.get(name) for row, cells in values.items()})
        for name in columns
    }
    for at, (row, cells) in enumerate(values.items()):
        y = top + ROW * at
        parts.append(f'<text x="{left - 6}" y="{y + 13}" text-anchor="end">{escape(row)}</text>')
        for place, name in enumerate(columns):
            rank = by_column[name].get(row)
            label = f"{row}, {name}"
            parts += _cell(
                left + CELL * place, y, rank, len(by_column[name]), cells.get(name), label
            )
    bottom = top + ROW * len(values)
    parts += _separators(groups, left, top, bottom - top)
    parts += [*named, *_legend(left, below + 8)]
    return "".join(parts) + "</svg>\n"


def shade(rank: int, ranked: int) -> float:
    """1 for the first, 0 for the last of `ranked`."""
    return 1.0 if ranked <= 1 else 1 - (rank - 1) / (ranked - 1)


def colour(share: float) -> str:
    """From light (0) to dark (1), as #rrggbb."""
    mixed = (
        round(light + share * (dark - light)) for light, dark in zip(_LIGHT, _DARK, strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _cell(
    x: float, y: float, rank: int | None, ranked: int, value: float | None, label: str
) -> list[str]:
    box = f'<rect x="{x + 0.5:g}" y="{y + 0.5:g}" width="{CELL - 1}" height="{ROW - 1}"'
    if rank is None or value is None:
        return [f'{box} fill="{_GREY}"><title>{escape(label)}: no value</title></rect>']
    share = shade(rank, ranked)
    ink = "#ffffff" if share >= _WHITE_FROM else "#1a1a1a"
    told = f"{escape(label)}: {value:.1f}, rank {rank} of {ranked}"
    return [
        f'{box} fill="{colour(share)}"><title>{told}</title></rect>',
        f'<text x="{x + CELL / 2:g}" y="{y + 13:g}" text-anchor="middle" font-size="10" '
        f'fill="{ink}" pointer-events="none">{rank}</text>',
    ]


def _brackets(groups: Sequence[DimensionGroup], left: int, y: int) -> tuple[list[str], int, int]:
    """A bracket below each group's columns and its name, slanted where one has no room; and how
    far the names reach to the right and down."""
    widths = [width_of(group.name, _TYPE) for group in groups]
    level = all(
        wide <= CELL * len(group.members) - 4 for wide, group in zip(widths, groups, strict=True)
    )
    turn = math.radians(_SLANT)
    parts, x, aside, below = [], left, left, y + 20
    for group, long in zip(groups, widths, strict=True):
        wide = CELL * len(group.members)
        middle = x + wide / 2
        parts.append(
            f'<line x1="{x + 2}" x2="{x + wide - 2}" y1="{y}" y2="{y}" stroke="#555555" '
            'stroke-width="2"/>'
        )
        where = (
            f'x="{middle:g}" y="{y + 15}" text-anchor="middle"'
            if level
            else f'transform="translate({middle - 4:g} {y + 13}) rotate({_SLANT})"'
        )
        parts.append(f'<text {where} font-weight="bold">{escape(group.name)}</text>')
        if not level:
            aside = max(aside, round(middle + long * math.cos(turn)))
            below = max(below, round(y + 20 + long * math.sin(turn)))
        x += wide
    return parts, aside, below


def _names(columns: Sequence[str], left: int, top: int) -> list[str]:
    return [
        f'<text transform="translate({left + CELL * at + CELL / 2 + 3:g} {top - 5}) rotate(-48)">'
        f"{escape(name)}</text>"
        for at, name in enumerate(columns)
    ]


def _separators(groups: Sequence[DimensionGroup], left: int, top: int, height: int) -> list[str]:
    parts, x = [], left
    for group in groups[:-1]:
        x += CELL * len(group.members)
        parts.append(
            f'<line x1="{x}" x2="{x}" y1="{top}" y2="{top + height}" stroke="#ffffff" '
            'stroke-width="3"/>'
        )
    return parts


def _legend(x: int, y: int) -> list[str]:
    parts = [f'<text x="{x}" y="{y + 11}">first</text>']
    start = x + 28
    for step in range(10):
        parts.append(
            f'<rect x="{start + 14 * step}" y="{y}" width="14" height="14" '
            f'fill="{colour(1 - step / 9)}"/>'
        )
    after = start + 14 * 10 + 4
    parts.append(f'<text x="{after}" y="{y + 11}">last</text>')
    parts.append(f'<rect x="{after + 44}" y="{y}" width="14" height="14" fill="{_GREY}"/>')
    parts.append(f'<text x="{after + 63}" y="{y + 11}">no value</text>')
    return parts
