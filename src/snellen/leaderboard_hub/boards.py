"""A board: the published submissions of a benchmark, each with what may be shown of its score."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from snellen.leaderboard_hub.config import HiddenSplits
from snellen.leaderboard_hub.database.tables import HostedBenchmark, Submission, SubmissionScore
from snellen.leaderboard_hub.public_scores import PublicScore, public_score

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a text that spreadsheets run as a formula."""


class BoardRow(Struct, frozen=True, omit_defaults=True):
    """One published submission."""

    submission: str
    """Its public id."""
    model: str
    account: str
    evidence: str
    """`verified` (scored here from predictions) or `reported`."""
    published: str
    """When, in UTC, ISO 8601."""
    score: PublicScore
    facts: dict[str, Any] = {}
    """What the submitter says about the model."""
    is_outdated: bool = False
    """Whether the score is that of an earlier version of the benchmark."""


class Board(Struct, frozen=True):
    """The rows of a benchmark, the highest headline first."""

    benchmark: str
    title: str
    version: int
    is_hidden: bool
    samples: int
    protocol: dict[str, Any]
    rows: tuple[BoardRow, ...]


def read_board(session: Session, benchmark: HostedBenchmark, limits: HiddenSplits) -> Board:
    """The board of a benchmark, in two queries however many submissions there are."""
    query = (
        select(Submission)
        .where(Submission.benchmark_id == benchmark.id, Submission.visibility == "published")
        .options(joinedload(Submission.account))
    )
    submissions = session.scalars(query).all()
    scores = latest_scores(session, [submission.id for submission in submissions])
    public_ids = {submission.id: submission.public_id for submission in submissions}
    rows = []
    for submission in submissions:
        score = scores.get(submission.id)
        if score is None:
            continue
        rows.append(
            BoardRow(
                submission=submission.public_id,
                model=submission.model,
                account=submission.account.name,
                evidence=submission.kind,
                published=_iso(submission),
                score=public_score(
                    score,
                    is_hidden=benchmark.is_hidden,
                    limits=limits,
                    same_as=public_ids.get(score.same_as_id or 0),
                ),
                facts=submission.facts,
                is_outdated=score.version != benchmark.version,
            )
        )
    rows.sort(key=_rank_key)
    return Board(
        benchmark=benchmark.name,
        title=benchmark.title,
        version=benchmark.version,
        is_hidden=benchmark.is_hidden,
        samples=benchmark.rows,
        protocol=benchmark.protocol,
        rows=tuple(rows),
    )


def latest_scores(session: Session, submissions: Sequence[int]) -> Mapping[int, SubmissionScore]:
    """The score of each submission on the latest version of its benchmark, by its id."""
    if not submissions:
        return {}
    query = (
        select(SubmissionScore)
        .where(SubmissionScore.submission_id.in_(submissions))
        .order_by(SubmissionScore.version)
    )
    return {score.submission_id: score for score in session.scalars(query)}


def board_csv(board: Board) -> str:
    """The board as CSV, one row a submission. Cells that a spreadsheet would run are quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    facts = sorted({name for row in board.rows for name in row.facts})
    writer.writerow(
        ["model", "score", "low", "high", "n", "evidence", "version", "account", "published",
         "submission", *facts]
    )  # fmt: skip
    for row in board.rows:
        headline = row.score.headline
        cells = [row.model, headline.value, headline.low, headline.high, headline.n, row.evidence,
                 row.score.version, row.account, row.published, row.submission,
                 *(row.facts.get(name, "") for name in facts)]  # fmt: skip
        writer.writerow([_safe_cell(cell) for cell in cells])
    return out.getvalue()


def board_json(board: Board) -> bytes:
    return msgspec.json.encode(board)


def _safe_cell(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def _rank_key(row: BoardRow) -> tuple[bool, float, str]:
    value = row.score.headline.value
    return (value is None, -(value or 0.0), row.model)


def _iso(submission: Submission) -> str:
    when = submission.published or submission.created
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")
