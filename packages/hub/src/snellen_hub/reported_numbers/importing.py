"""Putting reported numbers on boards: what is there already stays, changes are noted, and whole
sources can be taken off again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from secrets import token_hex
from typing import Any, Literal, NamedTuple

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen import __version__
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.errors import UsageError
from snellen.core.summary import Summary
from snellen_hub.accounts.audit import note_action
from snellen_hub.boards.changes import note_change
from snellen_hub.boards.published import latest_scores
from snellen_hub.boards.suite_members import create_suite, find_hosted_suite
from snellen_hub.database.tables import BoardChange, HostedBenchmark, Submission, SubmissionScore
from snellen_hub.hosting import Protocol, add_benchmark
from snellen_hub.hub import Hub
from snellen_hub.moment_text import now
from snellen_hub.public_scores import score_columns
from snellen_hub.publishing import withdraw_submission
from snellen_hub.reported_numbers.numbers import ReportedBoard, ReportedRow, ReportedTables

_EXAMPLES = 10
"""Sources that a sentence names."""

RowOutcome = Literal["added", "changed", "unchanged", "back"]
OUTCOMES: tuple[RowOutcome, ...] = ("added", "changed", "back", "unchanged")


class ImportedBoard(NamedTuple):
    """What an import did to one board."""

    board: str
    is_new: bool
    rows: Mapping[RowOutcome, int]
    changes: tuple[str, ...]
    """Each number that is not what it was, in a sentence."""

    def describe(self) -> str:
        """One line."""
        counts = ", ".join(
            f"{self.rows.get(name, 0)} {'published again' if name == 'back' else name}"
            for name in OUTCOMES
            if self.rows.get(name) or name in ("added", "unchanged")
        )
        return f"{self.board}: {counts}{' (a new board)' if self.is_new else ''}"


def import_tables(session: Session, hub: Hub, tables: ReportedTables, account_id: int) -> list[ImportedBoard]:
    """Write reported numbers as published submissions of an account. Boards and suites that the hub
    lacks are made. A row of the same source and model is not added twice."""
    done = [_import_board(session, hub, board, account_id) for board in tables.boards]
    for suite in tables.suites:
        # One of that name stays: its owner may have changed it.
        if find_hosted_suite(session, suite.name) is None:
            create_suite(session, suite)
    note_action(
        session,
        "import",
        account_id=account_id,
        subject=", ".join(board.board for board in done),
        rows=sum(sum(board.rows.values()) for board in done),
    )
    return done


def hosted_benchmark(session: Session, hub: Hub, name: str) -> HostedBenchmark:
    """A benchmark of the hub. Raises UsageError."""
    row = session.scalar(select(HostedBenchmark).where(HostedBenchmark.name == name))
    if row is None:
        # Names of other tools' benchmarks have a prefix and capitals, which those of a hub have not.
        allowed = re.sub(r"[^a-z0-9_-]+", "-", name.lower())
        raise UsageError(
            f"this hub has no benchmark called {name}; make a board of reported numbers with: "
            f"snellen hub benchmark {hub.folder} {allowed}"
        )
    return row


def headline_of(benchmark: HostedBenchmark) -> str:
    """How the benchmark's own scoring names its headline."""
    if not benchmark.spec:
        return "accuracy"
    protocol = msgspec.convert(benchmark.protocol, Protocol)
    return open_benchmark(benchmark.spec, protocol.variant(None)).headline


def withdraw_source(session: Session, source: str, board: str | None = None) -> int:
    """Take every reported number of a source off the boards, or off one; their history is kept.
    `source` is its title, the beginning of a title, or its address. Returns the number of rows.
    Raises UsageError if it names no source, or several."""
    query = select(Submission).where(Submission.kind == "reported", Submission.visibility == "published")
    if board is not None:
        query = query.join(HostedBenchmark).where(HostedBenchmark.name == board)
    published = session.scalars(query).all()
    rows = [row for row in published if _is_of(row.source, source)]
    titles = sorted({str(row.source.get("title", "")) for row in rows or published})
    if not rows:
        known = "; ".join(titles[:_EXAMPLES]) or "none"
        raise UsageError(f"no published number is from {source!r}; the sources here are: {known}")
    if len(titles) > 1 and source not in titles:
        raise UsageError(f"{source!r} may be: {'; '.join(titles[:_EXAMPLES])}; give one whole")
    rows = [row for row in rows if source not in titles or row.source.get("title") == source]
    for row in rows:
        withdraw_submission(session, row)
    note_action(session, "withdraw-source", subject=source, rows=len(rows))
    return len(rows)


