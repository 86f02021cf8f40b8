"""The endpoints of boards, under /api/v1, and their feeds, where readers of feeds look for them."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, HTTPException, Query, Request, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen import __version__
from snellen_hub.boards.changes import change_count
from snellen_hub.boards.exports import page_csv, page_json, page_parquet
from snellen_hub.boards.feeds import ChangeFeed, change_feed
from snellen_hub.boards.history import board_history, model_history, read_changes
from snellen_hub.boards.pages import read_tables
from snellen_hub.boards.queries import apply_query_to_page, parse_query
from snellen_hub.boards.radar import radar_chart
from snellen_hub.boards.suite_members import find_hosted_suite
from snellen_hub.database.tables import HostedBenchmark, HostedSuite
from snellen_hub.hosting import find_hosted_benchmark
from snellen_hub.hub import Hub
from snellen_hub.web.conditional import not_modified, validators
from snellen_hub.web.parameters import BoardName, HubOf

board_router = APIRouter(prefix="/api/v1")
feed_router = APIRouter()

Form = Annotated[str, Query(pattern="^(json|csv|parquet)$")]
Moment = Annotated[str, Query(alias="as-of", max_length=40)]
ModelName = Annotated[str, Query(max_length=200, pattern=r"^[^\x00]+$")]
ModelNames = Annotated[list[str], Query(min_length=1, max_length=20)]
AxisKeys = Annotated[str, Query(max_length=4_000)]
"""Separated by commas."""
_PARQUET = "application/vnd.apache.parquet"


@board_router.get("/benchmarks/{name}/board")
@board_router.get("/suites/{name}/board")
def show_board(request: Request, name: BoardName, hub: HubOf, form: Form = "json") -> Response:
    """The board, filtered, sorted and with the columns that the query asks for."""
    with hub.database.reading() as session:
        return _board(request, session, hub, find_board(session, request, name), form)


@board_router.get("/suites")
def list_suites(hub: HubOf) -> list[dict[str, Any]]:
    """Every suite of the hub, with its members."""
    with hub.database.reading() as session:
        rows = session.scalars(select(HostedSuite).order_by(HostedSuite.name)).all()
    return [describe_suite(row) for row in rows]


@board_router.get("/suites/{name}")
def show_suite(name: BoardName, hub: HubOf) -> dict[str, Any]:
    """One suite."""
    with hub.database.reading() as session:
        return describe_suite(find_suite_row(session, name))


@board_router.get("/benchmarks/{name}/history")
def show_history(name: BoardName, hub: HubOf) -> Response:
    """Every change of a benchmark's board, and the best number over time."""
    with hub.database.reading() as session:
        history = board_history(session, find_hosted_benchmark(session, name))
    return json_response(history)


@board_router.get("/benchmarks/{name}/radar")
@board_router.get("/suites/{name}/radar")
def show_radar(
    request: Request, name: BoardName, hub: HubOf, models: ModelNames, axes: AxisKeys = "", as_of: Moment = ""
) -> Response:
    """Chosen models on the same axes, as shares and with the real values."""
    moment = parse_query({"as-of": as_of}).as_of
    keys = list(filter(None, map(str.strip, axes.split(","))))
    with hub.database.reading() as session:
        page = read_tables(session, hub, find_board(session, request, name), moment)
    return json_response(radar_chart(page, models, keys))


@board_router.get("/models")
def show_model(hub: HubOf, name: ModelName) -> Response:
    """What is published of a model, on every benchmark and each version of it."""
    with hub.database.reading() as session:
        return json_response(model_history(session, name))


@board_router.get("/changes")
def list_changes(
    hub: HubOf, after: Annotated[int, Query(ge=0, lt=2**31)] = 0, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> Response:
    """The changes of all boards after one of them, the earliest first."""
    with hub.database.reading() as session:
        return json_response(read_changes(session, after, limit))


@feed_router.get("/feed.xml")
def show_feed(request: Request, hub: HubOf) -> Response:
    """The latest changes of all boards, as Atom."""
    with hub.database.reading() as session:
        return _feed(request, change_feed(session, hub.config))


@feed_router.get("/benchmarks/{name}/feed.xml")
@feed_router.get("/suites/{name}/feed.xml")
def show_board_feed(request: Request, name: BoardName, hub: HubOf) -> Response:
    """The latest changes of the board of a benchmark, or those of a suite's members, as Atom."""
    with hub.database.reading() as session:
        return _feed(request, change_feed(session, hub.config, find_board(session, request, name)))


def _feed(request: Request, feed: ChangeFeed) -> Response:
    return not_modified(request, feed.etag, feed.updated) or Response(
        feed.content, media_type="application/atom+xml; charset=utf-8", headers=validators(feed.etag, feed.updated)
    )


def describe_suite(row: HostedSuite) -> dict[str, Any]:
    return {"name": row.name, "title": row.title, "description": row.description, "members": row.members}


def find_board(session: Session, request: Request, name: str) -> HostedBenchmark | HostedSuite:
    """The benchmark or the suite that the path of a request names. Raises 404."""
    is_suite = "/suites/" in request.scope["route"].path
    return find_suite_row(session, name) if is_suite else find_hosted_benchmark(session, name)


def find_suite_row(session: Session, name: str) -> HostedSuite:
    """Raises 404."""
    row = find_hosted_suite(session, name)
    if row is None:
        raise HTTPException(404, f"this hub has no suite {name}")
    return row


def _board(request: Request, session: Session, hub: Hub, board: HostedBenchmark | HostedSuite, form: str) -> Response:
    query = parse_query(request.query_params.multi_items())
    # The same changes, query and code give the same bytes.
    state = f"{__version__} {change_count(session)} {form} {board.name} {query.text()}"
    etag = f'W/"{hashlib.sha256(state.encode()).hexdigest()[:32]}"'
    known = not_modified(request, etag)
    if known is not None:
        return known
    page = apply_query_to_page(read_tables(session, hub, board, query.as_of), query)
    headers = validators(etag)
    if form == "json":
        return Response(page_json(page), media_type="application/json", headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{board.name}.{form}"'
    if form == "csv":
        return Response(page_csv(page), media_type="text/csv; charset=utf-8", headers=headers)
    return Response(page_parquet(page), media_type=_PARQUET, headers=headers)


def json_response(value: object) -> Response:
    """An answer of the API, written by msgspec."""
    return Response(msgspec.json.encode(value), media_type="application/json")
