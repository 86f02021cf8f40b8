"""The pages of one's own submissions: their state and scores, publishing and withdrawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from snellen_hub.boards.published import scores_by_submission
from snellen_hub.database.tables import Submission
from snellen_hub.public_scores import PublicScore, public_score
from snellen_hub.question_parts import describe_parts
from snellen_hub.reveals import find_choice
from snellen_hub.teams import is_shared_with
from snellen_hub.web.own_submissions import DONE, Change, change_own, find_own, own_submissions
from snellen_hub.web.pages.forms import render_form
from snellen_hub.web.pages.frame import redirect
from snellen_hub.web.parameters import Done, HubOf, PublicId, SubmitterBrowser, SubmitterForm

router = APIRouter(include_in_schema=False)

_PER_PAGE = 50
_DONE = {
    "published": "It is published: everybody sees it on the board.",
    "withdrawn": "It is withdrawn, and nobody else sees it any more.",
    "chosen": "It is chosen for the next reveal of private questions.",
    "submitted": "The file is taken, and will be scored in its turn.",
}


@router.get("/account/submissions")
def submissions_page(
    request: Request, hub: HubOf, browser: SubmitterBrowser, page: Annotated[int, Query(ge=1, le=10_000)] = 1
) -> Response:
    """The submissions of the account and its teams, the latest first."""
    own = is_shared_with(browser.account_id)
    with hub.database.reading() as session:
        count = session.scalar(select(func.count(Submission.id)).where(own)) or 0
        query = own_submissions(browser.caller).offset((page - 1) * _PER_PAGE).limit(_PER_PAGE)
        rows = _with_scores(session, session.scalars(query).all())
    return render_form(
        request, "own_submissions.html", title="Submissions", rows=rows, page=page, pages=-(-count // _PER_PAGE)
    )


@router.get("/account/submissions/{public_id}")
def own_submission_page(
    request: Request, hub: HubOf, browser: SubmitterBrowser, public_id: PublicId, done: Done = ""
) -> Response:
    """One submission of the account: its state, scores of every version, and what it replaced."""
    with hub.database.reading() as session:
        row = find_own(session, public_id, browser.caller)
        ((_, scores),) = _with_scores(session, [row])
        history = _replaced_submissions(session, row)
        later = session.scalar(select(Submission).where(Submission.replaces_id == row.id).order_by(Submission.id))
        benchmark = row.benchmark
        chosen = find_choice(session, row)
    is_chosen = chosen is not None and chosen.submission_id == row.id
    can_choose = row.visibility == "published" and describe_parts(benchmark).get("private")
    return render_form(
        request,
        "own_submission.html",
        title=row.model,
        scores=scores,
        row=row,
        benchmark=benchmark,
        history=history,
        later=later,
        is_chosen=is_chosen,
        may_choose=can_choose and not is_chosen,
        done=_DONE.get(done),
    )


@router.get("/account/submissions/{public_id}/status")
def own_submission_status(hub: HubOf, browser: SubmitterBrowser, public_id: PublicId) -> dict[str, str]:
    """Whether it still waits, for the script of its page."""
    with hub.database.reading() as session:
        return {"status": find_own(session, public_id, browser.caller).status}


@router.post("/account/submissions/{public_id}/{change}")
def change_submission(
    request: Request, hub: HubOf, browser: SubmitterForm, public_id: PublicId, change: Change
) -> Response:
    """Publish a scored submission, choose it for the next reveal, or withdraw it."""
    with hub.database.writing() as session:
        change_own(session, request, browser.caller, public_id, change)
    return redirect(f"/account/submissions/{public_id}?done={DONE[change]}")


def _with_scores(session: Session, rows: Sequence[Submission]) -> list[tuple[Submission, list[PublicScore]]]:
    """Submissions with what may be shown of their scores: one of each version, the latest first."""
    stored = scores_by_submission(session, [row.id for row in rows])
    return [(row, [public_score(score) for score in reversed(stored.get(row.id, []))]) for row in rows]


def _replaced_submissions(session: Session, row: Submission) -> list[Submission]:
    """What a submission replaced, what that replaced, and so on."""
    found: list[Submission] = []
    while row.replaces_id is not None and len(found) < _PER_PAGE:
        row = session.get_one(Submission, row.replaces_id)
        found.append(row)
    return found
