"""Scores of a run's questions in groups, and the share of each outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from snellen.core.output import OUTCOMES, Outcome
from snellen.core.sample import Kind
from snellen.core.summary import Metric
from snellen.stats.intervals import wilson


class GroupedRecord(Struct, frozen=True, gc=False):
    """The fields of a record that are grouped."""

    kind: Kind
    outcome: Outcome
    score: float | None = None
    answer: str | None = None
    gold: tuple[str, ...] = ()
    groups: dict[str, str] = {}
    media: tuple[str, ...] = ()
    values: dict[str, float] = {}
    unit: str = ""


class ScoreGroups(NamedTuple):
    """The score of each group of a grouping, or with `is_share` the share of questions in it."""

    title: str
    rows: tuple[tuple[str, Metric], ...]
    is_share: bool = False


def outcome_shares(records: Sequence[GroupedRecord]) -> ScoreGroups:
    """How the questions ended, in percent."""
    counts, n = Counter(each.outcome for each in records), len(records)
    rows = [
        (outcome, Metric("share", 100 * counts[outcome] / n, counts[outcome], wilson(counts[outcome], n).scale()))
        for outcome in OUTCOMES
        if counts[outcome]
    ]
    return ScoreGroups("outcome", tuple(rows), is_share=True)
