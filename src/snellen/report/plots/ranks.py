"""Models and their ranks: a heat map over many columns, and leaderboards as bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from snellen.benchmarks.abilities.seedbench.levels import DimensionGroup
from snellen.core.arrays import np
from snellen.core.errors import UsageError
from snellen.report import format as fmt
from snellen.report.plots.figure import (
    FAINT,
    INK,
    NO_VALUE,
    PALETTE,
    add_legend,
    add_tooltip,
    ink_on,
    new_plot,
    plot_style,
    shades,
)
from snellen.scoring.leaderboard import Leaderboard
from snellen.scoring.ranks import competition_ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Values = Mapping[str, Mapping[str, float | None]]
"""Row (a model) to column (a dimension) to value, higher being better."""

_CELL, _ROW = 0.26, 0.2
"""Inches of a cell of the heat map."""
_CHARACTER = 0.075
"""About the width of a bold letter in inches."""
_BAR, _BAR_WIDTH, _MODEL, _SCORE = 0.17, 1.3, 0.075, 0.55
"""Inches of a leaderboard: a bar's height and length, a letter of a model's name, a score."""
_MAX_WIDTH = 14.0
"""Inches of leaderboards beside each other."""


@plot_style()
def heat_map(values: Values, groups: Sequence[DimensionGroup], title: str = "") -> Figure:
    """Ranks per column, darker for a higher rank and grey for no value (SEED-Bench-H, Fig. 10).

    Rows are in the order given, columns in groups that are named below them. Ranks are among the
    rows that have a value in the column; equal values share the smaller rank.
    """
    from matplotlib.patches import Patch

    colours = shades()
    columns = [name for group in groups for name in group.members]
    height, width = _ROW * max(1, len(values)), _CELL * max(1, len(columns))
    figure, axes = new_plot(width, height, title)
    axes.set_facecolor(NO_VALUE)
    axes.set_xlim(-0.5, max(1, len(columns)) - 0.5)
    axes.set_ylim(max(1, len(values)) - 0.5, -0.5)
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(columns)), columns, rotation=48, ha="left", rotation_mode="anchor")
    axes.tick_params(axis="x", labelcolor=INK)
    axes.set_yticks(range(len(values)), values)
    centred: Any = {"ha": "center", "va": "center_baseline", "fontsize": 7.5}
    shares = np.full((len(values), len(columns)), np.nan)
    for x, name in enumerate(columns):
        ranks = competition_ranks({row: cells.get(name) for row, cells in values.items()})
        for y, (row, cells) in enumerate(values.items()):
            if row not in ranks:
                continue
            shares[y, x] = rank_share(ranks[row], len(ranks))
            text = axes.text(x, y, str(ranks[row]), color=ink_on(colours(shares[y, x])), **centred)
            add_tooltip(text, f"{row}, {name}: {cells[name]:.1f}, rank {ranks[row]} of {len(ranks)}")
    if shares.size:
        edges = (np.arange(count + 1) - 0.5 for count in (len(columns), len(values)))
        axes.pcolormesh(*edges, shares, cmap=colours, vmin=0, vmax=1, edgecolors="white", linewidth=0.8)
    ends = list(accumulate(len(group.members) for group in groups))
    axes.vlines([end - 0.5 for end in ends[:-1]], -0.5, max(1, len(values)) - 0.5, "white", lw=2.5)
    bottom = _name_groups(axes, groups, len(values))
    shown: dict[str, Any] = {"first": colours(1.0), "middle": colours(0.5), "last": colours(0.0), "no value": NO_VALUE}
    add_legend(figure, [Patch(color=colour, label=name) for name, colour in shown.items()], below=bottom)
    return figure


def rank_share(rank: int, ranked: int) -> float:
    """1 for the first, 0 for the last of `ranked`."""
    return 1.0 if ranked <= 1 else 1 - (rank - 1) / (ranked - 1)


def _name_groups(axes: Axes, groups: Sequence[DimensionGroup], rows: int) -> float:
    """A bracket and a name below each group's columns; names fall to the right if one of them is
    wider than its group. Returns the inches that the names reach down."""
    longest = max((len(group.name) for group in groups), default=0)
    level = all(_CHARACTER * len(group.name) <= _CELL * len(group.members) - 0.04 for group in groups)
    edge, x = rows - 0.5 + 0.06 / _ROW, -0.5
    for group in groups:
        end = x + len(group.members)
        axes.plot([x + 0.1, end - 0.1], [edge, edge], color=FAINT, lw=1.5, clip_on=False)
        axes.text(
            (x + end) / 2,
            edge + 0.08 / _ROW,
            group.name,
            fontweight="bold",
            va="top",
            ha="center" if level else "left",
            rotation=0 if level else -35,
            rotation_mode="anchor",
        )
        x = end
    return 0.4 if level else 0.45 + 0.57 * _CHARACTER * longest


@plot_style()
def leaderboard_plot(sheets: Mapping[str, Sequence[Leaderboard]], across: int = 4) -> Figure:
    """Leaderboards under the title of their sheet, `across` in a line (MME Fig. 2): models as bars
    from 0 to the best score with their intervals, rank and score beside them; the best are darker.
    Fewer are in a line where names are long.

    Boards of a single model rank nothing and are left out. Raises UsageError if none is left.
    """
    from matplotlib.figure import Figure

    drawn = _boards_to_draw(sheets)
    models = {row.model for boards in drawn.values() for board in boards for row in board.places}
    left = 0.3 + _MODEL * max(map(len, models))
    cell = left + _BAR_WIDTH + _SCORE
    across = max(1, min(across, int(_MAX_WIDTH / cell)))
    lines = [
        (title, boards[start : start + across])
        for title, boards in drawn.items()
        for start in range(0, len(boards), across)
    ]
    heights = [_BAR * max(len(board.places) for board in boards) for _, boards in lines]
    tops = [(0.86 if index else 0.62) if start else 0.34 for index, start in enumerate(_starts(lines))]
    width, height = cell * max(len(boards) for _, boards in lines), sum(heights) + sum(tops)
    figure = Figure(figsize=(width, height))
    figure.set_label(", ".join(drawn))
    y = 0.0
    for (title, boards), tall, top, is_first in zip(lines, heights, tops, _starts(lines), strict=True):
        if is_first:
            figure.text(0, 1 - (y + top - 0.5) / height, title, fontsize=11, fontweight="bold")
        y += top
        for column, board in enumerate(boards):
            box = _BAR * len(board.places)
            axes = figure.add_axes(
                ((column * cell + left) / width, 1 - (y + box) / height, _BAR_WIDTH / width, box / height)
            )
            _draw_board(axes, board)
        y += tall
    return figure


def _boards_to_draw(sheets: Mapping[str, Sequence[Leaderboard]]) -> dict[str, list[Leaderboard]]:
    drawn = {title: [board for board in boards if len(board.places) > 1] for title, boards in sheets.items()}
    drawn = {title: boards for title, boards in drawn.items() if boards}
    if not drawn:
        raise UsageError(
            "nothing to draw: no two models have comparable runs (the same benchmark, version, "
            "parameters, data, limit, stopping rule and policy for failures)"
        )
    return drawn


def _starts(lines: Sequence[tuple[str, Sequence[Leaderboard]]]) -> list[bool]:
    """Whether a line is the first of its sheet."""
    return [not index or lines[index - 1][0] != title for index, (title, _) in enumerate(lines)]


def _draw_board(axes: Axes, board: Leaderboard) -> None:
    axes.set_title(fmt.display_name(board.name), loc="left", fontsize=9, pad=4)
    ends = [max(row.score, row.interval.high if row.interval else 0.0) for row in board.places]
    longest = max(0.0, *ends) or 1.0
    axes.set_xlim(0, longest)
    axes.set_ylim(len(board.places) - 0.5, -0.5)
    axes.set_xticks([])
    axes.set_yticks(range(len(board.places)), [f"{row.model}  {row.rank}" for row in board.places], fontsize=7.5)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for y, (row, end) in enumerate(zip(board.places, ends, strict=True)):
        length = max(0.0, row.score)
        axes.barh(y, length, 0.74, color=PALETTE[0], alpha=1.0 if row.rank == 1 else 0.55)
        if row.interval is not None:
            axes.plot([row.interval.low, row.interval.high], [y, y], color=INK, lw=1)
        place = max(0.0, end) + 0.03 * longest
        axes.text(place, y, f"{row.score:.1f}", va="center_baseline", fontsize=7.5)
