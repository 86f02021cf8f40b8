"""Scoring a submission: the same code as `snellen score`, on data that only the worker reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen import __version__
from snellen.core.errors import SnellenError, StorageError, UsageError
from snellen.core.summary import Summary
from snellen_hub.benchmark_data import Protocol, scoring_file
from snellen_hub.boards.changes import note_change
from snellen_hub.clear_copies import clear_copy_folder
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import FinalScore, HostedBenchmark, HostedItem, Submission, SubmissionScore
from snellen_hub.errors import HubUnavailable
from snellen_hub.hub import Hub
from snellen_hub.jobs.queue import LeasedJob, fail_job, finish_job
from snellen_hub.jobs.scoring_process import REPLIES_FILE, ScoringResult, ScoringTask, score_in_process
from snellen_hub.moment_text import now
from snellen_hub.public_scores import score_columns
from snellen_hub.question_parts import read_draw
from snellen_hub.reveals import read_pending_finals
from snellen_hub.uploaded_replies import decode_questions

_PREDICTIONS = "predictions.jsonl"


class _Work(NamedTuple):
    """What a job is about, read in one transaction."""

    submission: Submission
    benchmark: HostedBenchmark
    finals: Sequence[FinalScore] = ()
    """Revealed parts that are to be scored with this submission."""


def score_submission(hub: Hub, job: LeasedJob, is_abandoned: Callable[[], bool] = lambda: False) -> None:
    """Do a job: score its submission and write the numbers, or why there are none.

    Raises LeaseLost if another worker has taken the job meanwhile, HubUnavailable if database or
    storage do not answer, ScoringAbandoned once `is_abandoned` says so, and ScoringDied if scoring
    ended without a result.
    """
    work = _read_work(hub.database, job)
    if work is None:
        finish_job(hub.database, job, lambda session: None)
        return
    try:
        result, replies = _score(hub, work, is_abandoned)
        content = msgspec.json.encode(result.samples)
        # Where scores of samples are stored, and of a public split the replies.
        files = {
            "records": hub.storage.put(content, seal=work.benchmark.is_hidden),
            "replies": None if replies is None else hub.storage.put(replies),
        }
    except HubUnavailable:
        raise
    except StorageError as error:
        fail_submission(hub, job, str(error), may_retry=True)
        return
    except SnellenError as error:
        fail_submission(hub, job, str(error), may_retry=False)
        return
    finish_job(hub.database, job, lambda session: _write_score(session, job, result, files, work))


def _read_work(database: Database, job: LeasedJob) -> _Work | None:
    """None if the submission was withdrawn, or its benchmark has changed since."""
    with database.reading() as session:
        submission = session.get(Submission, job.submission_id)
        if submission is None or submission.visibility == "withdrawn":
            return None
        benchmark = submission.benchmark
        if benchmark.version != job.version:
            return None
        return _Work(submission, benchmark, read_pending_finals(session, submission))


def _score(hub: Hub, work: _Work, is_abandoned: Callable[[], bool]) -> tuple[ScoringResult, bytes | None]:
    """The score of a submission, and of a public split the file of its replies. The data are on the
    disk, readable by this user alone, only while this runs."""
    benchmark, submission = work.benchmark, work.submission
    if submission.file is None:
        raise UsageError("this submission has no predictions")
    names = _item_names(hub.database, benchmark)
    shown, parts = _question_ids(hub, work)
    try:
        with clear_copy_folder() as folder:
            data = scoring_file(hub.storage, benchmark, folder)
            (folder / _PREDICTIONS).write_bytes(hub.storage.get(submission.file))
            task = ScoringTask(
                spec=benchmark.spec,
                protocol=msgspec.convert(benchmark.protocol, Protocol),
                data=data.relative_to(folder).as_posix(),
                predictions=_PREDICTIONS,
                model=submission.model,
                names=names,
                ids=shown,
                parts=parts,
            )
            result = score_in_process(folder, task, hub.config.scoring, is_abandoned)
            return result, (folder / REPLIES_FILE).read_bytes() if names else None
    except OSError as error:
        raise HubUnavailable(f"this worker's temporary folder cannot be used: {error}") from error


def _question_ids(hub: Hub, work: _Work) -> tuple[tuple[str, ...] | None, tuple[tuple[str, ...], ...]]:
    """The questions that a score is of, None for all, and those of each final. Raises UsageError
    for a hidden split whose questions were not divided."""
    if not work.benchmark.is_hidden:
        return None, ()
    read_draw(work.benchmark)
    questions = decode_questions(hub.storage.get(work.benchmark.ids))
    shown = tuple(each.name for each in questions if each.part <= work.benchmark.revealed)
    parts = [[each.name for each in questions if each.part == final.part] for final in work.finals]
    return shown, tuple(map(tuple, parts))


def _item_names(database: Database, benchmark: HostedBenchmark) -> tuple[str, ...]:
    """The items of a public split, whose replies are stored for pages, in their order."""
    if benchmark.is_hidden:
        return ()
    with database.reading() as session:
        query = select(HostedItem.name).where(HostedItem.benchmark_id == benchmark.id)
        return tuple(session.scalars(query.order_by(HostedItem.position)))


def _write_score(
    session: Session, job: LeasedJob, result: ScoringResult, files: Mapping[str, str | None], work: _Work
) -> None:
    """Write the score of a submission, and of the private parts that it was chosen for."""
    submission = session.get_one(Submission, job.submission_id)
    columns = score_columns(msgspec.convert(result.summary, Summary))
    session.add(
        SubmissionScore(submission_id=submission.id, version=job.version, scored_by=__version__, **files, **columns)
    )
    for final, summary in zip(work.finals, result.parts, strict=True):
        row = session.get_one(FinalScore, final.id)
        row.summary, row.scored_by, row.created = summary, __version__, now()
    submission.status, submission.problem = "scored", ""
    if submission.visibility == "published":
        note_change(session, submission, "scored")


def fail_submission(hub: Hub, job: LeasedJob, problem: str, *, may_retry: bool) -> None:
    """End an attempt at a job: it waits again, or fails for good with its submission. Raises
    LeaseLost."""

    def write(session: Session) -> None:
        submission = session.get_one(Submission, job.submission_id)
        # That of a hidden split may name answers, and stays in the job for the owner.
        hides = submission.benchmark.is_hidden
        submission.problem = (
            "the submission could not be scored; the owner of the hub can see why" if hides else problem
        )
        submission.status = "failed"

    fail_job(hub.database, job, problem, write, may_retry=may_retry)
