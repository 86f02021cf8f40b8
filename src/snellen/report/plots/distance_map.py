"""Distances of tasks as a heat map, as self-contained SVG: darker is nearer.

The distance stands in its cell where there is room, so nothing is told by colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from snellen.report.plots.heatmap import colour

CELL = 27
_SMALL = 7
"""Pixels of a cell, and of one on a map of more tasks than can be labelled by numbers."""
_MOST_NUMBERS = 40
_HEAD = 34
_CHARACTER = 6.4
_FONT = 'font-family="Helvetica, Arial, sans-serif"'
_WHITE_FROM = 0.6


def distance_map(names: Sequence[str], distances: Sequence[Sequence[float]], title: str) -> str:
    """Square map of `distances`, rows and columns in the order given."""
    told = len(names) <= _MOST_NUMBERS
    cell = CELL if told else _SMALL
    label = round(_CHARACTER * max(len(name) for name in names))
    left, top = 14 + label, _HEAD + 14 + round(0.75 * label)
    width = left + cell * len(names) + round(0.75 * label) + 10
    height = top + cell * len(names) + 44
    pairs = [distances[row][at] for row in range(len(names)) for at in range(row)]
    least, most = min(pairs), max(pairs)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" {_FONT} font-size="{11 if told else 6}" role="img" '
        f'aria-label="{escape(title, quote=True)}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
    ]
    for at, name in enumerate(names):
        x, y = left + cell * (at + 0.5), top + cell * (at + 0.5) + (4 if told else 2)
        parts.append(
            f'<text transform="translate({x + 3:g} {top - 5}) rotate(-48)">{escape(name)}</text>'
            f'<text x="{left - 6}" y="{y:g}" text-anchor="end">{escape(name)}</text>'
        )
    for row, first in enumerate(names):
        for at, second in enumerate(names):
            place = (left + cell * at, top + cell * row)
            if row == at:
                parts.append(_box(place, cell, "#d4d4d4"))
                continue
            distance = distances[row][at]
            share = (most - distance) / (most - least) if most > least else 0.0
            parts.append(_box(place, cell, colour(share), f"{first}, {second}: {distance:.3f}"))
            if told:
                parts.append(_number(place, distance, share))
    parts += _legend(left, top + cell * len(names) + 14, least, most)
    return "".join(parts) + "</svg>\n"


def _box(place: tuple[int, int], cell: int, fill: str, told: str = "") -> str:
    x, y = place
    side = cell - 1
    box = f'<rect x="{x + 0.5:g}" y="{y + 0.5:g}" width="{side}" height="{side}" fill="{fill}"'
    return f"{box}><title>{escape(told)}</title></rect>" if told else f"{box}/>"


def _number(place: tuple[int, int], distance: float, share: float) -> str:
    ink = "#ffffff" if share >= _WHITE_FROM else "#1a1a1a"
    text = f"{distance:.2f}".removeprefix("0")
    return (
        f'<text x="{place[0] + CELL / 2:g}" y="{place[1] + CELL / 2 + 3.5:g}" font-size="10" '
        f'text-anchor="middle" fill="{ink}" pointer-events="none">{text}</text>'
    )


def _legend(x: int, y: int, least: float, most: float) -> list[str]:
    near, far = f"nearest {least:.2f}", f"farthest {most:.2f}"
    start = x + round(_CHARACTER * len(near))
    parts = [f'<text x="{x}" y="{y + 11}" font-size="11">{near}</text>']
    for step in range(10):
        parts.append(
            f'<rect x="{start + 14 * step}" y="{y}" width="14" height="14" '
            f'fill="{colour(1 - step / 9)}"/>'
        )
    parts.append(f'<text x="{start + 146}" y="{y + 11}" font-size="11">{far}</text>')
    return parts
