"""Reveals: a private part of a hidden benchmark is scored once, for one submission of each team, or
account without one, and counts as public from then on."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from snellen.core.errors import UsageError
from snellen_hub.accounts.audit import note_action
from snellen_hub.boards.changes import note_dates
from snellen_hub.boards.published import latest_scores
from snellen_hub.database.tables import FinalScore, HostedBenchmark, Submission
from snellen_hub.hosting import start_version
from snellen_hub.moment_text import iso_time, now
from snellen_hub.publishing import PublicationRefused
from snellen_hub.question_parts import read_draw
from snellen_hub.samples.versions import VersionChanges
from snellen_hub.teams import read_founders


class Revealed(NamedTuple):
    """A part that was revealed."""

    part: int
    finals: int
    """Submissions that are scored on it."""
    queued: int
    """Submissions that are scored again on the larger public part."""


def choose_final(session: Session, submission: Submission) -> None:
    """Choose a published submission as that of its account or team for the next reveal. Raises
    PublicationRefused."""
    name = submission.public_id
    # Until the transaction ends: a reveal, or another choice of the account, waits.
    benchmark = session.get_one(HostedBenchmark, submission.benchmark_id, with_for_update=True, populate_existing=True)
    part = _next_part(benchmark)
    if _due(benchmark):
        raise PublicationRefused(f"the time to choose for {benchmark.name} is over; it is being revealed")
    if submission.visibility != "published" or submission.file is None:
        raise PublicationRefused(f"submission {name} is not published with its replies, and the finals are; publish it")
    final = find_choice(session, submission)
    if final is None:
        session.add(_new_final(submission, part, _entry(session, submission)))
    else:
        final.submission_id, final.created = submission.id, now()


def find_choice(session: Session, submission: Submission) -> FinalScore | None:
    """What the account or team of a submission has chosen for the next reveal of its benchmark."""
    query = _finals(submission.benchmark_id, submission.benchmark.revealed + 1)
    return session.scalar(query.where(FinalScore.account_id == _entry(session, submission)))


def reveal_part(session: Session, row: HostedBenchmark, moment: datetime) -> Revealed:
    """Reveal the next private part: queue the scoring of one submission of each account or team,
    among those published that were made until the moment: the one that it chose, else the one of
    the highest public score, the earliest of equal ones. Raises UsageError if no part is left."""
    part = _next_part(row)
    query = select(Submission).where(
        Submission.benchmark_id == row.id,
        Submission.visibility == "published",
        Submission.file.is_not(None),
        Submission.created <= moment,
    )
    submissions = {each.id: each for each in session.scalars(query.order_by(Submission.id))}
    scores = latest_scores(session, list(submissions))
    founders = read_founders(session, row.id)
    best: dict[int, tuple[float, Submission]] = {}
    for number, submission in submissions.items():
        score = scores.get(number)
        value = -1.0 if score is None or score.headline is None else score.headline
        entry = founders.get(submission.account_id, submission.account_id)
        if value > best.get(entry, (-2.0, None))[0]:
            best[entry] = (value, submission)
    for final in session.scalars(_finals(row.id, part)).all():
        if final.submission_id in submissions:
            best.pop(final.account_id, None)
        else:
            session.delete(final)
    session.flush()
    session.add_all(_new_final(each, part, entry) for entry, (_, each) in best.items())
    row.revealed = part
    queued = start_version(session, row, "reveal", VersionChanges())
    session.flush()
    return Revealed(part, len(session.scalars(_finals(row.id, part)).all()), queued)


def reveal_due(session: Session) -> list[str]:
    """Reveal the parts whose time has come; returns a line for each benchmark."""
    lines = []
    query = select(HostedBenchmark).where(HostedBenchmark.is_hidden)
    due = [row.id for row in session.scalars(query) if _due(row)]
    locked = query.where(HostedBenchmark.id.in_(due)).with_for_update()
    # Read again: another worker may have revealed it meanwhile.
    for row in session.scalars(locked.execution_options(populate_existing=True)):
        while moment := _due(row):
            row.reveals = row.reveals[1:]
            try:
                done = reveal_part(session, row, moment)
                lines.append(f"{row.name}: part {done.part} is revealed, {done.finals:,} finals")
            except UsageError as error:
                lines.append(str(error))
            note_action(session, "reveal", subject=row.name, done=lines[-1])
    return lines


def set_dates(session: Session, row: HostedBenchmark, dates: list[datetime]) -> None:
    """Set when the next private parts are revealed. Raises UsageError for dates that are past or
    more than there are parts."""
    left = len(read_draw(row).sizes) - 1 - row.revealed
    if len(dates) > left:
        raise UsageError(
            f"{row.name} has {left} private part{'' if left == 1 else 's'} left, and "
            f"{len(dates)} dates are given; a part is revealed once. More parts need questions "
            "that were never revealed: snellen hub benchmark --replace"
        )
    if dates and min(dates) <= now():
        raise UsageError(f"{iso_time(min(dates))} is past; expected a later time")
    row.reveals = [iso_time(each) for each in sorted(dates)]
    note_dates(session, row, "reveals")


def read_pending_finals(session: Session, submission: Submission) -> list[FinalScore]:
    """The revealed parts that a submission was chosen for and not scored on yet."""
    query = select(FinalScore).where(
        FinalScore.submission_id == submission.id, FinalScore.part <= submission.benchmark.revealed
    )
    return [final for final in session.scalars(query) if not final.summary]


def _next_part(row: HostedBenchmark) -> int:
    sizes = read_draw(row).sizes if row.is_hidden else ()
    if not any(sizes[row.revealed + 1 :]):
        raise PublicationRefused(
            f"{row.name} has no private part left to reveal; it needs questions that were never "
            "revealed: snellen hub benchmark --replace"
        )
    return row.revealed + 1


def _due(row: HostedBenchmark) -> datetime | None:
    moment = datetime.fromisoformat(row.reveals[0]) if row.reveals else None
    return moment if moment is not None and moment <= now() else None


def _finals(benchmark_id: int, part: int) -> Select[FinalScore]:
    return select(FinalScore).where(FinalScore.benchmark_id == benchmark_id, FinalScore.part == part)


def _entry(session: Session, submission: Submission) -> int:
    """The account that a final is of: of a team, its founder's."""
    founders = read_founders(session, submission.benchmark_id)
    return founders.get(submission.account_id, submission.account_id)


def _new_final(submission: Submission, part: int, entry: int) -> FinalScore:
    return FinalScore(benchmark_id=submission.benchmark_id, account_id=entry, part=part, submission_id=submission.id)
