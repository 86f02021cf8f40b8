"""Summaries of judged replies: agreement of judges, and questions with several labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import structs

from snellen.benchmarks.protocol.judging import AGREEMENT
from snellen.core.record import Record
from snellen.core.summary import FailurePolicy, Metric, Summary
from snellen.scoring.accuracy import cluster_samples, mean_metric, summarise
from snellen.stats.agreement import cohen_kappa, fleiss_kappa

SEPARATOR = ", "
"""Between the labels of a question that has several of one kind, e.g. MathVista's skills."""
KAPPA = "kappa"
JUDGE_MISSING = (
    "is graded by a judge, and none is given: replies are collected, and scored once the same "
    "command is given with --judge MODEL"
)


def summarise_judged(
    records: Sequence[Record],
    *,
    headline: str,
    judges: Sequence[str],
    failures: FailurePolicy,
    multi_label: Sequence[str] = (),
    must_judge: bool = False,
) -> Summary:
    """Mean score in percent, per group, and how far several judges agree.

    `multi_label` are groupings whose labels are several in one, joined by `SEPARATOR`: a question
    counts once under each. With `must_judge` there is no score without a judge.
    """
    summary = summarise(records, headline=headline, failures=failures)
    if must_judge and not judges:
        unjudged = structs.replace(summary.headline, note="needs a judge: give one with --judge")
        return structs.replace(summary, headline=unjudged, metrics={**summary.metrics, headline: unjudged})
    metrics = {**summary.metrics, **kappa_metrics(records, judges)}
    groups = {
        column: mean_by_label(records, column, headline) if column in multi_label else labels
        for column, labels in summary.groups.items()
    }
    beside = (*summary.beside, *(name for name in (AGREEMENT, KAPPA) if name in metrics))
    return structs.replace(summary, metrics=metrics, groups=groups, beside=beside)


def mean_by_label(records: Sequence[Record], column: str, name: str) -> dict[str, Metric]:
    """The mean score under each of a question's labels."""
    scores: dict[str, list[float]] = defaultdict(list)
    cluster_ids: dict[str, list[str]] = defaultdict(list)
    for record, cluster in zip(records, cluster_samples(records), strict=True):
        if record.score is not None and column in record.groups:
            for label in record.groups[column].split(SEPARATOR):
                scores[label].append(record.score)
                cluster_ids[label].append(cluster)
    return {label: mean_metric(name, scores[label], cluster_ids[label]) for label in sorted(scores)}


def kappa_metrics(records: Sequence[Record], judges: Sequence[str]) -> Mapping[str, Metric]:
    """Cohen's kappa of two judges, Fleiss' of more, over the samples that all of them graded.

    The fraction of samples with identical verdicts is the value `agreement`.
    """
    if len(judges) < 2:
        return {}
    graded = [record.values for record in records if all(role in record.values for role in judges)]
    by_judge = [[grades[role] for grades in graded] for role in judges]
    kappa = cohen_kappa(*by_judge) if len(judges) == 2 else fleiss_kappa(list(zip(*by_judge, strict=True)))
    note = "" if kappa is not None else "all grades are the same, or there are none"
    return {KAPPA: Metric(KAPPA, kappa, len(graded), note=note, unit="points", top=1.0)}
