"""How alike models rank on near tasks, by distance, as self-contained SVG (MMT-Bench, Table 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from snellen.taskmap.agreement import NearTau

_WIDTH, _HEIGHT = 520, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 24, 54, 248
_FONT = 'font-family="Helvetica, Arial, sans-serif"'
_QUIET = 'fill="#555555"'


class _Point(NamedTuple):
    threshold: float
    tau: float
    pairs: int


class _Frame(NamedTuple):
    """Tau in round steps from the lowest to the highest, zero among them; thresholds from
    `nearest`, which is 0 unless all are far from it, to 1."""

    step: float
    first: int
    last: int
    nearest: float

    def x(self, threshold: float) -> float:
        share = (threshold - self.nearest) / (1 - self.nearest)
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share

    def y(self, tau: float) -> float:
        share = (tau / self.step - self.first) / (self.last - self.first)
        return _BOTTOM - (_BOTTOM - _TOP) * share


def tau_curve(near: Sequence[NearTau], title: str = "Do models rank alike on near tasks?") -> str:
    """Tau at each threshold that has one, the number of pairs beside it."""
    points = sorted(
        _Point(one.threshold, one.tau, one.pairs) for one in near if one.tau is not None
    )
    frame = _frame(points)
    line = " ".join(f"{frame.x(one.threshold):.1f},{frame.y(one.tau):.1f}" for one in points)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" {_FONT} font-size="11" role="img" '
        f'aria-label="{escape(title, quote=True)}">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<text x="8" y="20" font-size="14" font-weight="bold">{escape(title)}</text>',
        *_axes(frame),
        f'<polyline points="{line}" fill="none" stroke="#0072b2" stroke-width="2"/>',
    ]
    parts += [_mark(frame, points, at) for at in range(len(points))]
    return "".join(parts) + "</svg>\n"


def _frame(points: Sequence[_Point]) -> _Frame:
    taus = [point.tau for point in points]
    low, high = min(0.0, *taus, 0.0), max(0.0, *taus, 0.0)
    least = min((point.threshold for point in points), default=0.0)
    nearest = 0.0 if least <= 0.5 else math.floor(10 * least - 1e-9) / 10
    step = next(one for one in (0.05, 0.1, 0.2, 0.25, 0.5) if (high - low) / one <= 6)
    first, last = math.floor(low / step), math.ceil(high / step)
    return _Frame(step, first, max(last, first + 1), min(nearest, 0.9))


def _axes(frame: _Frame) -> list[str]:
    parts = []
    for at in range(frame.first, frame.last + 1):
        y = frame.y(at * frame.step)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="{"#777777" if at == 0 else "#e4e4e4"}"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" {_QUIET}>'
            f"{at * frame.step:g}</text>"
        )
    for quarter in range(5):
        at_x = 1 - (1 - frame.nearest) * (1 - quarter / 4)
        parts.append(
            f'<text x="{frame.x(at_x):.1f}" y="{_BOTTOM + 16}" text-anchor="middle" '
            f"{_QUIET}>{at_x:.3g}</text>"
        )
    parts.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2:g}" y="{_BOTTOM + 36}" text-anchor="middle" '
        f"{_QUIET}>"
        "tasks no farther apart than this share of the largest distance; (pairs)</text>"
        f'<text transform="translate(16 {(_BOTTOM + _TOP) / 2:g}) rotate(-90)" '
        f'text-anchor="middle" {_QUIET}>Kendall\'s tau</text>'
    )
    return parts


def _mark(frame: _Frame, points: Sequence[_Point], at: int) -> str:
    """A dot and its numbers."""
    point = points[at]
    x, y = frame.x(point.threshold), frame.y(point.tau)
    anchor, below = _clear_of_line(points, at)
    aside = {"start": 6, "middle": 0, "end": -6}[anchor]
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#0072b2"/>'
        f'<text x="{x + aside:.1f}" y="{y + (18 if below else -8):.1f}" '
        f'text-anchor="{anchor}">{point.tau:.2f} ({point.pairs})</text>'
    )


def _clear_of_line(points: Sequence[_Point], at: int) -> tuple[str, bool]:
    """Where a label stands beside its dot, and whether below it, so that no line crosses it."""
    left = points[at - 1] if at else None
    right = points[at + 1] if at + 1 < len(points) else None
    falling = left is not None and left.tau > points[at].tau
    rising = right is not None and right.tau > points[at].tau
    if right is None:
        return "end", falling
    if falling == rising:
        return "middle" if left is not None else "start", rising
    if falling:
        return "start", False
    return ("end", False) if left is not None else ("start", True)
