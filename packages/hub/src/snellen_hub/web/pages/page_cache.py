"""Pages that many read and few change are drawn once for each state of the boards.

A page of somebody who is signed in holds the secret of their forms, so whole pages are kept for
those who are not; the boards that pages are drawn from are kept for all. Nothing of a submission
that is not published goes in here.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple, cast

from fastapi import Request, Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from snellen_hub.boards.changes import change_count
from snellen_hub.boards.pages import read_tables
from snellen_hub.boards.tables import BoardPage
from snellen_hub.bounded_cache import BoundedCache
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import Account, HostedBenchmark, HostedSuite
from snellen_hub.errors import HubUnavailable
from snellen_hub.hub import Hub
from snellen_hub.web.access import hub_of
from snellen_hub.web.browser import SIGN_IN_COOKIE, browser_of, local_target
from snellen_hub.web.conditional import not_modified, validators
from snellen_hub.web.pages.frame import PAGE_HEADERS, language_of, theme_of

PAGE_BYTES = 64_000_000
"""Of all pages that are kept."""
BOARDS = 64
"""Boards that are kept, each with all its rows."""
_FRESH = 0.25
"""Seconds for which the state of the boards is not read again."""
_STALE = 2.0
"""Seconds after which it is never used, even while it is being read."""

State = tuple[int, ...]
"""Differs whenever anything differs that a public page shows."""
PageKey = tuple[str, str, str]
"""Path and query, language, theme."""


class KeptPage(NamedTuple):
    body: bytes
    tag: str
    """Its ETag."""
    route: Any
    """The route that drew it, for the log."""
    state: State


class HubCaches:
    """What a server keeps. The state of the boards is read a few times a second: what this process
    writes shows at once, what others write after `_FRESH` seconds."""

    def __init__(self, database: Database) -> None:
        self.pages: BoundedCache[PageKey, KeptPage] = BoundedCache(PAGE_BYTES, lambda page: len(page.body))
        self.boards: BoundedCache[Any, BoardPage] = BoundedCache(BOARDS)
        self._database = database
        # Its own, so that it never waits behind uploads.
        self._thread = ThreadPoolExecutor(1, "board-state")
        self._reading: asyncio.Future[None] | None = None
        self._state: State = ()
        self._read_at = 0.0
        self._writes = -1

    async def latest_state(self) -> State:
        """The state, for which all requests that need it now read the database once; while one
        reads it anew, others go on with the one before. Raises HubUnavailable."""
        # A reading that is going on may have begun before a write that this request must see.
        for _ in range(2):
            age = time.monotonic() - self._read_at
            is_being_read = self._reading is not None and not self._reading.done()
            if self._writes == self._database.writes and age < (_STALE if is_being_read else _FRESH):
                break
            if not is_being_read:
                self._reading = asyncio.get_running_loop().run_in_executor(self._thread, self._read)
            assert self._reading is not None
            await asyncio.shield(self._reading)
        return self._state

    def _read(self) -> None:
        writes, started = self._database.writes, time.monotonic()
        with self._database.reading() as session:
            self._state = read_state(session)
        self._writes, self._read_at = writes, started


class KeptPages:
    """Answers with kept pages before anything else of the application runs.

    Once the boards have changed, one request draws a page anew and the others wait for it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._cookie = f"{SIGN_IN_COOKIE}=".encode()
        self._drawing: dict[PageKey, asyncio.Event] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or self._is_signed_in(scope):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        caches, key = caches_of(request), _page_key(request)
        # Without an earlier one perhaps no page at all: it must not wait for a database.
        kept = await self._find_page(caches, key) if caches.pages.get(key) else None
        if kept is not None:
            scope["route"] = kept.route
            await _answer(request, kept)(scope, receive, send)
        elif caches.pages.get(key):
            await self._draw(key, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _find_page(self, caches: HubCaches, key: PageKey) -> KeptPage | None:
        """The page of the latest state, if need be from the request that is drawing it."""
        with suppress(HubUnavailable):  # the application says so
            for _ in range(2):
                state = await caches.latest_state()
                kept = caches.pages.get(key)
                if kept is not None and kept.state == state:
                    return kept
                if key not in self._drawing:
                    break
                await self._drawing[key].wait()
        return None

    async def _draw(self, key: PageKey, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application draw a page, for which others wait."""
        drawing = self._drawing.setdefault(key, asyncio.Event())

        async def send_after_drawing(message: Message) -> None:
            # Nobody waits for the client of this request, which may be slow.
            end_drawing()
            await send(message)

        def end_drawing() -> None:
            drawing.set()
            self._drawing.pop(key, None)

        try:
            await self._app(scope, receive, send_after_drawing)
        finally:
            end_drawing()

    def _is_signed_in(self, scope: Scope) -> bool:
        """Whether a browser says that it is signed in, which is checked elsewhere."""
        return any(name == b"cookie" and self._cookie in value for name, value in scope["headers"])


def public_page(request: Request, draw: Callable[[Session], Response]) -> Response:
    """A page that shows the same to all who are not signed in; `draw` draws it in a session.

    Answers 304 to browsers that have it already.
    """
    pages, key = caches_of(request).pages, _page_key(request)
    is_anonymous = browser_of(request) is None
    with hub_of(request).database.reading() as session:
        state = request.state.boards = read_state(session)
        kept = pages.get(key) if is_anonymous else None
        if kept is None or kept.state != state:
            response = draw(session)
            if response.status_code != 200:
                return response
            body = bytes(response.body)
            tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
            kept = KeptPage(body, tag, request.scope.get("route"), state)
            if is_anonymous:
                pages.put(key, kept)
    return _answer(request, kept)


def _page_key(request: Request) -> PageKey:
    return local_target(request), language_of(request), theme_of(request)


def _answer(request: Request, kept: KeptPage) -> Response:
    headers = {**PAGE_HEADERS, **validators(kept.tag)}
    same = not_modified(request, kept.tag)
    if same is not None:
        same.headers.update(headers)
        return same
    return Response(kept.body, media_type="text/html; charset=utf-8", headers=headers)


def read_state(session: Session) -> State:
    """The state of everything that public pages show."""
    values = (
        func.count(HostedBenchmark.id),
        func.max(HostedBenchmark.id),
        func.sum(HostedBenchmark.version),
        func.count(HostedSuite.id),
        func.max(HostedSuite.id),
        # Boards name accounts; one that is deleted loses its name.
        func.count(Account.deleted),
    )
    row = session.execute(select(*(select(value).scalar_subquery() for value in values))).one()
    return tuple(value or 0 for value in (*change_count(session), *row))


def read_board_page(
    request: Request, session: Session, hub: Hub, board: HostedBenchmark | HostedSuite, as_of: str = ""
) -> BoardPage:
    """As `read_tables`, once for each state; of a page that `public_page` draws."""
    boards = caches_of(request).boards
    key = (request.state.boards, type(board), board.name, as_of)
    page = boards.get(key)
    if page is None:
        page = read_tables(session, hub, board, as_of)
        boards.put(key, page)
    return page


def caches_of(request: Request) -> HubCaches:
    """The caches of the server, which are made with its first request."""
    state = request.app.state
    if not hasattr(state, "hub_caches"):
        state.hub_caches = HubCaches(hub_of(request).database)
    return cast(HubCaches, state.hub_caches)
