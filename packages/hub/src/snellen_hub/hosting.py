"""Benchmarks that a hub holds: adding one, changing its data, and scoring everything again."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec import structs
from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from snellen import __version__
from snellen.core.errors import UsageError
from snellen.core.sample import Sample
from snellen.data_sets.decisions import read_decisions
from snellen_hub.accounts.audit import note_action
from snellen_hub.benchmark_data import NewBenchmark as NewBenchmark
from snellen_hub.benchmark_data import Protocol as Protocol
from snellen_hub.benchmark_data import StoredData, open_hosted, scoring_file, store_data
from snellen_hub.boards.changes import note_data_change
from snellen_hub.clear_copies import clear_copy_folder
from snellen_hub.database.tables import HostedBenchmark, HostedItem, HostedMedium, Submission, SubmissionScore
from snellen_hub.errors import NotThere
from snellen_hub.hub import Hub
from snellen_hub.jobs.queue import add_job
from snellen_hub.question_parts import PUBLIC, read_draw
from snellen_hub.samples.content import IndexedItem, ItemContent, index_sample, item_row, read_content
from snellen_hub.samples.flags import count_flags, settle_by_data
from snellen_hub.samples.media import MediaStore
from snellen_hub.samples.versions import VersionChanges, compare_items, compare_settings, note_version
from snellen_hub.storage import Storage

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_NO_DATA = "a board of reported numbers; to add data: --data DATA --replace"
_BATCH = 5_000
"""Rows that are added at once."""


def find_hosted_benchmark(session: Session, name: str, *, lock: bool = False) -> HostedBenchmark:
    """A benchmark of the hub, kept from other transactions with `lock`. Raises NotThere."""
    query = select(HostedBenchmark).where(HostedBenchmark.name == name)
    row = session.scalar(query.with_for_update() if lock else query)
    if row is None:
        raise NotThere(f"this hub has no benchmark {name}")
    return row


def host_benchmark(hub: Hub, new: NewBenchmark, *, replace: bool, keeps_spec: bool) -> tuple[str, int]:
    """Add a benchmark, or replace its data; returns what was done, and how many pictures and videos
    could not be read. With `keeps_spec` the first data are of what the board is of already.

    Raises UsageError, DataError and StorageError.
    """
    with hub.database.reading() as session:
        held = _find_replaced(session, new, replace=replace)
    if held is not None and not held.has_data and keeps_spec:
        new = structs.replace(new, spec=held.spec)
    # Data may be large: they are stored before the database waits for anything.
    stored = store_data(hub.storage, new, held)
    with hub.database.writing() as session:
        row = _find_replaced(session, new, replace=replace)
        if row is None:
            row = add_benchmark(session, hub.storage, new, stored)
            done = f"{row.rows:,} items" if row.has_data else _NO_DATA
            if row.is_hidden:
                public = read_draw(row).count_public(PUBLIC)
                done += f", {public:,} public and {row.rows - public:,} private"
        else:
            flags = count_flags(session, row.id)
            count = replace_data(session, hub.storage, row, new, stored)
            done = f"version {row.version}; {count:,} submissions are scored again"
            if flags:
                done += f"; {flags - count_flags(session, row.id):,} of {flags:,} flags closed"
        note_action(session, "benchmark", subject=row.name, done=done)
    return done, stored.media.unreadable


def _find_replaced(session: Session, new: NewBenchmark, *, replace: bool) -> HostedBenchmark | None:
    """The benchmark whose data are replaced; None for a new one. Raises UsageError."""
    if not replace:
        check_benchmark_name(session, new.name)
        return None
    row = find_hosted_benchmark(session, new.name)
    if row.has_data and row.is_hidden != new.is_hidden:
        raise UsageError(
            f"the answers of {new.name} are {'' if row.is_hidden else 'not '}hidden, and stay so: "
            f"{'add' if row.is_hidden else 'leave out'} --hidden"
        )
    return row


def add_benchmark(
    session: Session, storage: Storage, new: NewBenchmark, stored: StoredData | None = None
) -> HostedBenchmark:
    """Add a benchmark. `stored` are its data if they were stored before, so that the database need
    not wait for that.

    Raises UsageError for a name that is taken or malformed, and for data that cannot be scored.
    """
    check_benchmark_name(session, new.name)
    stored = stored or store_data(storage, new)
    row = HostedBenchmark(
        name=new.name,
        title=new.title,
        description=new.description,
        spec=new.spec,
        protocol=msgspec.to_builtins(new.protocol),
        is_hidden=new.is_hidden or new.answers is not None,
        layout=new.layout,
        **stored.columns,
    )
    session.add(row)
    session.flush()
    _write_items(session, row, stored.items, stored.media)
    note_version(session, row, "added", VersionChanges(added=row.rows))
    return row


def check_benchmark_name(session: Session, name: str) -> None:
    """Raises UsageError for the name of a new benchmark that is taken or malformed."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"a benchmark cannot be called {name!r}; expected up to 63 lower-case letters, digits, - and _"
        )
    if session.scalar(select(HostedBenchmark.id).where(HostedBenchmark.name == name)):
        raise UsageError(f"the hub has a benchmark called {name} already")


