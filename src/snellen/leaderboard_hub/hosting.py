"""Benchmarks that a hub holds: adding one, and changing its data."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.protocol.parsers import check_rule
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import DataError, UsageError
from snellen.leaderboard_hub.accounts.access import now
from snellen.leaderboard_hub.boards.changes import note_data_change
from snellen.leaderboard_hub.database.tables import HostedBenchmark, Submission
from snellen.leaderboard_hub.jobs.queue import add_job
from snellen.leaderboard_hub.storage import Storage

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class Protocol(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a hosted benchmark is scored."""

    rule: str | None = None
    """The tool whose parsing rules apply; None: the benchmark's default."""
    columns: dict[str, str] = {}
    """Columns of the data: our name to theirs."""
    failures: str = "count-wrong"
    """What missing replies do: a board must not reward leaving out what is hard."""
    circular: str | None = None

    def variant(self, data: Path | None) -> Variant:
        return Variant(
            data=None if data is None else str(data),
            columns=self.columns,
            rule=self.rule,
            failures=self.failures,
            circular=self.circular,
        )


class NewBenchmark(Struct, frozen=True, kw_only=True):
    """What an owner says of a benchmark."""

    name: str
    title: str
    data: Path | None
    """The complete data, with answers; None: a board of reported numbers, until data are added."""
    description: str = ""
    spec: str = ""
    """How Snellen opens it, such as `mmbench:split=test`; empty: the data file alone."""
    protocol: Protocol = Protocol()
    is_hidden: bool = False
    public_data: Path | None = None
    """The data without answers, for download."""
    layout: str = ""
    """How its board is laid out; empty: by `spec`."""


def add_benchmark(session: Session, storage: Storage, new: NewBenchmark) -> HostedBenchmark:
    """Add a benchmark. Its data are read once, so that a mistake shows here and not in a score.

    Raises UsageError for a name that is taken or malformed, and for data that cannot be scored.
    """
    if not _NAME.fullmatch(new.name):
        raise UsageError(
            f"a benchmark cannot be called {new.name!r}; expected up to 63 lower-case letters, "
            "digits, - and _"
        )
    if session.scalar(select(HostedBenchmark.id).where(HostedBenchmark.name == new.name)):
        raise UsageError(f"the hub has a benchmark called {new.name} already")
    row = HostedBenchmark(
        name=new.name, title=new.title, description=new.description, spec=new.spec,
        protocol=msgspec.to_builtins(new.protocol), is_hidden=new.is_hidden, version=1,
        layout=new.layout, created=now(), **_stored_data(storage, new))  # fmt: skip
    session.add(row)
    session.flush()
    return row


def replace_data(
    session: Session, storage: Storage, row: HostedBenchmark, new: NewBenchmark
) -> int:
    """Replace data and protocol of a benchmark, or add data to one without: its version counts up,
    and every submission that is not withdrawn is scored again; both numbers are kept. Returns the
    number of these submissions.
    """
    stored = _stored_data(storage, new)
    if not row.has_data:
        row.is_hidden = new.is_hidden
    for name, value in stored.items():
        setattr(row, name, value)
    row.spec, row.protocol = new.spec, msgspec.to_builtins(new.protocol)
    row.version += 1
    note_data_change(session, row, row.version - 1)
    query = select(Submission).where(
        Submission.benchmark_id == row.id,
        Submission.visibility != "withdrawn",
        Submission.file.is_not(None),
    )
    submissions = session.scalars(query).all()
    for submission in submissions:
        submission.status = "queued"
        add_job(session, submission.id, row.version)
    return len(submissions)


def open_hosted(spec: str, protocol: Protocol, data: Path) -> Benchmark:
    """A hosted benchmark on a file of its data."""
    if not spec:
        variant = protocol.variant(None)
        benchmark = open_benchmark(str(data), variant)
    else:
        variant = protocol.variant(data)
        benchmark = open_benchmark(spec, variant)
    if protocol.rule is not None:
        check_rule(benchmark, protocol.rule)
    return benchmark


def _stored_data(storage: Storage, new: NewBenchmark) -> dict[str, Any]:
    """Check and store the data; returns the columns of the table that describe them."""
    if new.data is None:
        return _without_data(new)
    benchmark = open_hosted(new.spec, new.protocol, new.data)
    ids: list[str] = []
    for sample in benchmark.samples(benchmark.open()):
        if not sample.gold:
            raise DataError(
                f"{new.data}: item {sample.id} has no answer, so it could not be scored; give the "
                "complete data"
            )
        ids.append(sample.id)
        ids += [turn.row for turn in sample.rotations]
    if not ids:
        raise DataError(f"{new.data} holds no items")
    public = None
    if new.public_data is not None:
        _refuse_answers(new)
        public = storage.put(new.public_data.read_bytes())
    return {
        "data": storage.put(new.data.read_bytes(), seal=new.is_hidden),
        "data_name": new.data.name,
        "public_data": public,
        "ids": storage.put(msgspec.json.encode(ids)),
        "rows": len(ids),
    }


def _without_data(new: NewBenchmark) -> dict[str, Any]:
    """The same columns of a benchmark that has no data yet. Raises UsageError."""
    if new.is_hidden or new.public_data is not None:
        raise UsageError(
            f"{new.name} has no data, so none of it can be hidden or public; give --data FILE"
        )
    if new.spec:
        open_benchmark(new.spec, new.protocol.variant(None))
    return {"data": "", "data_name": "", "public_data": None, "ids": "", "rows": 0}


def _refuse_answers(new: NewBenchmark) -> None:
    """Raises DataError if the public data of a hidden split have answers."""
    assert new.public_data is not None
    if not new.is_hidden:
        return
    benchmark = open_hosted(new.spec, new.protocol, new.public_data)
    named = next((sample.id for sample in benchmark.samples(benchmark.open()) if sample.gold), None)
    if named is not None:
        raise DataError(
            f"{new.public_data}: item {named} has an answer, and the answers of {new.name} are "
            "hidden; take them out (snellen curate publish --hold-out does)"
        )
