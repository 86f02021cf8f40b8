"""Runs that lie here, put on a board by its owner: their replies are taken and scored like those of
any submission. The numbers of a run folder are verified, since the owner ran the model; those of a
file of predictions are submitted ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen.api.hub_client import read_upload
from snellen.core.errors import UsageError
from snellen.store.runs import RUN_FILE, RUN_FILES
from snellen_hub.accounts.audit import note_action
from snellen_hub.database.tables import HostedBenchmark, Submission
from snellen_hub.hub import Hub
from snellen_hub.intake import NewSubmission, take_submission
from snellen_hub.publishing import publish_submission
from snellen_hub.reported_numbers.model_facts import facts_of_model
from snellen_hub.reported_numbers.numbers import clean_model_name


class ImportedRun(NamedTuple):
    """A run that was submitted, or was there already."""

    path: Path
    model: str
    submission: str
    is_new: bool

    @property
    def state(self) -> str:
        return "waits to be scored" if self.is_new else "is there already"


def find_runs(path: Path) -> tuple[Path, ...]:
    """The run folders at or below a folder, by name; empty if there are none."""
    if (path / RUN_FILE).is_file():
        return (path,)
    return tuple(sorted(file.parent for file in path.glob(RUN_FILES)))


def import_run(
    session: Session,
    hub: Hub,
    benchmark: HostedBenchmark,
    path: Path,
    account_id: int,
    model: str | None = None,
    allow_missing: bool = False,
) -> ImportedRun:
    """Submit a run folder or a file of predictions, unless the same replies of the model are there.
    With `allow_missing` questions without a reply count as wrong.

    Raises DataError with the mistake of the file, UsageError.
    """
    upload = read_upload(path, benchmark.name, model)
    name = clean_model_name(upload.model, str(path))
    digest = hashlib.sha256(upload.content).hexdigest()
    query = select(Submission).where(Submission.benchmark_id == benchmark.id, Submission.visibility != "withdrawn")
    same = session.scalar(query.where(Submission.digest == digest, Submission.model == name))
    if same is not None:
        return ImportedRun(path, name, same.public_id, is_new=False)
    new = NewSubmission(
        model=name,
        file_name=upload.file_name,
        content=upload.content,
        facts=facts_of_model(name),
        run=upload.run,
        kind="verified" if upload.run else "submitted",
        allow_missing=allow_missing,
    )
    try:
        made = take_submission(session, hub.storage, benchmark, account_id, new, hub.config.submissions, by_owner=True)
    except UsageError as error:
        raise type(error)(f"{path}: {error}") from error
    note_action(session, "import-run", account_id=account_id, subject=made.public_id, benchmark=benchmark.name)
    return ImportedRun(path, name, made.public_id, is_new=True)


def publish_runs(session: Session, public_ids: Sequence[str]) -> list[str]:
    """Publish those that are scored; returns a sentence for each that is not."""
    problems = []
    rows = session.scalars(select(Submission).where(Submission.public_id.in_(public_ids)))
    for row in rows:
        if row.visibility == "published":
            continue
        if row.status == "scored":
            publish_submission(session, row)
        else:
            why = row.problem or f"it is {row.status}"
            problems.append(f"{row.model} ({row.public_id}) is not published: {why}")
    return problems