def replace_data(
    session: Session, storage: Storage, row: HostedBenchmark, new: NewBenchmark, stored: StoredData | None = None
) -> int:
    """Replace data and protocol of a benchmark, or add the first data: its version counts up, and
    every submission that is not withdrawn is scored again; both numbers are kept. Flags that the
    new data answer are closed. Returns the number of these submissions.
    """
    before = _read_contents(session, storage, row)
    stored = stored or store_data(storage, new, row)
    if not row.has_data:
        row.is_hidden = new.is_hidden or new.answers is not None
    settings_before = {"benchmark": row.spec, **row.protocol}
    for name, value in stored.columns.items():
        setattr(row, name, value)
    row.spec, row.protocol = new.spec, msgspec.to_builtins(new.protocol)
    _write_items(session, row, stored.items, stored.media)
    changes = compare_items(before, _read_contents(session, storage, row), is_hidden=row.is_hidden)
    settings = compare_settings(settings_before, {"benchmark": row.spec, **row.protocol})
    changes = structs.replace(changes, settings=settings)
    queued = start_version(session, row, "data", changes)
    decisions = read_decisions(new.data) if new.data is not None and new.data.is_dir() else ()
    settle_by_data(session, row, changes, decisions)
    return queued


def rescore(session: Session, row: HostedBenchmark, *, always: bool) -> int:
    """Score every submission of a benchmark again if some were scored by another version of
    Snellen, or `always`; both numbers are kept. Returns the number of submissions."""
    if not (always or _is_outdated(session, row)):
        return 0
    return start_version(session, row, "scoring", VersionChanges())


def start_version(session: Session, row: HostedBenchmark, reason: str, changes: VersionChanges) -> int:
    """Give a benchmark its next version, and queue every submission that is not withdrawn on it;
    returns their number."""
    row.version += 1
    note_version(session, row, reason, changes)
    note_data_change(session, row, row.version - 1)
    query = select(Submission).where(
        Submission.benchmark_id == row.id, Submission.visibility != "withdrawn", Submission.file.is_not(None)
    )
    submissions = session.scalars(query).all()
    for submission in submissions:
        submission.status = "queued"
        add_job(session, submission.id, row.version)
    return len(submissions)


def _is_outdated(session: Session, row: HostedBenchmark) -> bool:
    """Whether a score of this version is by another version of Snellen."""
    query = (
        select(SubmissionScore.id)
        .join(Submission, SubmissionScore.submission_id == Submission.id)
        .where(
            Submission.benchmark_id == row.id,
            Submission.visibility != "withdrawn",
            Submission.file.is_not(None),
            SubmissionScore.version == row.version,
            SubmissionScore.scored_by != __version__,
        )
        .limit(1)
    )
    return session.scalar(query) is not None


def _write_items(session: Session, row: HostedBenchmark, items: Sequence[IndexedItem], media: MediaStore) -> None:
    """Write items and media of a benchmark in the place of earlier ones."""
    session.execute(delete(HostedItem).where(HostedItem.benchmark_id == row.id))
    session.execute(delete(HostedMedium).where(HostedMedium.benchmark_id == row.id))
    for first in range(0, len(items), _BATCH):
        batch = items[first : first + _BATCH]
        rows = [item_row(row.id, first + place, item) for place, item in enumerate(batch)]
        session.execute(insert(HostedItem), rows)
    for medium in media.media.values():
        medium.benchmark_id = row.id
        session.add(medium)


def _read_contents(session: Session, storage: Storage, row: HostedBenchmark) -> dict[str, ItemContent]:
    """The items of a benchmark by id; those of a hidden split without media."""
    query = select(HostedItem).where(HostedItem.benchmark_id == row.id)
    stored = session.scalars(query.order_by(HostedItem.position)).all()
    if stored:
        return {item.name: read_content(item) for item in stored}
    if not row.data:
        # A benchmark of reported numbers alone.
        return {}
    indexed = [index_sample(sample, lambda refs: ()) for sample in read_samples(storage, row)]
    return {item.name: structs.replace(item.content, media=(), option_images={}) for item in indexed}


def read_samples(storage: Storage, row: HostedBenchmark) -> list[Sample]:
    """The questions of a benchmark with their answers. Raises StorageError."""
    with clear_copy_folder() as folder:
        path = scoring_file(storage, row, folder)
        benchmark = open_hosted(row.spec, msgspec.convert(row.protocol, Protocol), path)
        return list(benchmark.samples(benchmark.open()))
