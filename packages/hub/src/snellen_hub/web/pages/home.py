"""The first page: benchmarks and suites, each with the best of its board, and what has changed."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import APIRouter, Request, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen_hub.boards.changes import changes_of
from snellen_hub.boards.tables import BoardPage
from snellen_hub.database.tables import HostedBenchmark, HostedSuite
from snellen_hub.web.pages.boards import SmallRow, best_rows, board_path
from snellen_hub.web.pages.frame import render
from snellen_hub.web.pages.page_cache import public_page, read_board_page
from snellen_hub.web.parameters import HubOf

router = APIRouter(include_in_schema=False)

_BEST = 5
_CHANGES = 12


class BoardCard(NamedTuple):
    """A benchmark or suite on the first page."""

    page: BoardPage
    path: str
    best: tuple[SmallRow, ...]
    """Of the group that cannot be told apart from the best; without one, the first three."""


@router.get("/")
def home(request: Request, hub: HubOf) -> Response:
    """Everything that the hub holds."""

    def draw(session: Session) -> Response:
        benchmarks = session.scalars(select(HostedBenchmark).order_by(HostedBenchmark.title)).all()
        suites = session.scalars(select(HostedSuite).order_by(HostedSuite.title)).all()
        cards = [_card(read_board_page(request, session, hub, row)) for row in benchmarks]
        # Boards that are in use come before those without models.
        cards.sort(key=lambda card: not card.page.tables[0].rows)
        return render(
            request,
            "home.html",
            benchmarks=cards,
            suites=[_card(read_board_page(request, session, hub, row)) for row in suites],
            changes=session.scalars(changes_of(None, _CHANGES)).all(),
            models=len({row.model for card in cards for row in card.page.tables[0].rows}),
        )

    return public_page(request, draw)


def _card(page: BoardPage) -> BoardCard:
    table = page.tables[0]
    rows = [row for row in table.rows if row.tier == 1] or table.rows[:3]
    return BoardCard(page, board_path(page), best_rows(table, rows[:_BEST]))
