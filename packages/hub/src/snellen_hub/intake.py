"""Taking a submission: it is checked completely before anything is stored.

Whatever its format, a file is kept as JSON Lines of ids and replies. So nothing else that it may
hold, such as answers of its own, has any effect on the score.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import PurePosixPath
from secrets import token_hex
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from snellen.benchmarks.declaration.place_rules import PlaceRules
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import COORDINATES, Variant
from snellen.core.errors import DataError
from snellen_hub.config import HiddenSplits, SubmissionLimits
from snellen_hub.database.tables import Account, HostedBenchmark, Submission, Team
from snellen_hub.errors import NotAllowed, TooMany
from snellen_hub.jobs.queue import add_job
from snellen_hub.moment_text import now
from snellen_hub.phases import find_open_phase
from snellen_hub.publishing import withdraw_submission
from snellen_hub.storage import Storage
from snellen_hub.teams import is_shared_with, team_of
from snellen_hub.uploaded_replies import check_replies, decode_questions, read_replies

_DAY = timedelta(hours=24)
_HIDDEN = HiddenSplits()
ShortText = Annotated[str, Meta(min_length=1, max_length=200)]
Link = Annotated[str, Meta(max_length=500, pattern=r"^(https?://\S+)?$")]


class ModelFacts(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a submitter says about a model."""

    parameters: Annotated[float, Meta(gt=0, le=1e6)] | None = None
    """Billions."""
    weights: Literal["open", "closed", ""] = ""
    released: Annotated[str, Meta(pattern=r"^(\d{4}(-\d\d){0,2})?$")] = ""
    """A date: 2024, 2024-05 or 2024-05-13."""
    organisation: Annotated[str, Meta(max_length=200)] = ""
    link: Link = ""
    route: Annotated[str, Meta(max_length=200)] = ""
    """How it was asked: local weights, an API, ..."""
    capability: Literal["", "L1", "L2", "L3", "L4"] = ""
    """The level of SEED-Bench-H that it is declared to have."""
    notes: Annotated[str, Meta(max_length=2_000)] = ""


class NewSubmission(Struct, frozen=True, kw_only=True):
    """A file of predictions as it arrived."""

    model: ShortText
    file_name: str
    content: bytes
    facts: ModelFacts = ModelFacts()
    run: dict[str, Any] = {}
    """`run.json` of a run folder, if one was submitted."""
    kind: Literal["submitted", "verified"] = "submitted"
    """As in `Submission`."""
    allow_missing: bool = False
    """Whether questions may have no reply; they count as wrong."""


class NotConfirmed(NotAllowed):
    """The account signed up by itself, and the answers are hidden."""


class TooManySubmissions(TooMany):
    """The account or its team has used up its submissions to a benchmark for now."""


class StoredReplies(NamedTuple):
    """The replies of a submission, checked and stored."""

    columns: dict[str, Any]
    """Values of the columns of `submissions` that describe their file."""
    ids: str
    """The key of the benchmark's ids against which they were checked."""


def store_replies(
    storage: Storage, benchmark: HostedBenchmark, new: NewSubmission, limits: SubmissionLimits
) -> StoredReplies:
    """Check the replies of a submission and store them, without the database: a storage that does
    not answer then holds up nobody else. Raises DataError with the mistake of the file."""
    _check_has_data(benchmark)
    _check_space(benchmark.spec, new.run)
    replies = read_replies(new.file_name, new.content, limits)
    questions = decode_questions(storage.get(benchmark.ids))
    check_replies(replies, questions, is_hidden=benchmark.is_hidden, allow_missing=new.allow_missing)
    lines = b"".join(msgspec.json.encode(reply) + b"\n" for reply in replies)
    columns: dict[str, Any] = {
        "file": storage.put(lines, seal=benchmark.is_hidden),
        "file_name": PurePosixPath(new.file_name.replace("\\", "/")).name[:200],
        "digest": hashlib.sha256(new.content).hexdigest(),
        "size": len(new.content),
    }
    return StoredReplies(columns, benchmark.ids)


