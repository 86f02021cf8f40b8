"""The picture of a radar chart as points in SVG. The table beside it says the same."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 640.0, 470.0
_CENTRE = (WIDTH / 2, HEIGHT / 2)
_RADIUS = 185.0
_RINGS = (25, 50, 75, 100)
_LINE = 22
"""Characters of a line of an axis's name."""


class RadarCorner(NamedTuple):
    x: float
    y: float


class RadarSpoke(NamedTuple):
    """A spoke with its name."""

    end: RadarCorner
    label: RadarCorner
    anchor: str
    lines: tuple[str, ...]


class RadarShape(NamedTuple):
    """A model's shape: closed if every axis has a number, else lines between neighbours that have
    one."""

    polygon: str
    lines: tuple[str, ...]
    corners: tuple[RadarCorner, ...]


class RadarPicture(NamedTuple):
    axes: Sequence[RadarSpoke]
    rings: Sequence[tuple[int, str, RadarCorner]]
    """Lines of equal values: the value, its points, and where its number stands."""
    series: Sequence[RadarShape]


def draw_radar(labels: Sequence[str], series: Sequence[Sequence[float | None]]) -> RadarPicture:
    """The shapes of series of shares in percent, one share per label."""
    count = len(labels)
    axes = []
    for index, label in enumerate(labels):
        end, outer = _point(index, count, 100.0), _point(index, count, 111.0)
        side = outer.x - _CENTRE[0]
        anchor = "middle" if abs(side) < 20 else "start" if side > 0 else "end"
        axes.append(RadarSpoke(end, outer, anchor, _split(label)))
    rings = [
        (value, _point_list([_point(index, count, value) for index in range(count)]), _point(0, count, value))
        for value in _RINGS
    ]
    shapes = [_shape(shares) for shares in series]
    return RadarPicture(axes, rings, shapes)


def _shape(shares: Sequence[float | None]) -> RadarShape:
    count = len(shares)
    corners = [None if share is None else _point(index, count, share) for index, share in enumerate(shares)]
    present = tuple(corner for corner in corners if corner is not None)
    if len(present) == count:
        return RadarShape(_point_list(present), (), present)
    lines: list[list[RadarCorner]] = [[]]
    # Beginning behind a gap, no line is cut at the top.
    first = corners.index(None)
    for corner in (*corners[first:], *corners[:first]):
        if corner is None:
            lines.append([])
        else:
            lines[-1].append(corner)
    return RadarShape("", tuple(_point_list(line) for line in lines if len(line) > 1), present)


def _point(index: int, count: int, share: float) -> RadarCorner:
    """On the spoke of an axis; the first one points up."""
    angle = 2 * math.pi * index / count - math.pi / 2
    length = _RADIUS * min(115.0, max(0.0, share)) / 100
    return RadarCorner(round(_CENTRE[0] + length * math.cos(angle), 1), round(_CENTRE[1] + length * math.sin(angle), 1))


def _point_list(points: Sequence[RadarCorner]) -> str:
    return " ".join(f"{point.x:g},{point.y:g}" for point in points)


def _split(label: str) -> tuple[str, ...]:
    """A name in at most two lines."""
    words = label.split()
    first = ""
    while (words and len(f"{first} {words[0]}") <= _LINE) or (words and not first):
        first = f"{first} {words.pop(0)}".strip()
    rest = " ".join(words)
    lines = (first, rest) if rest else (first,)
    return tuple(line if len(line) <= _LINE + 6 else f"{line[: _LINE + 5]}…" for line in lines)
