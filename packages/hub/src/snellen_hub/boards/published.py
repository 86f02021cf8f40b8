"""The published submissions of a benchmark, each with what may be shown of its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from msgspec import Struct
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from snellen_hub.boards.moments import BoardMoment, version_at, visible_submissions
from snellen_hub.database.tables import HostedBenchmark, Submission, SubmissionScore
from snellen_hub.moment_text import iso_time
from snellen_hub.public_scores import PublicScore, public_score


class BoardRow(Struct, frozen=True, omit_defaults=True):
    """One published submission."""

    submission: str
    """Its public id."""
    model: str
    account: str
    """Its account, or the team that it is of."""
    evidence: str
    """As the kind of a `Submission`."""
    published: str
    """When, in UTC, ISO 8601."""
    score: PublicScore
    facts: dict[str, Any] = {}
    """What the submitter says about the model."""
    is_outdated: bool = False
    """Whether the score is that of an earlier version of the benchmark."""
    source: dict[str, Any] = {}
    """Where a reported number is from: title, url, table, note."""
    other_protocol: str = ""
    """How the number was made, if otherwise than the benchmark's protocol says."""
    earlier: tuple[PublicScore, ...] = ()
    """Its scores on earlier versions of the benchmark, the latest first."""


class PublishedScore(NamedTuple):
    """A row, and the stored score that it was made of: never shown itself."""

    row: BoardRow
    stored: SubmissionScore


def read_published(
    session: Session, benchmark: HostedBenchmark, moment: BoardMoment | None = None
) -> list[PublishedScore]:
    """The submissions that are published, or were at a moment, the highest headline first."""
    query = select(Submission).where(Submission.benchmark_id == benchmark.id)
    if moment is None:
        query = query.where(Submission.visibility == "published")
    else:
        query = query.where(Submission.id.in_(visible_submissions(session, benchmark, moment)))
    submissions = session.scalars(query.options(joinedload(Submission.account))).all()
    at = None if moment is None else moment.at
    return sorted(public_rows(session, submissions, version_at(benchmark, moment), at), key=_rank_key)


def public_rows(
    session: Session, submissions: Sequence[Submission], version: int, at: datetime | None = None
) -> list[PublishedScore]:
    """What may be shown of submissions to a benchmark, on this version of it and earlier ones, as
    far as they were scored at a time. Submissions without a score are left out."""
    scores = scores_by_submission(session, [submission.id for submission in submissions])
    rows = []
    for submission in submissions:
        own = [
            score
            for score in scores.get(submission.id, ())
            if score.version <= version and (at is None or score.created <= at)
        ]
        if not own:
            continue
        public = [public_score(score) for score in own]
        rows.append(PublishedScore(_row(submission, public, version), own[-1]))
    return rows


def _row(submission: Submission, scores: Sequence[PublicScore], version: int) -> BoardRow:
    return BoardRow(
        submission=submission.public_id,
        model=submission.model,
        account=submission.team or submission.account.name,
        evidence=submission.kind,
        published=iso_time(submission.published or submission.created),
        score=scores[-1],
        facts=submission.facts | ({"team": submission.team} if submission.team else {}),
        is_outdated=submission.kind != "reported" and scores[-1].version != version,
        source=submission.source,
        other_protocol=submission.other_protocol,
        earlier=tuple(reversed(scores[:-1])),
    )


def scores_by_submission(session: Session, submissions: Sequence[int]) -> Mapping[int, list[SubmissionScore]]:
    """The scores of each submission by its id, those on the latest version last."""
    scores: dict[int, list[SubmissionScore]] = {}
    if submissions:
        query = (
            select(SubmissionScore)
            .where(SubmissionScore.submission_id.in_(submissions))
            .order_by(SubmissionScore.version)
        )
        for score in session.scalars(query):
            scores.setdefault(score.submission_id, []).append(score)
    return scores


def latest_scores(session: Session, submissions: Sequence[int]) -> Mapping[int, SubmissionScore]:
    """The score of each submission on the latest version of its benchmark, by its id."""
    scores = scores_by_submission(session, submissions)
    return {submission: own[-1] for submission, own in scores.items()}


def _rank_key(one: PublishedScore) -> tuple[bool, float, str]:
    value = one.row.score.headline.value
    return (value is None, -(value or 0.0), one.row.model)