def _check_space(spec: str, run: Mapping[str, Any]) -> None:
    """Raises DataError for a run whose places are in another coordinate space than the board reads."""
    written = run.get("config", {}).get("parameters", {}).get(COORDINATES)
    if not written:
        return
    own = PlaceRules().coordinates
    read = open_benchmark(spec, Variant()).parameters.get(COORDINATES, own) if spec else own
    if written != read:
        raise DataError(
            f"the run was asked for coordinates={written}, and this board reads coordinates={read}; "
            "run once more with that option"
        )


def take_submission(
    session: Session,
    storage: Storage,
    benchmark: HostedBenchmark,
    account_id: int,
    new: NewSubmission,
    limits: SubmissionLimits,
    *,
    stored: StoredReplies | None = None,
    replaces: Submission | None = None,
    hidden: HiddenSplits = _HIDDEN,
    by_owner: bool = False,
) -> Submission:
    """Check a submission, store it and queue its scoring. The one that it `replaces` is withdrawn.
    One `by_owner` of the hub has no limits of time and number.
    Replies that are `stored` are not checked again unless the benchmark has other data by now.

    Raises as `check_may_submit`, and DataError with the mistake of the file.
    """
    team = _lock_entry(session, benchmark, account_id)
    _check_has_data(benchmark)
    if not by_owner:
        check_may_submit(session, benchmark, account_id, limits, hidden)
    if stored is None or stored.ids != benchmark.ids:
        stored = store_replies(storage, benchmark, new, limits)
    submission = Submission(
        public_id=token_hex(8),
        account_id=account_id,
        benchmark_id=benchmark.id,
        model=new.model,
        team="" if team is None else team.name,
        facts=msgspec.to_builtins(new.facts),
        kind=new.kind,
        run=new.run,
        replaces_id=None if replaces is None else replaces.id,
        **stored.columns,
    )
    session.add(submission)
    session.flush()
    if replaces is not None and replaces.visibility != "withdrawn":
        withdraw_submission(session, replaces)
    add_job(session, submission.id, benchmark.version)
    return submission


def _lock_entry(session: Session, benchmark: HostedBenchmark, account_id: int) -> Team | None:
    """The team of an account. Until the transaction ends, uploads at the same time count each
    other, those of a team too."""
    session.get_one(Account, account_id, with_for_update=True)
    team = team_of(session, benchmark.id, account_id)
    if team is not None:
        session.get_one(Account, team.founder_id, with_for_update=True)
    return team


def _check_has_data(benchmark: HostedBenchmark) -> None:
    if not benchmark.has_data:
        raise DataError(
            f"{benchmark.name} has no data on this hub, only reported numbers: nothing can be "
            "submitted until its owner adds the data"
        )


def check_may_submit(
    session: Session, benchmark: HostedBenchmark, account_id: int, limits: SubmissionLimits, hidden: HiddenSplits
) -> None:
    """Raises NotConfirmed, NoOpenPhase and TooManySubmissions. Submissions at the same time count
    each other only if the rows of the account and of its team's founder are locked."""
    account = session.get_one(Account, account_id)
    if benchmark.is_hidden and hidden.confirmed_only and account.confirmed is None:
        raise NotConfirmed(
            f"the answers of {benchmark.name} are hidden, and {account.name} signed up without an "
            "invitation; verify your e-mail address on the page of your account, or ask an owner "
            "of this hub to confirm the account"
        )
    phase = find_open_phase(benchmark)
    query = select(func.count()).where(
        is_shared_with(account_id), Submission.benchmark_id == benchmark.id, Submission.kind != "reported"
    )
    day = query.where(Submission.created > now() - _DAY)
    if (session.scalar(day) or 0) >= limits.per_day:
        raise TooManySubmissions(
            f"{limits.per_day} submissions to {benchmark.name} in 24 hours are all that an account "
            "or its team may make; try again later"
        )
    if phase is None or phase.submissions is None:
        return
    if (session.scalar(query.where(Submission.created >= phase.opens)) or 0) >= phase.submissions:
        raise TooManySubmissions(
            f"{phase.submissions} submissions in the phase {phase.name} are all that an account or its team may make"
        )
