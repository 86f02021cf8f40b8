"""What `snellen score` shows of recorded predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from snellen.analysis.comparison.deviations import deviation_objects
from snellen.core.benchmark import Benchmark
from snellen.core.run import DataInfo, Report, RunInfo
from snellen.core.summary import Interval, Metric, Summary
from snellen.report.document import Document, EmptyLine
from snellen.report.documents.run_document import run_document

if TYPE_CHECKING:
    from snellen.analysis.parsing.labelled_replies import LabelComparison


def score_document(
    reports: Sequence[Report], cards: Sequence[Mapping[str, Any]], labelled: LabelComparison | None = None
) -> Document:
    """The predictions as runs, and how parsing agrees with labels of people; JSON holds the cards
    of `scorecard`, or the one with `readings`."""
    if labelled is None:
        return run_document(reports)._replace(data=cards if len(cards) > 1 else cards[0])
    from snellen.report.findings.parsers import labelled_replies
    from snellen.report.writers.json_text import document_object

    measured = labelled_replies(labelled)
    document = run_document(reports, [EmptyLine(), *measured.blocks], judges_measured=True)
    return document._replace(data={**cards[0], "readings": document_object(measured)})


def scorecard(
    benchmark: Benchmark,
    summary: Summary,
    warnings: Sequence[str] = (),
    data: DataInfo | None = None,
    run: RunInfo | None = None,
) -> dict[str, Any]:
    """The JSON of `snellen score`. `metrics` holds values by name, and by group under
    `by_group`; `groups` holds the same with n and interval; `data` is the source of questions
    and gold answers, and `deviations` say how the predictions as a `run` differ from the plain
    setting of the benchmark."""
    headline = summary.headline
    by_group = {
        column: {label: metric.value for label, metric in labels.items()} for column, labels in summary.groups.items()
    }
    values: dict[str, Any] = {name: metric.value for name, metric in summary.metrics.items()}
    return {
        **({} if run is None else {"model": run.model}),
        "benchmark": benchmark.name,
        "version": benchmark.version,
        "parameters": dict(benchmark.parameters),
        **({} if data is None else {"data": msgspec.to_builtins(data)}),
        **({} if run is None else {"deviations": deviation_objects(run)}),
        "headline": {
            "name": headline.name,
            "value": headline.value,
            "interval": _interval(headline.interval),
            "unit": headline.unit,
            "n": headline.n,
        },
        "metrics": {**values, "by_group": by_group},
        "groups": {
            column: {label: _metric(metric) for label, metric in labels.items()}
            for column, labels in summary.groups.items()
        },
        "outcomes": dict(summary.outcomes),
        "n": summary.n,
        "total": summary.total,
        "no_gold": summary.no_gold,
        "bounds": (None if summary.bounds is None else {"worst": summary.bounds.worst, "best": summary.bounds.best}),
        "notices": list(summary.notices),
        "warnings": list(warnings),
    }


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "value": metric.value,
        "unit": metric.unit,
        "n": metric.n,
        "interval": _interval(metric.interval),
        **({"note": metric.note} if metric.note else {}),
    }


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    return {"low": interval.low, "high": interval.high, "level": interval.level, "method": interval.method}
