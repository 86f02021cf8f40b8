"""Pages that many read and few change are drawn once for each state of the boards.

A page of somebody who is signed in holds the secret of their forms, so whole pages are kept for
those who are not; the boards that pages are drawn from are kept for all. Nothing of a submission
that is not published goes in here.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar, cast

from fastapi import Request, Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from snellen.leaderboard_hub.boards.changes import change_count
from snellen.leaderboard_hub.boards.pages import read_tables
from snellen.leaderboard_hub.boards.tables import BoardPage
from snellen.leaderboard_hub.database.tables import Account, HostedBenchmark, HostedSuite
from snellen.leaderboard_hub.hub import Hub
from snellen.leaderboard_hub.web.access import hub_of
from snellen.leaderboard_hub.web.browser import browser_of, local_target
from snellen.leaderboard_hub.web.conditional import not_modified, validators
from snellen.leaderboard_hub.web.pages.frame import PAGE_HEADERS, language_of, theme_of

PAGE_BYTES = 64_000_000
"""Of all pages that are kept."""
BOARDS = 64
"""Boards that are kept, each with all its rows."""

Value = TypeVar("Value")
State = tuple[int, ...]
"""Differs whenever anything differs that a public page shows."""


class StateCache(Generic[Value]):
    """Values by key, each of one state. Those that were not asked for the longest go first."""

    def __init__(self, capacity: int, size: Callable[[Value], int]) -> None:
        self._capacity = capacity
        self._size = size
        self._values: OrderedDict[Any, tuple[State, Value]] = OrderedDict()
        self._used = 0
        self._lock = Lock()

    def get(self, key: Any, state: State) -> Value | None:
        """None if there is none of this state."""
        with self._lock:
            found = self._values.get(key)
            if found is None or found[0] != state:
                return None
            self._values.move_to_end(key)
            return found[1]

    def put(self, key: Any, state: State, value: Value) -> None:
        with self._lock:
            earlier = self._values.pop(key, None)
            if earlier is not None:
                self._used -= self._size(earlier[1])
            self._values[key] = (state, value)
            self._used += self._size(value)
            while self._used > self._capacity and self._values:
                _, (_, dropped) = self._values.popitem(last=False)
                self._used -= self._size(dropped)


class KeptPage(NamedTuple):
    body: bytes
    tag: str
    """Its ETag."""


class _HubCaches(NamedTuple):
    pages: StateCache[KeptPage]
    boards: StateCache[BoardPage]


def public_page(request: Request, draw: Callable[[Session], Response]) -> Response:
    """A page that shows the same to all who are not signed in; `draw` draws it in a session.

    Answers 304 to browsers that have it already.
    """
    caches = _caches_of(request)
    is_anonymous = browser_of(request) is None
    key = (local_target(request), language_of(request), theme_of(request))
    with hub_of(request).database.reading() as session:
        state = read_state(session)
        kept = caches.pages.get(key, state) if is_anonymous else None
        if kept is None:
            response = draw(session)
            if response.status_code != 200:
                return response
            kept = KeptPage(bytes(response.body), _tag(bytes(response.body)))
            if is_anonymous:
                caches.pages.put(key, state, kept)
    headers = {**PAGE_HEADERS, **validators(kept.tag)}
    same = not_modified(request, kept.tag)
    if same is not None:
        same.headers.update(headers)
        return same
    return Response(kept.body, media_type="text/html; charset=utf-8", headers=headers)


def read_state(session: Session) -> State:
    """The state of everything that public pages show."""
    benchmarks = select(
        func.count(), func.max(HostedBenchmark.id), func.sum(HostedBenchmark.version)
    )
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
    request: Request,
    session: Session,
    hub: Hub,
    board: HostedBenchmark | HostedSuite,
    as_of: str = "",
) -> BoardPage:
    """As `read_tables`, once for each state."""
    boards = _caches_of(request).boards
    key, state = (type(board).__name__, board.name, as_of), read_state(session)
    page = boards.get(key, state)
    if page is None:
        page = read_tables(session, hub, board, as_of)
        boards.put(key, state, page)
    return page


def _caches_of(request: Request) -> _HubCaches:
    state = request.app.state
    if not hasattr(state, "hub_caches"):
        state.hub_caches = _HubCaches(
            StateCache(PAGE_BYTES, lambda page: len(page.body)), StateCache(BOARDS, lambda _: 1)
        )
    return cast(_HubCaches, state.hub_caches)


def _tag(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:24]}"'
