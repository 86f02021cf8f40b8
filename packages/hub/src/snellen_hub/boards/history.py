"""History of boards and of models: what changed, the best score over time, every version's number.

All of it is made of what boards showed: notes of changes, and `public_scores`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from snellen_hub.boards.changes import changes_of
from snellen_hub.boards.published import public_rows
from snellen_hub.database.tables import BoardChange, HostedBenchmark, Submission
from snellen_hub.moment_text import iso_time
from snellen_hub.public_scores import PublicScore

MOST_CHANGES = 5_000
"""Changes of a board that its history goes back to."""


class HistoryEntry(Struct, frozen=True, omit_defaults=True):
    """A change of a board."""

    change: int
    """Its number."""
    at: str
    """When, in UTC."""
    kind: str
    """`published`, `withdrawn`, `scored`, `data-replaced` or `imported`."""
    benchmark: str = ""
    submission: str = ""
    model: str = ""
    before: dict[str, Any] = {}
    """The number that the board showed: value, low, high, n, unit, top, version, metric; of
    replaced data the version alone."""
    after: dict[str, Any] = {}


class BestScore(Struct, frozen=True, omit_defaults=True):
    """The best number of a board from a moment on."""

    at: str
    change: int
    model: str
    submission: str
    value: float
    version: int
    """Of the benchmark: numbers of different versions are not comparable."""


class BoardHistory(Struct, frozen=True):
    """What happened to a board."""

    benchmark: str
    title: str
    version: int
    entries: tuple[HistoryEntry, ...]
    """The latest first."""
    best: tuple[BestScore, ...]
    """Each time that the best number changed, the earliest first, numbers of other protocols left
    out. After new data it is that of the submissions that are scored again."""


class ModelScore(Struct, frozen=True):
    """The numbers of a model on a benchmark."""

    benchmark: str
    title: str
    submission: str
    evidence: str
    published: str
    other_protocol: str
    scores: tuple[PublicScore, ...]
    """On each version of the benchmark, the latest first."""


class ModelHistory(Struct, frozen=True):
    """What is published of a model."""

    model: str
    scores: tuple[ModelScore, ...]
    """The latest published first."""


def board_history(session: Session, benchmark: HostedBenchmark) -> BoardHistory:
    """The history of a benchmark's board."""
    changes = session.scalars(changes_of(benchmark, MOST_CHANGES)).all()[::-1]
    entries = list(map(entry_of_change, changes))
    unlike = {
        change.submission.public_id
        for change in changes
        if change.submission is not None and change.submission.other_protocol
    }
    return BoardHistory(
        benchmark=benchmark.name,
        title=benchmark.title,
        version=benchmark.version,
        entries=tuple(reversed(entries)),
        best=tuple(_best_scores(entries, unlike)),
    )


def entry_of_change(change: BoardChange) -> HistoryEntry:
    """A change as readers may see it."""
    submission = change.submission
    model = submission.model if submission is not None else ""
    return HistoryEntry(
        change=change.id,
        at=iso_time(change.at),
        kind=change.kind,
        benchmark=change.benchmark.name if change.benchmark is not None else "",
        submission=submission.public_id if submission is not None else "",
        model=model,
        before=change.before,
        after=change.after,
    )


def read_changes(session: Session, after: int = 0, limit: int = 100) -> list[HistoryEntry]:
    """The changes of all boards of benchmarks after one of them, the earliest first."""
    query = (
        select(BoardChange)
        .where(BoardChange.id > after, BoardChange.benchmark_id.is_not(None))
        .options(joinedload(BoardChange.submission), joinedload(BoardChange.benchmark))
        .order_by(BoardChange.id)
        .limit(limit)
    )
    return [entry_of_change(change) for change in session.scalars(query)]


def model_history(session: Session, model: str) -> ModelHistory:
    """What is published of a model, by its name in any case, on every benchmark and version."""
    query = (
        select(Submission)
        .where(func.lower(Submission.model) == model.lower(), Submission.visibility == "published")
        .options(joinedload(Submission.account), joinedload(Submission.benchmark))
        .order_by(Submission.published.desc(), Submission.id.desc())
        .limit(1_000)
    )
    by_benchmark: dict[int, list[Submission]] = {}
    for submission in session.scalars(query):
        by_benchmark.setdefault(submission.benchmark_id, []).append(submission)
    scores = []
    for submissions in by_benchmark.values():
        benchmark = submissions[0].benchmark
        for one in public_rows(session, submissions, benchmark.version):
            row = one.row
            scores.append(
                ModelScore(
                    benchmark.name,
                    benchmark.title,
                    row.submission,
                    row.evidence,
                    row.published,
                    row.other_protocol,
                    (one.score, *one.earlier),
                )
            )
    scores.sort(key=lambda score: score.published, reverse=True)
    return ModelHistory(model, tuple(scores))


def _best_scores(entries: Sequence[HistoryEntry], unlike: set[str]) -> list[BestScore]:
    """The best number each time that it changed; `unlike` are submissions of other protocols."""
    current: dict[str, HistoryEntry] = {}
    version = 1
    best: list[BestScore] = []
    for entry in entries:
        if entry.kind == "data-replaced":
            version = int(entry.after.get("version", version))
        elif entry.kind == "withdrawn":
            current.pop(entry.submission, None)
        elif entry.submission not in unlike:
            current[entry.submission] = entry
        values = {
            name: float(one.after["value"])
            for name, one in current.items()
            if one.after.get("value") is not None
            and (one.kind == "imported" or one.after.get("version", version) >= version)
        }
        if not values:
            continue
        first = max(values, key=values.__getitem__)
        shown = (current[first].model, values[first], version)
        if not best or shown != (best[-1].model, best[-1].value, best[-1].version):
            best.append(BestScore(entry.at, entry.change, shown[0], first, values[first], version))
    return best
