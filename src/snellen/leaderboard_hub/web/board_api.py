"""The endpoints of boards, under /api/v1."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi import Path as PathParameter
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen.leaderboard_hub.boards.exports import page_csv, page_json, page_parquet
from snellen.leaderboard_hub.boards.pages import read_tables
from snellen.leaderboard_hub.boards.queries import apply_query_to_page, parse_query
from snellen.leaderboard_hub.database.tables import HostedBenchmark, HostedSuite
from snellen.leaderboard_hub.hub import Hub
from snellen.leaderboard_hub.web.access import hub_of

board_router = APIRouter(prefix="/api/v1")

HubOf = Annotated[Hub, Depends(hub_of)]
BoardName = Annotated[str, PathParameter(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
Form = Annotated[str, Query(pattern="^(json|csv|parquet)$")]


@board_router.get("/benchmarks/{name}/board")
def show_board(request: Request, name: BoardName, hub: HubOf, form: Form = "json") -> Response:
    """The board of a benchmark, filtered, sorted and with the columns that the query asks for."""
    with hub.database.reading() as session:
        return _board(request, session, hub, find_benchmark(session, name), form)


def find_benchmark(session: Session, name: str) -> HostedBenchmark:
    """Raises 404."""
    row = session.scalar(select(HostedBenchmark).where(HostedBenchmark.name == name))
    if row is None:
        raise HTTPException(404, f"this hub has no benchmark {name}")
    return row


def _board(
    request: Request, session: Session, hub: Hub, board: HostedBenchmark | HostedSuite, form: str
) -> Response:
    query = parse_query(request.query_params.multi_items())
    page = apply_query_to_page(read_tables(session, hub, board, query.as_of), query)
    if form == "json":
        return Response(page_json(page), media_type="application/json")
    content = page_csv(page) if form == "csv" else page_parquet(page)
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/vnd.apache.parquet"
    disposition = f'attachment; filename="{board.name}.{form}"'
    return Response(content, media_type=kind, headers={"Content-Disposition": disposition})
