"""The boards of benchmarks and suites."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request, Response
from msgspec.structs import replace
from sqlalchemy.orm import Session

from snellen_hub.boards.queries import BoardQuery, parse_query
from snellen_hub.boards.tables import BoardPage
from snellen_hub.hub import Hub
from snellen_hub.web.board_api import find_board
from snellen_hub.web.pages.board_context import board_context, chosen_table, usual_columns
from snellen_hub.web.pages.board_view import address
from snellen_hub.web.pages.frame import redirect, render
from snellen_hub.web.pages.page_cache import public_page, read_board_page
from snellen_hub.web.parameters import BoardName, HubOf

router = APIRouter(include_in_schema=False)


@router.get("/benchmarks/{name}")
@router.get("/suites/{name}")
def board_page(request: Request, name: BoardName, hub: HubOf) -> Response:
    """The board of a benchmark or of a suite."""
    return public_page(request, lambda session: _draw(request, session, hub, name))


def _draw(request: Request, session: Session, hub: Hub, name: str) -> Response:
    query = parse_query(request.query_params.multi_items())
    board = find_board(session, request, name)
    page = read_board_page(request, session, hub, board, query.as_of)
    query = _canonical(page, query)
    # A form sends what is empty too. The canonical address is short, and there is one of each view.
    if query.text() != parse_query(request.query_params.multi_items()).text() or any(
        not value.strip() for _, value in request.query_params.multi_items()
    ):
        return redirect(address(request.url.path, query))
    return render(request, "board.html", **board_context(page, query))


def _canonical(page: BoardPage, query: BoardQuery) -> BoardQuery:
    """The query without what is so anyway. Raises 404 for a table that the page does not have."""
    if query.table and page.table(query.table) is None:
        raise HTTPException(404, f"{page.name} has no table {query.table}")
    if query.table == page.tables[0].name:
        query = replace(query, table="")
    table = chosen_table(page, query)
    if query.columns and set(query.columns) == usual_columns(table):
        query = replace(query, columns=())
    main = table.column(table.main)
    if query.sort == table.main and main is not None:
        if query.descending in (None, main.kind != "rank"):
            query = replace(query, sort="", descending=None)
    elif not query.sort:
        query = replace(query, descending=None)
    return query
