"""The protocol card of a benchmark, and the histories of boards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.orm import Session

from snellen_hub.boards.changes import changes_of
from snellen_hub.boards.tables import BoardPage, BoardTable, TableRow
from snellen_hub.database.tables import BoardChange
from snellen_hub.hosting import find_hosted_benchmark
from snellen_hub.moment_text import iso_time
from snellen_hub.question_parts import describe_parts
from snellen_hub.samples.versions import read_versions
from snellen_hub.web.board_api import find_board
from snellen_hub.web.pages.boards import board_path
from snellen_hub.web.pages.frame import render
from snellen_hub.web.pages.page_cache import public_page, read_board_page
from snellen_hub.web.pages.protocol_view import card_facts, find_card, scoring_facts
from snellen_hub.web.pages.timeline import TimedScore, draw_timeline, mark_best
from snellen_hub.web.parameters import BoardName, HubOf

router = APIRouter(include_in_schema=False)

_CHANGES = 60


@router.get("/benchmarks/{name}/protocol")
def protocol_page(request: Request, name: BoardName, hub: HubOf) -> Response:
    """How the numbers of a board are made."""

    def draw(session: Session) -> Response:
        benchmark = find_hosted_benchmark(session, name)
        card = find_card(benchmark.spec)
        versions = read_versions(session, benchmark.id)
        return render(
            request,
            "protocol_card.html",
            benchmark=benchmark,
            card=card,
            asking=card_facts(card) if card else {},
            scoring=scoring_facts(benchmark),
            versions=[(number, iso_time(row.created)) for number, row in versions.items()][::-1],
            per_day=hub.config.submissions.per_day,
            question_parts=describe_parts(benchmark),
        )

    return public_page(request, draw)


@router.get("/benchmarks/{name}/history")
@router.get("/suites/{name}/history")
def history_page(
    request: Request,
    name: BoardName,
    hub: HubOf,
    table: Annotated[str, Query(max_length=120)] = "",
    by: Annotated[str, Query(pattern="^(released|published)?$")] = "",
) -> Response:
    """Scores by the day when a model was released, or its score published; of a suite, averages by
    the day of release, and what changed in its benchmarks."""

    def draw(session: Session) -> Response:
        board = find_board(session, request, name)
        page = read_board_page(request, session, hub, board)
        changes = session.scalars(changes_of(board, _CHANGES)).all()
        return _draw_history(request, page, table, by, changes)

    return public_page(request, draw)


def _draw_history(request: Request, page: BoardPage, table: str, by: str, changes: Sequence[BoardChange]) -> Response:
    chosen = page.table(table) or page.tables[0]
    # The rows of a suite are averages of several submissions, with no day of publication.
    is_suite = page.kind == "suite"
    days = "released" if is_suite else by
    if not days:
        released = sum(bool(row.facts.get("released")) for row in chosen.rows)
        days = "released" if 2 * released > len(chosen.rows) else "published"
    rows = _history_rows(chosen, days)
    return render(
        request,
        "history.html",
        page=page,
        changes=changes,
        path=board_path(page),
        table=chosen,
        by=days,
        has_days=not is_suite,
        rows=rows,
        timeline=draw_timeline([one for one, _ in rows]),
        lines=[(_day_text(row, days), one, row) for one, row in reversed(rows)],
        digits=column.digits if (column := chosen.column(chosen.main)) else 1,
        undated=sum(_main_score(row, chosen, date.min) is not None for row in chosen.rows) - len(rows),
    )


def _history_rows(table: BoardTable, days: str) -> list[tuple[TimedScore, TableRow]]:
    """The rows with a day and a number of the benchmark's protocol, by day."""
    dated = []
    for row in table.rows:
        day = _first_day(_day_text(row, days))
        score = None if day is None else _main_score(row, table, day)
        if score is not None:
            dated.append((score, row))
    dated.sort(key=lambda pair: (pair[0].day, pair[0].value))
    marked = mark_best([one for one, _ in dated])
    return [(one, row) for one, (_, row) in zip(marked, dated, strict=True)]


def _day_text(row: TableRow, days: str) -> str:
    text = row.published if days == "published" else str(row.facts.get("released") or "")
    return text[:10]


def _main_score(row: TableRow, table: BoardTable, day: date) -> TimedScore | None:
    """The main number of a row, unless another protocol made it."""
    cell = row.cells.get(table.main)
    if cell is None or cell.value is None or cell.mark:
        return None
    return TimedScore(day, cell.value, cell.low, cell.high, row.model)


def _first_day(text: str) -> date | None:
    """The day that a year, month, day or time in ISO 8601 begins with."""
    parts = text.split("-")
    try:
        year, month, day = (*map(int, parts), 1, 1)[:3]
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None
