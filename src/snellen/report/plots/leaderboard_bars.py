"""Leaderboards as bars, many small boards on one sheet (MME Fig. 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from snellen.core.errors import UsageError
from snellen.report import format as fmt
from snellen.report.plots.dot_plot import HEAD, frame
from snellen.report.plots.palette import FAINT, INK, PALETTE, width_of
from snellen.scoring.leaderboard import Leaderboard

_ACROSS = 4
_BAR, _WIDE = 15, 120
_TYPE = 10


def board_plot(sheets: Mapping[str, Sequence[Leaderboard]], across: int = _ACROSS) -> str:
    """Boards under the title of their sheet: each board's models as bars from 0 to its best score,
    rank and score beside them; the best is darker. Boards of one model alone rank nothing and
    are left out. Raises UsageError where nothing is left."""
    shown = {
        title: [one for one in boards if len(one.places) > 1] for title, boards in sheets.items()
    }
    shown = {title: boards for title, boards in shown.items() if boards}
    if not shown:
        raise UsageError(
            "nothing to draw: no two models have comparable runs (the same benchmark, version, "
            "parameters, data, limit, stopping rule and policy for failures)"
        )
    every = [one for boards in shown.values() for one in boards]
    left = 30 + max(width_of(place.model, _TYPE) for one in every for place in one.places)
    wide = left + _WIDE + 48
    parts: list[str] = []
    top = 0.0
    for title, boards in shown.items():
        if top:
            parts.append(
                f'<text x="12" y="{top + 22:.1f}" font-size="{HEAD}" font-weight="bold" '
                f'fill="{INK}">{escape(title)}</text>'
            )
        high = 34 + _BAR * max(len(one.places) for one in boards)
        for at, one in enumerate(boards):
            row, column = divmod(at, across)
            parts += _board(one, 8 + column * wide, top + 40 + row * high, left)
        top += 44 + high * -(-len(boards) // across)
    columns = min(across, max(map(len, shown.values())))
    return frame(8 + wide * columns, top, next(iter(shown)), parts)


def _board(one: Leaderboard, x: float, y: float, left: float) -> list[str]:
    best = max((place.score for place in one.places), default=0.0) or 1.0
    parts = [
        f'<text x="{x + left:.1f}" y="{y + 10:.1f}" font-weight="bold" fill="{INK}">'
        f"{escape(fmt.display_name(one.name))}</text>"
    ]
    for at, place in enumerate(one.places):
        rank, model, score = place.rank, place.model, place.score
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
