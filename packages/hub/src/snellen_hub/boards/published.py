"""The published submissions of a benchmark, each with what may be shown of its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from snellen_hub.boards.moments import BoardMoment, version_at, visible_submissions
from snellen_hub.boards.tables import TableRow, best_first
from snellen_hub.database.tables import HostedBenchmark, Submission, SubmissionScore
from snellen_hub.moment_text import iso_time
from snellen_hub.public_scores import PublicScore, public_score


class PublishedScore(NamedTuple):
    """A published submission with what readers see of its scores."""

    row: TableRow
    """Without cells."""
    score: PublicScore
    earlier: Sequence[PublicScore]
    """Its scores on earlier versions of the benchmark, the latest first."""
    stored: SubmissionScore
    """What `score` was made of: never shown itself."""


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
    rows = public_rows(session, submissions, version_at(benchmark, moment), at)
    return sorted(rows, key=lambda one: best_first(one.score.headline.value, one.row.model))


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
        latest, *earlier = [public_score(score) for score in reversed(own)]
        row = TableRow(
            model=submission.model,
            cells={},
            submission=submission.public_id,
            account=submission.team or submission.account.name,
            evidence=submission.kind,
            published=iso_time(submission.published or submission.created),
            facts=submission.facts | ({"team": submission.team} if submission.team else {}),
            source=submission.source,
            other_protocol=submission.other_protocol,
            version=latest.version,
            is_outdated=submission.kind != "reported" and latest.version != version,
        )
        rows.append(PublishedScore(row, latest, earlier, own[-1]))
    return rows


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
