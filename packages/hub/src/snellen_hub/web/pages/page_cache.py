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
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar, cast

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

Value = TypeVar("Value")
State = tuple[int, ...]
"""Differs whenever anything differs that a public page shows."""
PageKey = tuple[str, str, str]
"""Path and query, language, theme."""


class StateCache(BoundedCache[Any, tuple[State, Value]], Generic[Value]):
    """Values by key, each of one state."""

    def of_state(self, key: Any, state: State) -> Value | None:
        """None if there is none of this state."""
        found = self.get(key)
        return None if found is None or found[0] != state else found[1]


class KeptPage(NamedTuple):
    body: bytes
    tag: str
    """Its ETag."""
    route: Any
    """The route that drew it, for the log."""


class LatestState:
    """The state of the boards, read from the database at most a few times a second.

    What this process writes shows at once, what others write after `_FRESH` seconds. While one
    request reads the state anew, others go on with the one before, or wait for it together.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        # Its own, so that it never waits behind uploads.
        self._thread = ThreadPoolExecutor(1, "board-state")
        self._reading: asyncio.Future[State] | None = None
        self._state: State | None = None
        self._read_at = 0.0
        self._writes = -1
        self._is_being_read = False

    def peek(self) -> State | None:
        """The state, without the database; None if it must be read."""
        age = time.monotonic() - self._read_at
        if self._state is None or self._writes != self._database.writes or age > _STALE:
            return None
        if age > _FRESH and not self._is_being_read:
            # The request that gets None reads it, and those behind it need not.
            self._is_being_read = True
            return None
        return self._state

    async def wait(self) -> State:
        """The state, for which all requests that need it now read the database once.

        Raises HubUnavailable.
        """
        if self._reading is not None:
            # It may have begun before a write that this request must see.
            await asyncio.shield(self._reading)
            state = self.peek()
            if state is not None:
                return state
        if self._reading is None:
            loop = asyncio.get_running_loop()
            self._reading = loop.run_in_executor(self._thread, self._read_alone)
            self._reading.add_done_callback(self._forget_reading)
        return await asyncio.shield(self._reading)

    def _forget_reading(self, reading: asyncio.Future[State]) -> None:
        self._reading = None
        if not reading.cancelled():
            # Also where nobody waits any more: else it is logged as an error that nobody saw.
            reading.exception()

    def _read_alone(self) -> State:
        with self._database.reading() as session:
            return self.read(session)

    def read(self, session: Session) -> State:
        """The state, from the database if it is not fresh."""
        with self._lock:
            writes = self._database.writes
            age = time.monotonic() - self._read_at
            if self._state is None or self._writes != writes or age > _FRESH:
                started = time.monotonic()
                self._state = read_state(session)
                self._read_at, self._writes = started, writes
            self._is_being_read = False
            return self._state


class HubCaches(NamedTuple):
    """What a server keeps."""

    pages: StateCache[KeptPage]
    boards: StateCache[BoardPage]
    state: LatestState


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
        if key not in caches.pages:
            # Perhaps no page at all: it must not wait for a database that it may not need.
            await self._app(scope, receive, send)
            return
        try:
            kept = await self._find_page(caches, key)
        except HubUnavailable:
            # The application says so.
            kept = None
        if kept is not None:
            scope["route"] = kept.route
            await _answer(request, kept)(scope, receive, send)
        elif key in self._drawing:
            await self._app(scope, receive, send)
        else:
            await self._draw(key, scope, receive, send)

    async def _draw(self, key: PageKey, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application draw a page, for which others wait."""
        drawing = self._drawing[key] = asyncio.Event()

        async def send_after_drawing(message: Message) -> None:
            # Nobody waits for the client of this request, which may be slow.
            end_drawing()
            await send(message)

        def end_drawing() -> None:
            if self._drawing.get(key) is drawing:
                del self._drawing[key]
            drawing.set()

        try:
            await self._app(scope, receive, send_after_drawing)
        finally:
            end_drawing()

    async def _find_page(self, caches: HubCaches, key: PageKey) -> KeptPage | None:
        """The page of the latest state, if need be from the request that is drawing it.

        Raises HubUnavailable.
        """
        state = caches.state.peek() or await caches.state.wait()
        kept = caches.pages.of_state(key, state)
        drawing = self._drawing.get(key)
        if kept is None and drawing is not None:
            await drawing.wait()
            state = caches.state.peek() or await caches.state.wait()
            kept = caches.pages.of_state(key, state)
        return kept

    def _is_signed_in(self, scope: Scope) -> bool:
        """Whether a browser says that it is signed in, which is checked elsewhere."""
        sent = b"".join(value for name, value in scope["headers"] if name == b"cookie")
        return self._cookie in sent


def public_page(request: Request, draw: Callable[[Session], Response]) -> Response:
    """A page that shows the same to all who are not signed in; `draw` draws it in a session.

    Answers 304 to browsers that have it already.
    """
    caches = caches_of(request)
    is_anonymous = browser_of(request) is None
    key = _page_key(request)
    with hub_of(request).database.reading() as session:
        state = caches.state.read(session)
        kept = caches.pages.of_state(key, state) if is_anonymous else None
        if kept is None:
            response = draw(session)
            if response.status_code != 200:
                return response
            body = bytes(response.body)
            kept = KeptPage(body, _tag(body), request.scope.get("route"))
            if is_anonymous:
                caches.pages.put(key, (state, kept))
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
    benchmarks = select(func.count(), func.max(HostedBenchmark.id), func.sum(HostedBenchmark.version))
    suites = select(func.count(), func.max(HostedSuite.id))
    # Boards name accounts; one that is deleted loses its name.
    deleted = select(func.count(Account.deleted))
    values = (
        *change_count(session),
        *session.execute(benchmarks.select_from(HostedBenchmark)).one(),
        *session.execute(suites.select_from(HostedSuite)).one(),
        *session.execute(deleted).one(),
    )
    return tuple(value or 0 for value in values)


def read_board_page(
    request: Request, session: Session, hub: Hub, board: HostedBenchmark | HostedSuite, as_of: str = ""
) -> BoardPage:
    """As `read_tables`, once for each state."""
    caches = caches_of(request)
    boards, state = caches.boards, caches.state.read(session)
    key = (type(board).__name__, board.name, as_of)
    page = boards.of_state(key, state)
    if page is None:
        page = read_tables(session, hub, board, as_of)
        boards.put(key, (state, page))
    return page


def caches_of(request: Request) -> HubCaches:
    """The caches of the server, which are made with its first request."""
    state = request.app.state
    if not hasattr(state, "hub_caches"):
        state.hub_caches = HubCaches(
            StateCache(PAGE_BYTES, lambda pair: len(pair[1].body)),
            StateCache(BOARDS),
            LatestState(hub_of(request).database),
        )
    return cast(HubCaches, state.hub_caches)


def _tag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:24]}"'
