"""The numbers of a stored score as readers see them.

Where answers are hidden, a score is of the public part of the questions alone (`question_parts`),
so that nothing of it needs to be kept back.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from snellen.core.summary import Metric, Summary
from snellen_hub.database.tables import SubmissionScore


class PublicNumber(Struct, frozen=True, omit_defaults=True):
    """A number with its interval and the samples it is of."""

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None
    unit: str = "percent"
    top: float = 100.0
    """The highest possible value."""
    note: str = ""
    """What a reader must know of this number."""


class PublicScore(Struct, frozen=True, omit_defaults=True):
    """The numbers of a submission."""

    name: str
    """Name of the headline metric."""
    headline: PublicNumber
    version: int
    """The version of the benchmark."""
    snellen: str
    metrics: dict[str, PublicNumber] = {}
    groups: dict[str, dict[str, PublicNumber]] = {}
    outcomes: dict[str, int] = {}
    notices: tuple[str, ...] = ()


def public_score(score: SubmissionScore) -> PublicScore:
    """What readers see of a score."""
    summary = msgspec.convert(score.summary, Summary)
    return PublicScore(
        name=summary.headline.name,
        headline=public_number(summary.headline),
        version=score.version,
        snellen=score.scored_by,
        metrics={name: public_number(metric) for name, metric in summary.metrics.items()},
        groups={
            column: {label: public_number(metric) for label, metric in labels.items()}
            for column, labels in summary.groups.items()
        },
        outcomes={str(name): count for name, count in summary.outcomes.items()},
        notices=summary.notices,
    )


def score_columns(summary: Summary) -> dict[str, Any]:
    """The numbers of a score as columns of its table."""
    number = public_number(summary.headline)
    return {
        "headline": number.value,
        "low": number.low,
        "high": number.high,
        "samples": number.n,
        "summary": msgspec.to_builtins(summary),
    }


def public_number(metric: Metric) -> PublicNumber:
    """What readers see of a metric."""
    low, high = (None, None) if metric.interval is None else (metric.interval.low, metric.interval.high)
    return PublicNumber(metric.value, metric.n, low, high, metric.unit, metric.top, metric.note)
