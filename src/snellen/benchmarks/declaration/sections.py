"""Sections of a benchmark: the mean of the accuracies of several groups, as its table prints it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from snellen.benchmarks.protocol.summary_context import SummaryContext
from snellen.core.record import Record
from snellen.core.summary import Metric, Summary
from snellen.scoring.grouped import interval_of_mean, sums_by_label


def summarise_sections(
    column: str, sections: Mapping[str, Sequence[str]], context: SummaryContext, records: Sequence[Record]
) -> Summary:
    """The plain summary, with a metric for each section: the plain mean of the accuracies of its
    labels of the grouping `column`, each with the same weight. Without a score for all of its
    labels a section has no number, nor where the headline has none."""
    summary = context.plain(records)
    if summary.headline.value is None:
        unknown = {name: structs.replace(summary.headline, name=name) for name in sections}
        return structs.replace(summary, metrics={**summary.metrics, **unknown})
    sums = sums_by_label(records, column, context.failures)
    metrics = dict(summary.metrics)
    for name, labels in sections.items():
        lacking = [label for label in labels if label not in sums]
        if lacking:
            note = f"no score for {', '.join(lacking)}"
            metrics[name] = Metric(name, None, 0, note=note)
            continue
        parts = [sums[label] for label in labels]
        means = [summary.groups[column][label].value or 0.0 for label in labels]
        n = sum(part.total.n for part in parts)
        metrics[name] = Metric(name, sum(means) / len(means), n, interval_of_mean(parts))
    return structs.replace(summary, metrics=metrics)
