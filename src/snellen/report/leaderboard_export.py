"""Leaderboards for other programs and pages: JSON, CSV, Markdown, LaTeX, HTML."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from snellen.core.csv_cells import text_cells
from snellen.report.latex import latex_comments, latex_table
from snellen.report.leaderboard_tables import (
    ComparableRuns,
    models_by_benchmarks,
    standing_tables,
)
from snellen.report.markdown import bullets, literal, table
from snellen.report.page.layout import page_layout, template_environment
from snellen.report.result_tables import ResultTable
from snellen.scoring.leaderboard import LeaderboardRow
from snellen.scoring.suites import SuiteRow


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
                            "places": [row_object(row) for row in board.places],
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


def row_object(row: LeaderboardRow | SuiteRow) -> dict[str, object]:
    """The row's fields, with its interval as low and high."""
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


def _sections(
    standings: Sequence[ComparableRuns],
) -> Iterator[tuple[str, Sequence[str], list[ResultTable], Sequence[str]]]:
    """Title, notices, tables and legend: of the models by benchmarks, then of each set of runs."""
    matrix = models_by_benchmarks(standings)
    if matrix is not None:
        yield matrix.title, (), [matrix], ()
    for standing in standings:
        yield standing.title, standing.notices, list(standing_tables(standing)), standing.legend


def to_markdown(standings: Sequence[ComparableRuns]) -> str:
    blocks = []
    for title, notices, tables, legend in _sections(standings):
        blocks.append(f"**{literal(title)}**")
        if notices:
            blocks.append("\n".join(bullets(notices)))
        for sheet in tables:
            if len(tables) > 1:
                blocks.append(literal(sheet.title))
            blocks.append("\n".join(table(sheet.header, sheet.rows, right=sheet.number_columns)))
        blocks += [literal(line) for line in legend]
    return "\n\n".join(blocks) + "\n"


def to_latex(standings: Sequence[ComparableRuns]) -> str:
    """The tables as LaTeX `table` environments, which need the package booktabs; notices and
    legends are comments."""
    lines: list[str] = []
    for title, notices, tables, legend in _sections(standings):
        lines += latex_comments((*notices, *legend))
        for sheet in tables:
            name = title if sheet.title == title else f"{title}, {sheet.title}"
            lines.append(latex_table(sheet._replace(title=name)))
    return "\n".join(lines) + "\n"


def to_html(standings: Sequence[ComparableRuns]) -> str:
    """The leaderboards as an HTML page."""
    template = template_environment().get_template("leaderboard.html")
    page: str = template.render(
        **page_layout(("page.css",), ("theme.js",)),
        sections=[
            {"title": title, "notices": notices, "legend": legend, "tables": tables}
            for title, notices, tables, legend in _sections(standings)
        ],
    )
    return page + "\n"


EXPORTS: Mapping[str, Callable[[Sequence[ComparableRuns]], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
    "html": to_html,
}