def _is_of(stored: Mapping[str, Any], source: str) -> bool:
    wanted = source.strip().lower()
    if not wanted:
        return False
    return str(stored.get("title", "")).lower().startswith(wanted) or wanted == stored.get("url")


def _import_board(session: Session, hub: Hub, board: ReportedBoard, account_id: int) -> ImportedBoard:
    name = board.benchmark.name
    there = session.scalar(select(HostedBenchmark).where(HostedBenchmark.name == name))
    benchmark = there or add_benchmark(session, hub.storage, board.benchmark)
    query = select(Submission).where(Submission.benchmark_id == benchmark.id, Submission.kind == "reported")
    existing = {_key_of(row.source, row.model): row for row in session.scalars(query)}
    counts: Counter[RowOutcome] = Counter()
    changes: list[str] = []
    for row in board.rows:
        source = msgspec.to_builtins(row.source)
        stored = existing.get(_key_of(source, row.model))
        if stored is None:
            _add_row(session, benchmark, row, account_id)
        counts["added" if stored is None else _update_row(session, stored, row, changes)] += 1
    return ImportedBoard(name, there is None, counts, tuple(changes))


def _key_of(source: Mapping[str, Any], model: str) -> tuple[str, str, str]:
    """What makes a row the same in two imports."""
    return (str(source.get("title", "")), str(source.get("table", "")), model)


def _add_row(session: Session, benchmark: HostedBenchmark, row: ReportedRow, account_id: int) -> None:
    submission = Submission(
        public_id=token_hex(8),
        account_id=account_id,
        benchmark_id=benchmark.id,
        model=row.model,
        kind="reported",
        status="scored",
        visibility="published",
        published=now(),
        **_describe_row(row),
    )
    session.add(submission)
    session.flush()
    score = SubmissionScore(
        submission_id=submission.id, version=benchmark.version, scored_by=__version__, **score_columns(row.summary)
    )
    session.add(score)
    session.flush()
    note_change(session, submission, "imported")


def _describe_row(row: ReportedRow) -> dict[str, Any]:
    """What the source says of a row, beside its numbers."""
    return {
        "facts": msgspec.to_builtins(row.facts),
        "source": msgspec.to_builtins(row.source),
        "other_protocol": row.other_protocol,
    }


def _update_row(session: Session, stored: Submission, row: ReportedRow, changes: list[str]) -> RowOutcome:
    """Bring a row to what the source says now; its numbers before stay in the changes of the
    board."""
    described = _describe_row(row)
    score = latest_scores(session, [stored.id])[stored.id]
    before, after = msgspec.convert(score.summary, Summary), row.summary
    is_same = before == after
    values, new = _values(before), _values(after)
    old = {name: values.get(name) for name in values | new if values.get(name) != new.get(name)}
    changes += [f"{stored.model}, {name}: {_text(value)} became {_text(new.get(name))}" for name, value in old.items()]
    was_withdrawn = stored.visibility == "withdrawn"
    is_described = all(getattr(stored, name) == value for name, value in described.items())
    if is_same and is_described and not was_withdrawn:
        return "unchanged"
    for name, value in described.items():
        setattr(stored, name, value)
    for name, value in score_columns(row.summary).items():
        setattr(score, name, value)
    stored.visibility = "published"
    session.flush()
    note_change(session, stored, "imported")
    session.flush()
    if old:
        query = select(BoardChange).where(BoardChange.submission_id == stored.id)
        change = session.scalars(query.order_by(BoardChange.id.desc()).limit(1)).one()
        change.before = {**change.before, "numbers": old}
    return "back" if was_withdrawn and is_same else "changed"


def _values(summary: Summary) -> dict[str, float | None]:
    """Every number of a summary, by a name that says where it stands."""
    groups = summary.groups.items()
    metrics = {summary.headline.name: summary.headline} | summary.metrics
    metrics |= {f"{column} {label}": metric for column, labels in groups for label, metric in labels.items()}
    return {name: metric.value for name, metric in metrics.items()}


def _text(value: float | None) -> str:
    return "no number" if value is None else f"{value:g}"
