"""Feeds of changes, at the addresses that readers of feeds look for."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from snellen_hub.boards.feeds import ChangeFeed, change_feed
from snellen_hub.web.board_api import find_board
from snellen_hub.web.conditional import not_modified, validators
from snellen_hub.web.parameters import BoardName, HubOf

feed_router = APIRouter()


@feed_router.get("/feed.xml")
def show_feed(request: Request, hub: HubOf) -> Response:
    """The latest changes of all boards, as Atom."""
    with hub.database.reading() as session:
        return _answer(request, change_feed(session, hub.config))


@feed_router.get("/benchmarks/{name}/feed.xml")
@feed_router.get("/suites/{name}/feed.xml")
def show_board_feed(request: Request, name: BoardName, hub: HubOf) -> Response:
    """The latest changes of the board of a benchmark, or those of a suite's members, as Atom."""
    with hub.database.reading() as session:
        board = find_board(session, request, name)
        return _answer(request, change_feed(session, hub.config, board))


def _answer(request: Request, feed: ChangeFeed) -> Response:
    return not_modified(request, feed.etag, feed.updated) or Response(
        feed.content, media_type="application/atom+xml; charset=utf-8", headers=validators(feed.etag, feed.updated)
    )
