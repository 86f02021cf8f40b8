"""Summaries of graded replies: accuracy with what judges add, and questions of several labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import structs

from snellen.benchmarks.protocol.judging import AGREEMENT, Panel
from snellen.core.record import Record
from snellen.core.summary import Metric, Summary
from snellen.scoring.accuracy import FailurePolicy, mean_metric, summarise
from snellen.scoring.clusters import clusters
from snellen.stats.agreement import cohen_kappa, fleiss_kappa

SEPARATOR = ", "
"""Between the labels of a question that has several of one kind, e.g. MathVista's skills."""
KAPPA = "kappa"
NEEDS_JUDGE = (
    "is graded by a judge, and none is given: replies are collected, and scored once the same "
    "command is given with --judge MODEL"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How graded records are summed up."""

    headline: str
    panel: Panel
    failures: FailurePolicy
    several: tuple[str, ...] = ()
    """Groupings whose labels are several in one, joined by `SEPARATOR`: a question counts once
    under each."""
    must_judge: bool = False
    """Whether there is no score without a judge."""


def summarise_graded(records: Sequence[Record], told: Told) -> Summary:
    """Mean score in percent, per group, and how far several judges agree."""
    found = summarise(records, headline=told.headline, failures=told.failures)
    if told.must_judge and not told.panel:
        headline = structs.replace(found.headline, note="needs a judge: give one with --judge")
        return structs.replace(
            found, headline=headline, metrics={**found.metrics, told.headline: headline}
        )
    metrics = {**found.metrics, **agreement(records, told.panel)}
    groups = {
        column: by_label(records, column, told.headline) if column in told.several else labels
        for column, labels in found.groups.items()
    }
    beside = (*found.beside, *(name for name in (AGREEMENT, KAPPA) if name in metrics))
    return structs.replace(found, metrics=metrics, groups=groups, beside=beside)


def by_label(records: Sequence[Record], column: str, name: str) -> dict[str, Metric]:
    """The mean score under each of a question's labels."""
    scores: dict[str, list[float]] = defaultdict(list)
    held: dict[str, list[str]] = defaultdict(list)
    for record, cluster in zip(records, clusters(records), strict=True):
        if record.score is not None and column in record.groups:
            for label in record.groups[column].split(SEPARATOR):
                scores[label].append(record.score)
                held[label].append(cluster)
    return {label: mean_metric(name, scores[label], held[label]) for label in sorted(scores)}


def agreement(records: Sequence[Record], panel: Panel) -> Mapping[str, Metric]:
    """Cohen's kappa of two judges, Fleiss' of more, over the samples that all of them graded.
    The share of samples with one verdict stands among the values."""
    if len(panel.roles) < 2:
        return {}
    rows = [
        [record.values[role] for role in panel.roles]
        for record in records
        if all(role in record.values for role in panel.roles)
    ]
    if len(panel.roles) == 2:
        kappa = cohen_kappa([row[0] for row in rows], [row[1] for row in rows])
    else:
        kappa = fleiss_kappa(rows)
    note = "" if kappa is not None else "all grades are the same, or there are none"
    return {KAPPA: Metric(KAPPA, kappa, len(rows), note=note, unit="points", top=1.0)}
