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
from snellen.report.page.layout import environment, frame
from snellen.report.terminal.leaderboards import Standing, cells, headings
from snellen.scoring.leaderboard import Place


class Line(NamedTuple):
    """A place of a board, as a row of the CSV file; empty where nothing is known."""

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


def lines(found: Sequence[Standing]) -> list[Line]:
    """Every place of every board."""
    return [
        _line(standing.title, shown.name, place)
        for standing in found
        for shown in standing.boards
        for place in shown.places
    ]


def _line(title: str, name: str, place: Place) -> Line:
    low, high = place.ranks or ("", "")
    interval = place.interval
    return Line(
        title,
        name,
        place.rank,
        place.model,
        f"{place.score:.2f}",
        f"{interval.low:.2f}" if interval else "",
        f"{interval.high:.2f}" if interval else "",
        "" if place.n is None else place.n,
        low,
        high,
        place.letters or "",
    )


def to_json(found: Sequence[Standing]) -> str:
    """One object: the standings with their boards and notices, scores unrounded."""
    return (
        json.dumps(
            [
                {
                    "benchmark": standing.title,
                    "notices": standing.notices,
                    "boards": [
                        {**shown._asdict(), "places": [_object(place) for place in shown.places]}
                        for shown in standing.boards
                    ],
                }
                for standing in found
            ],
            ensure_ascii=False,
        )
        + "\n"
    )


def _object(place: Place) -> dict[str, object]:
    interval = place.interval
    return {
        **place._asdict(),
        "interval": None if interval is None else [interval.low, interval.high],
    }


def to_csv(found: Sequence[Standing]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(Line._fields)
    writer.writerows(text_cells(line) for line in lines(found))
    return file.getvalue()


def to_markdown(found: Sequence[Standing]) -> str:
    blocks = []
    for standing in found:
        blocks.append(f"**{literal(standing.title)}**")
        if standing.notices:
            blocks.append("\n".join(bullets(standing.notices)))
        for shown in standing.boards:
            if shown.places:
                head = headings(shown)
                right = [at for at, name in enumerate(head) if name not in ("model", "alike")]
                head[1] = fmt.words(shown.name)
                blocks.append("\n".join(table(head, cells(shown), right=right)))
        blocks += [literal(line) for line in standing.legend]
    return "\n\n".join(blocks) + "\n"


def to_html(found: Sequence[Standing]) -> str:
    """A page of its own."""
    template = environment().get_template("leaderboard.html")
    page: str = template.render(
        **frame(("page.css",), ("theme.js",)),
        standings=[
            {
                "title": standing.title,
                "notices": standing.notices,
                "legend": standing.legend,
                "boards": [
                    {"name": shown.name, "headings": headings(shown), "rows": list(cells(shown))}
                    for shown in standing.boards
                    if shown.places
                ],
            }
            for standing in found
        ],
    )
    return page + "\n"


EXPORTS: Mapping[str, Callable[[Sequence[Standing]], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
    "html": to_html,
}
