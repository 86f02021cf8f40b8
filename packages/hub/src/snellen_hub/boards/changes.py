"""Notes of what changes a board: for feeds, histories, permanent links and caches of pages.

A note holds what the board showed before and after, as readers saw it.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec
from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session, joinedload

from snellen_hub.boards.published import scores_by_submission
from snellen_hub.database.tables import BoardChange, HostedBenchmark, HostedSuite, Submission
from snellen_hub.public_scores import public_score

ChangeOfSubmission = Literal["published", "withdrawn", "scored", "imported"]


class ChangeCount(NamedTuple):
    """Differs whenever any board of the hub does, and so names a state of all of them."""

    changes: int
    latest: int
    """Number of the latest change; 0 before the first."""


def change_count(session: Session) -> ChangeCount:
    """How many changes were noted."""
    row = session.execute(select(func.count(BoardChange.id), func.max(BoardChange.id))).one()
    return ChangeCount(row[0], row[1] or 0)


def changes_of(board: HostedBenchmark | HostedSuite | None, limit: int) -> Select[BoardChange]:
    """A query of the latest changes of all boards, of a benchmark's or of those of a suite's
    members, the last one first, with what they are of."""
    query = select(BoardChange).options(joinedload(BoardChange.submission), joinedload(BoardChange.benchmark))
    if isinstance(board, HostedBenchmark):
        query = query.where(BoardChange.benchmark_id == board.id)
    elif board is not None:
        names = [member["benchmark"] for member in board.members]
        query = query.join(BoardChange.benchmark).where(HostedBenchmark.name.in_(names))
    return query.order_by(BoardChange.id.desc()).limit(limit)


def note_change(session: Session, submission: Submission, kind: ChangeOfSubmission) -> None:
    """Note a change of a submission that was, is or will be on the board, in the transaction of
    the change itself and after it."""
    earlier = session.scalar(
        select(BoardChange).where(BoardChange.submission_id == submission.id).order_by(BoardChange.id.desc()).limit(1)
    )
    headlines = _public_headlines(session, submission)
    before: dict[str, Any] = {}
    if earlier is not None:
        before = earlier.after
    elif kind == "withdrawn":
        before = headlines[-1] if headlines else {}
    elif kind == "scored":
        before = headlines[-2] if len(headlines) > 1 else {}
    after = headlines[-1] if headlines and kind != "withdrawn" else {}
    session.add(
        BoardChange(
            benchmark_id=submission.benchmark_id, submission_id=submission.id, kind=kind, before=before, after=after
        )
    )


def note_dates(session: Session, benchmark: HostedBenchmark, kind: Literal["reveals", "phases"]) -> None:
    """Note that a benchmark has other times of reveals, or other phases."""
    session.add(BoardChange(benchmark_id=benchmark.id, kind=kind, before={}, after={kind: getattr(benchmark, kind)}))


def note_data_change(session: Session, benchmark: HostedBenchmark, version: int) -> None:
    """Note that data or protocol of a benchmark were replaced; `version` is the one before."""
    session.add(
        BoardChange(
            benchmark_id=benchmark.id,
            kind="data-replaced",
            before={"version": version},
            after={"version": benchmark.version},
        )
    )


def note_suite_change(session: Session, name: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Note that a suite was made, changed or deleted."""
    session.add(BoardChange(kind="suite", before={"suite": name, **before}, after={"suite": name, **after}))


def _public_headlines(session: Session, submission: Submission) -> list[dict[str, Any]]:
    """The headline as readers see it, of each version of the benchmark."""
    scores = scores_by_submission(session, [submission.id]).get(submission.id, ())
    return [
        {
            "model": submission.model,
            "metric": score.name,
            "version": score.version,
            **msgspec.to_builtins(score.headline),
        }
        for score in map(public_score, scores)
    ]
