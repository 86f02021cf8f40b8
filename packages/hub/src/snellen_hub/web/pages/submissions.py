"""The page of a submission."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen_hub.boards.finals import read_finals
from snellen_hub.boards.published import scores_by_submission
from snellen_hub.database.tables import Submission
from snellen_hub.moment_text import iso_time
from snellen_hub.public_scores import PublicScore, public_score
from snellen_hub.reported_numbers.other_numbers import BothNumbers, both_numbers, read_other_numbers
from snellen_hub.samples.versions import score_history
from snellen_hub.teams import is_own
from snellen_hub.web.browser import browser_of
from snellen_hub.web.own_submissions import find_visible
from snellen_hub.web.pages.frame import render
from snellen_hub.web.pages.page_cache import public_page
from snellen_hub.web.pages.protocol_view import scoring_facts
from snellen_hub.web.pages.score_view import headline_bar, number_groups, outcome_parts, run_facts, safe_link
from snellen_hub.web.parameters import HubOf, PublicId

router = APIRouter(include_in_schema=False)

_FACTS = ("organisation", "parameters", "weights", "released", "route", "capability", "notes")


@router.get("/submissions/{public_id}")
def submission_page(request: Request, public_id: PublicId, hub: HubOf) -> Response:
    """A submission that is published; others are shown to their own account alone."""
    browser = browser_of(request)
    account = None if browser is None else browser.account_id
    with hub.database.reading() as session:
        row = find_visible(session, public_id, account)
        if row.visibility != "published":
            response = _draw(request, session, row, account)
            response.headers["Cache-Control"] = "no-store"
            return response

    def draw(session: Session) -> Response:
        return _draw(request, session, find_visible(session, public_id, account), account)

    return public_page(request, draw)


def _draw(request: Request, session: Session, row: Submission, account: int | None) -> Response:
    stored = scores_by_submission(session, [row.id]).get(row.id, [])
    scores = [public_score(each) for each in stored]
    return render(
        request,
        "submission.html",
        **_context(session, row, scores),
        finals=read_finals(session, row.benchmark, row),
        scores=score_history(session, row),
        other_numbers=_other_numbers(session, row, scores),
        is_own=is_own(session, row, account),
    )


def _other_numbers(session: Session, row: Submission, scores: list[PublicScore]) -> list[BothNumbers]:
    if not scores:
        return []
    own = scores[-1]
    return [
        both_numbers(own.headline, row, other)
        for other in read_other_numbers(session, row)
        # The headline of data that were opened otherwise is another number.
        if other.metric == own.name
    ]


def _context(session: Session, row: Submission, scores: list[PublicScore]) -> dict[str, Any]:
    latest = scores[-1] if scores else None
    published = select(Submission.public_id).where(Submission.visibility == "published")
    return {
        "submission": row,
        "benchmark": row.benchmark,
        "account": row.team or row.account.name,
        "published": iso_time(row.published) if row.published else "",
        "created": iso_time(row.created),
        "score": latest,
        "bar": headline_bar(latest) if latest else None,
        "is_outdated": bool(latest) and row.kind != "reported" and scores[-1].version != row.benchmark.version,
        "groups": number_groups(latest) if latest else [],
        "outcomes": outcome_parts(latest) if latest else [],
        "facts": [(name, row.facts[name]) for name in _FACTS if row.facts.get(name)],
        "link": safe_link(row.facts.get("link")),
        "source_link": safe_link(row.source.get("url")),
        "run": run_facts(row.run),
        "scoring": scoring_facts(row.benchmark),
        "replaces": session.scalar(published.where(Submission.id == row.replaces_id)) or "",
        "replaced_by": session.scalar(published.where(Submission.replaces_id == row.id)) or "",
    }
