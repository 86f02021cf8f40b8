"""Final scores: each account's one submission on a private part that was revealed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct, structs
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from snellen.core.summary import Summary
from snellen_hub.boards.moments import BoardMoment
from snellen_hub.boards.plain import plain_table
from snellen_hub.boards.published import PublishedScore
from snellen_hub.boards.tables import BoardTable
from snellen_hub.boards.tiers import table_with_tiers
from snellen_hub.database.tables import FinalScore, HostedBenchmark, Submission
from snellen_hub.public_scores import PublicScore, public_number


class Final(Struct, frozen=True):
    """The final of a submission: its headline on a part, exactly and nothing else."""

    part: int
    submission: str
    """Public id."""
    score: PublicScore


def read_finals(
    session: Session,
    benchmark: HostedBenchmark,
    submission: Submission | None = None,
    moment: BoardMoment | None = None,
) -> list[Final]:
    """The finals of a benchmark, or of one submission, that were scored, by part."""
    if not benchmark.revealed:
        return []
    query = select(FinalScore).where(FinalScore.benchmark_id == benchmark.id)
    query = query.options(joinedload(FinalScore.submission))
    if submission is not None:
        query = query.where(FinalScore.submission_id == submission.id)
    if moment is not None:
        query = query.where(FinalScore.created <= moment.at)
    finals = []
    for final in session.scalars(query.order_by(FinalScore.part, FinalScore.id)):
        if not final.summary:
            continue
        headline = msgspec.convert(final.summary, Summary).headline
        score = PublicScore(headline.name, public_number(headline), benchmark.version, final.scored_by)
        finals.append(Final(final.part, final.submission.public_id, score))
    return finals


def final_tables(
    session: Session, benchmark: HostedBenchmark, published: Sequence[PublishedScore], moment: BoardMoment | None
) -> list[BoardTable]:
    """A table for each part that was revealed, of the submissions that are published."""
    shown = {one.row.submission: one for one in published}
    parts: dict[int, list[PublishedScore]] = {}
    for final in read_finals(session, benchmark, moment=moment):
        one = shown.get(final.submission)
        if one is not None:
            row = structs.replace(one.row, version=final.score.version, is_outdated=False)
            parts.setdefault(final.part, []).append(one._replace(row=row, score=final.score, earlier=()))
    tables = []
    for part, finals in parts.items():
        title = "Final scores" if len(parts) == 1 else f"Final scores {part}"
        table = table_with_tiers(plain_table("Final scores", finals))
        tables.append(structs.replace(table, name=f"final-{part}", title=title, section=""))
    return tables
