"""Leaderboards as bars, many small boards on one sheet (MME Fig. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from snellen.report import format as fmt
from snellen.report.palette import FAINT, INK, PALETTE, width_of
from snellen.report.plots import frame
from snellen.scoring.leaderboard import Board

_ACROSS = 4
_BAR, _WIDE = 15, 120
_TYPE = 10


def board_plot(title: str, boards: Sequence[Board], across: int = _ACROSS) -> str:
    """Each board's models as bars from 0 to its best score, rank and score beside them; the best
    is darker."""
    shown = [one for one in boards if one.places]
    names = [place.model for one in shown for place in one.places]
    left = 30 + max((width_of(name, _TYPE) for name in names), default=0)
    wide = left + _WIDE + 48
    most = max((len(one.places) for one in shown), default=0)
    high = 34 + _BAR * most
    parts = []
    for at, one in enumerate(shown):
        row, column = divmod(at, across)
        parts += _board(one, 8 + column * wide, 40 + row * high, left)
    rows = -(-len(shown) // across)
    return frame(8 + wide * min(across, len(shown)), 44 + rows * high, title, parts)


def _board(one: Board, x: float, y: float, left: float) -> list[str]:
    best = max((place.score for place in one.places), default=0.0) or 1.0
    parts = [
        f'<text x="{x + left:.1f}" y="{y + 10:.1f}" font-weight="bold" fill="{INK}">'
        f"{escape(fmt.words(one.name))}</text>"
    ]
    for at, (rank, model, score) in enumerate(one.places):
        top = y + 18 + _BAR * at
        long = _WIDE * max(0.0, score) / best
        shade = 1.0 if rank == 1 else 0.55
        parts.append(
            f'<text x="{x + 16:.1f}" y="{top + 9:.1f}" font-size="{_TYPE}" text-anchor="end" '
            f'fill="{FAINT}">{rank}</text>'
            f'<text x="{x + left - 5:.1f}" y="{top + 9:.1f}" font-size="{_TYPE}" '
            f'text-anchor="end" fill="{INK}">{escape(model)}</text>'
            f'<rect x="{x + left:.1f}" y="{top:.1f}" width="{long:.1f}" height="{_BAR - 4}" '
            f'fill="{PALETTE[0]}" fill-opacity="{shade}"/>'
            f'<text x="{x + left + long + 4:.1f}" y="{top + 9:.1f}" font-size="{_TYPE}" '
            f'fill="{INK}">{score:.1f}</text>'
        )
    return parts
