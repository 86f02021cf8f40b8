"""What the API and the pages do alike with submissions of an account or its team."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from fastapi import HTTPException, Request
from sqlalchemy import Select, select
from sqlalchemy.orm import Session, joinedload

from snellen_hub.accounts.roles import Caller
from snellen_hub.database.tables import HostedBenchmark, Submission
from snellen_hub.hosting import find_hosted_benchmark
from snellen_hub.hub import Hub
from snellen_hub.intake import NewSubmission, check_may_submit, store_replies, take_submission
from snellen_hub.publishing import publish_submission, withdraw_submission
from snellen_hub.reveals import choose_final
from snellen_hub.teams import is_own, is_shared_with
from snellen_hub.web.access import note_request

Change = Literal["publish", "choose", "withdraw"]
DONE: Mapping[Change, str] = {"publish": "published", "choose": "chosen", "withdraw": "withdrawn"}
"""What is noted of each change."""
_CHANGES: Mapping[Change, Callable[[Session, Submission], None]] = {
    "publish": publish_submission,
    "choose": choose_final,
    "withdraw": withdraw_submission,
}


def own_submissions(caller: Caller) -> Select[Submission]:
    """A query of the submissions of an account and its teams, with their benchmarks, the latest
    first."""
    query = select(Submission).where(is_shared_with(caller.account_id))
    return query.options(joinedload(Submission.benchmark, innerjoin=True)).order_by(Submission.id.desc())


def find_own(session: Session, public_id: str, caller: Caller, *, lock: bool = False) -> Submission:
    """A submission of the account or its team, kept from other transactions with `lock`. Raises
    404: others look like none."""
    query = own_submissions(caller).where(Submission.public_id == public_id)
    row = session.scalar(query.with_for_update(of=Submission) if lock else query)
    if row is None:
        raise HTTPException(404, f"there is no submission {public_id} of yours")
    return row


def find_visible(session: Session, public_id: str, account_id: int | None) -> Submission:
    """A submission that is published, or of the account or its team. Raises 404: to strangers a
    private submission looks like one that does not exist."""
    row = session.scalar(select(Submission).where(Submission.public_id == public_id))
    if row is None or not (row.visibility == "published" or is_own(session, row, account_id)):
        raise HTTPException(404, f"there is no submission {public_id}")
    return row


def change_own(session: Session, request: Request, caller: Caller, public_id: str, change: Change) -> Submission:
    """Publish, choose or withdraw a submission. Raises 404 and PublicationRefused."""
    row = find_own(session, public_id, caller, lock=True)
    _CHANGES[change](session, row)
    note_request(session, request, DONE[change], caller.account_id, public_id)
    return row


def find_replaced(
    session: Session, benchmark: HostedBenchmark, caller: Caller, public_id: str, *, lock: bool = False
) -> Submission | None:
    """The submission that another one is to replace; None for an empty id. Raises 404."""
    if not public_id:
        return None
    row = find_own(session, public_id, caller, lock=lock)
    if row.benchmark_id != benchmark.id:
        raise HTTPException(404, f"{public_id} is a submission to another benchmark")
    return row


def submit_replies(
    request: Request, hub: Hub, caller: Caller, name: str, new: NewSubmission, replaces: str
) -> Submission:
    """Check replies to a benchmark, store them and queue their scoring. Raises 404, and as
    `take_submission`."""
    limits, hidden = hub.config.submissions, hub.config.hidden
    with hub.database.reading() as session:
        benchmark = find_hosted_benchmark(session, name)
        check_may_submit(session, benchmark, caller.account_id, limits, hidden)
        find_replaced(session, benchmark, caller, replaces)
    stored = store_replies(hub.storage, benchmark, new, limits)
    with hub.database.writing() as session:
        benchmark = find_hosted_benchmark(session, name)
        earlier = find_replaced(session, benchmark, caller, replaces, lock=True)
        row = take_submission(
            session,
            hub.storage,
            benchmark,
            caller.account_id,
            new,
            limits,
            stored=stored,
            replaces=earlier,
            hidden=hidden,
        )
        note_request(session, request, "submit", caller.account_id, row.public_id, benchmark=name, size=row.size)
        return row
