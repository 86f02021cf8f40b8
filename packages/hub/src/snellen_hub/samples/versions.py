"""What changed with each version of a benchmark, and the numbers of a submission on all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen import __version__
from snellen_hub.boards.published import scores_by_submission
from snellen_hub.database.tables import BenchmarkVersion, HostedBenchmark, Submission
from snellen_hub.moment_text import iso_time
from snellen_hub.public_scores import PublicScore, public_score
from snellen_hub.samples.content import ItemContent, changed_fields

MAX_LISTED = 10_000
"""Items of a kind of change that are listed; all are counted."""


class VersionChanges(Struct, frozen=True, omit_defaults=True):
    """How the data and the settings of a version differ from the one before. Of a hidden split the
    items are counted and not listed."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    added_items: tuple[str, ...] = ()
    removed_items: tuple[str, ...] = ()
    changed_items: dict[str, tuple[str, ...]] = {}
    """Id to the fields that differ, such as `gold` and `question`."""
    settings: dict[str, tuple[str, str]] = {}
    """Settings of scoring to their values before and after."""


class VersionScore(Struct, frozen=True):
    """The numbers of a submission on one version of its benchmark."""

    version: int
    is_current: bool
    reason: str
    """Why there is this version: `added`, `data`, `scoring`, `reveal`; empty if not recorded."""
    scored: str
    """When, in UTC, ISO 8601."""
    snellen: str
    """The version of Snellen that scored it."""
    changes: VersionChanges
    """Since the version before."""
    score: PublicScore


def compare_items(
    before: Mapping[str, ItemContent], after: Mapping[str, ItemContent], *, is_hidden: bool
) -> VersionChanges:
    """What changed between the items of two versions, by id."""
    added = [name for name in after if name not in before]
    removed = [name for name in before if name not in after]
    changed = {
        name: fields
        for name, content in after.items()
        if name in before and (fields := changed_fields(before[name], content))
    }
    counts = VersionChanges(len(added), len(removed), len(changed))
    if is_hidden:
        return counts
    return msgspec.structs.replace(
        counts,
        added_items=tuple(added[:MAX_LISTED]),
        removed_items=tuple(removed[:MAX_LISTED]),
        changed_items=dict(list(changed.items())[:MAX_LISTED]),
    )


def compare_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The settings that differ, with their values as text."""
    return {
        name: (str(before.get(name, "")), str(after.get(name, "")))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    }


def note_version(session: Session, row: HostedBenchmark, reason: str, changes: VersionChanges) -> None:
    """Record the version that a benchmark has now."""
    session.add(
        BenchmarkVersion(
            benchmark_id=row.id,
            version=row.version,
            reason=reason,
            snellen=__version__,
            rows=row.rows,
            # The key of public data is their SHA-256.
            digest="" if row.is_hidden else row.data,
            changes=msgspec.to_builtins(changes),
        )
    )


def read_versions(session: Session, benchmark_id: int) -> dict[int, BenchmarkVersion]:
    """The recorded versions of a benchmark, by number."""
    query = (
        select(BenchmarkVersion).where(BenchmarkVersion.benchmark_id == benchmark_id).order_by(BenchmarkVersion.version)
    )
    return {row.version: row for row in session.scalars(query)}


def read_changes(row: BenchmarkVersion | None) -> VersionChanges:
    return VersionChanges() if row is None else msgspec.convert(row.changes, VersionChanges)


def score_history(session: Session, submission: Submission) -> tuple[VersionScore, ...]:
    """The numbers of a submission on every version on which it was scored, the latest first, as
    readers may see them."""
    benchmark = submission.benchmark
    versions = read_versions(session, benchmark.id)
    scores = scores_by_submission(session, [submission.id]).get(submission.id, [])
    history = []
    for score in reversed(scores):
        version = versions.get(score.version)
        history.append(
            VersionScore(
                version=score.version,
                is_current=score.version == benchmark.version,
                reason="" if version is None else version.reason,
                scored=iso_time(score.created),
                snellen=score.scored_by,
                changes=read_changes(version),
                score=public_score(score),
            )
        )
    return tuple(history)
