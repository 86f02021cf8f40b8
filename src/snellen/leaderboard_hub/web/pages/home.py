"""The first page: benchmarks and suites, each with the best of its board, and what has changed."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends, Request, Response
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from snellen.leaderboard_hub.boards.tables import BoardPage
from snellen.leaderboard_hub.database.tables import BoardChange, HostedBenchmark, HostedSuite
from snellen.leaderboard_hub.hub import Hub
from snellen.leaderboard_hub.web.access import hub_of
from snellen.leaderboard_hub.web.pages.board_context import SmallRow, best_rows, board_path
from snellen.leaderboard_hub.web.pages.frame import render
from snellen.leaderboard_hub.web.pages.page_cache import public_page, read_board_page
from snellen.leaderboard_hub.web.pages.scales import number_text

router = APIRouter(include_in_schema=False)

_BEST = 5
_CHANGES = 12
_KINDS = {
    "published": "new",
    "imported": "imported",
    "scored": "scored again",
    "withdrawn": "withdrawn",
    "data-replaced": "new version of the benchmark",
    "suite": "suite changed",
}
"""What is written of each kind of change."""


class BoardCard(NamedTuple):
    """A benchmark or suite on the first page."""

    page: BoardPage
    path: str
    models: int
    metric: str
    best: tuple[SmallRow, ...]
    is_group: bool
    """Whether the best are a group that cannot be told apart."""
    more: int
    """Models of that group that are left out."""


class ChangeLine(NamedTuple):
    """A change of a board."""

    at: str
    kind: str
    model: str
    link: str
    """Of the submission, while it is published."""
    where: str
    path: str
    before: str
    after: str


@router.get("/")
def home(request: Request, hub: Annotated[Hub, Depends(hub_of)]) -> Response:
    """Everything that the hub holds."""

    def draw(session: Session) -> Response:
        benchmarks = session.scalars(select(HostedBenchmark).order_by(HostedBenchmark.title)).all()
        suites = session.scalars(select(HostedSuite).order_by(HostedSuite.title)).all()
        cards = [_card(read_board_page(request, session, hub, row)) for row in benchmarks]
        # Boards that are in use come before those without models.
        cards.sort(key=lambda card: not card.models)
        return render(
            request,
            "home.html",
            benchmarks=cards,
            suites=[_card(read_board_page(request, session, hub, row)) for row in suites],
            changes=latest_changes(session),
            models=len({row.model for card in cards for row in card.page.tables[0].rows}),
        )

    return public_page(request, draw)


def latest_changes(session: Session, limit: int = _CHANGES) -> list[ChangeLine]:
    """The latest changes of all boards, the last one first."""
    query = (
        select(BoardChange)
        .options(joinedload(BoardChange.benchmark), joinedload(BoardChange.submission))
        .order_by(BoardChange.id.desc())
        .limit(limit)
    )
    return [_change_line(change) for change in session.scalars(query)]


def _change_line(change: BoardChange) -> ChangeLine:
    submission, benchmark = change.submission, change.benchmark
    is_public = submission is not None and submission.visibility == "published"
    suite = str(change.after.get("suite") or change.before.get("suite") or "")
    return ChangeLine(
        at=change.at.isoformat(timespec="minutes").replace("+00:00", "Z"),
        kind=_KINDS.get(change.kind, change.kind),
        model=str(change.after.get("model") or change.before.get("model") or ""),
        link=f"/submissions/{submission.public_id}" if submission and is_public else "",
        where=benchmark.title if benchmark else suite,
        path=f"/benchmarks/{benchmark.name}" if benchmark else f"/suites/{suite}",
        before=_headline(change.before),
        after=_headline(change.after),
    )


def _headline(state: dict[str, object]) -> str:
    value = state.get("value")
    return number_text(float(value)) if isinstance(value, int | float) else ""


def _card(page: BoardPage) -> BoardCard:
    table = page.tables[0]
    column = table.column(table.main)
    first = [row for row in table.rows if row.tier == 1]
    rows = first or table.rows[:3]
    best = best_rows(table, rows[:_BEST])
    return BoardCard(
        page=page,
        path=board_path(page),
        models=len(table.rows),
        metric=column.label if column else "",
        best=best,
        is_group=len(first) > 1,
        more=max(0, len(first) - len(best)),
    )
