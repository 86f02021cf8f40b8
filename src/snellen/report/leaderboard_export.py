"""Leaderboards for other programs and pages: JSON, CSV, Markdown, HTML."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from snellen.core.csv_cells import text_cells
from snellen.report import format as fmt
from snellen.report.markdown import bullets, literal, table
from snellen.report.page.layout import page_layout, template_environment
from snellen.report.terminal.leaderboards import ComparableRuns, board_cells, board_headings
from snellen.scoring.leaderboard import LeaderboardRow


class BoardLine(NamedTuple):
    """A row of a leaderboard in the CSV file; unknown values are empty."""

    benchmark: str
    board: str
    rank: int
    model: str
    score: str
    low: str
    high: str
    n: int | str
    rank_low: int | str
    rank_high: int | str
    alike: str


def board_lines(standings: Sequence[ComparableRuns]) -> list[BoardLine]:
    """The rows of all leaderboards."""
    return [
        _board_line(standing.title, board.name, row)
        for standing in standings
        for board in standing.boards
        for row in board.places
    ]


def _board_line(title: str, name: str, row: LeaderboardRow) -> BoardLine:
    low, high = row.ranks or ("", "")
    interval = row.interval
    return BoardLine(
        title,
        name,
        row.rank,
        row.model,
        f"{row.score:.2f}",
        f"{interval.low:.2f}" if interval else "",
        f"{interval.high:.2f}" if interval else "",
        "" if row.n is None else row.n,
        low,
        high,
        row.letters or "",
    )


def to_json(standings: Sequence[ComparableRuns]) -> str:
    """One JSON object with the sets of comparable runs, their leaderboards and notices; scores are
    not rounded."""
    return (
        json.dumps(
            [
                {
                    "benchmark": standing.title,
                    "notices": standing.notices,
                    "boards": [
                        {
                            **board._asdict(),
                            "places": [_row_object(row) for row in board.places],
                        }
                        for board in standing.boards
                    ],
                }
                for standing in standings
            ],
            ensure_ascii=False,
        )
        + "\n"
    )


def _row_object(row: LeaderboardRow) -> dict[str, object]:
    interval = row.interval
    return {
        **row._asdict(),
        "interval": None if interval is None else [interval.low, interval.high],
    }


def to_csv(standings: Sequence[ComparableRuns]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(BoardLine._fields)
    writer.writerows(text_cells(line) for line in board_lines(standings))
    return file.getvalue()


def to_markdown(standings: Sequence[ComparableRuns]) -> str:
    blocks = []
    for standing in standings:
        blocks.append(f"**{literal(standing.title)}**")
        if standing.notices:
            blocks.append("\n".join(bullets(standing.notices)))
        for board in standing.boards:
            if board.places:
                head = board_headings(board)
                right = [
                    column for column, name in enumerate(head) if name not in ("model", "alike")
                ]
                head[1] = fmt.display_name(board.name)
                blocks.append("\n".join(table(head, board_cells(board), right=right)))
        blocks += [literal(line) for line in standing.legend]
    return "\n\n".join(blocks) + "\n"


def to_html(standings: Sequence[ComparableRuns]) -> str:
    """The leaderboards as an HTML page."""
    template = template_environment().get_template("leaderboard.html")
    page: str = template.render(
        **page_layout(("page.css",), ("theme.js",)),
        standings=[
            {
                "title": standing.title,
                "notices": standing.notices,
                "legend": standing.legend,
                "boards": [
                    {
                        "name": board.name,
                        "headings": board_headings(board),
                        "rows": list(board_cells(board)),
                    }
                    for board in standing.boards
                    if board.places
                ],
            }
            for standing in standings
        ],
    )
    return page + "\n"


EXPORTS: Mapping[str, Callable[[Sequence[ComparableRuns]], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
    "html": to_html,
}
