"""Benchmarks and published numbers for tests of boards, as imports and workers write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen.core.summary import Interval, Metric, Summary
from snellen_hub.accounts.access import create_account, now
from snellen_hub.boards.changes import note_change
from snellen_hub.config import HubConfig
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import Account, HostedBenchmark, Submission, SubmissionScore
from snellen_hub.hub import Hub
from snellen_hub.storage import Storage

_numbers = count(1)


def board_hub(database: Database, folder: Path) -> Hub:
    """A hub with an account and no benchmark."""
    with database.writing() as session:
        create_account(session, "ann", "submitter", None)
    return Hub(folder, HubConfig(), database, Storage(str(folder / "storage")))


def sqlite_hub(folder: Path) -> Hub:
    database = Database(f"sqlite:///{folder / 'boards.sqlite'}")
    database.upgrade()
    return board_hub(database, folder)


def add_board(
    session: Session, name: str, *, layout: str = "", spec: str = "", is_hidden: bool = False
) -> HostedBenchmark:
    row = HostedBenchmark(
        name=name,
        title=name.upper(),
        description="",
        spec=spec,
        protocol={},
        is_hidden=is_hidden,
        data="",
        data_name="",
        public_data=None,
        ids="",
        rows=0,
        version=1,
        layout=layout,
        created=now(),
    )
    session.add(row)
    session.flush()
    return row


def number(
    name: str,
    value: float | None,
    n: int = 0,
    *,
    half_width: float | None = None,
    unit: Any = "percent",
    top: float = 100.0,
    note: str = "",
) -> Metric:
    interval = None
    if half_width is not None and value is not None:
        interval = Interval(value - half_width, value + half_width, "test")
    return Metric(name, value, n, interval, note, unit, top)


def summary(
    headline: Metric, metrics: Sequence[Metric] = (), groups: Mapping[str, Mapping[str, Metric]] | None = None
) -> Summary:
    return Summary(
        headline=headline,
        metrics={headline.name: headline, **{metric.name: metric for metric in metrics}},
        groups={column: dict(labels) for column, labels in (groups or {}).items()},
        outcomes={},
        n=headline.n,
        total=headline.n,
    )


def publish(
    session: Session,
    benchmark: HostedBenchmark,
    model: str,
    numbers: Summary,
    *,
    kind: str = "reported",
    facts: Mapping[str, Any] | None = None,
    other_protocol: str = "",
    records: str | None = None,
) -> Submission:
    """Publish a number."""
    account = session.scalars(select(Account)).first()
    assert account is not None
    row = Submission(
        public_id=f"{next(_numbers):016x}",
        account_id=account.id,
        benchmark_id=benchmark.id,
        model=model,
        facts=dict(facts or {}),
        kind=kind,
        status="scored",
        visibility="published",
        problem="",
        file=None,
        file_name="",
        digest="",
        size=0,
        run={},
        source={"title": "a paper"},
        other_protocol=other_protocol,
        created=now(),
        published=now(),
    )
    session.add(row)
    session.flush()
    add_score(session, row, numbers, 1, records=records)
    note_change(session, row, "imported" if kind == "reported" else "published")
    return row


def add_score(session: Session, row: Submission, numbers: Summary, version: int, *, records: str | None = None) -> None:
    value = numbers.headline.value
    session.add(
        SubmissionScore(
            submission_id=row.id,
            version=version,
            scored_by="test",
            headline=value,
            low=None,
            high=None,
            samples=numbers.headline.n,
            records=records,
            summary=msgspec.to_builtins(numbers),
            created=now(),
        )
    )
    session.flush()
