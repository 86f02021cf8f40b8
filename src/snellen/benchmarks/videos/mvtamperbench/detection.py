"""F1, precision and recall of detecting each kind of tampering, and their means.

A kind of tampering is told from the videos that nobody tampered with: its table has its own
questions and all those about originals, whose answer is No. A reply that is not right counts as the
other answer, as in VLMEvalKit (`utils/tamperbench.py`), so that a reply without an answer to a
question about an original is a false alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.protocol.summary_context import SummaryContext
from snellen.core.record import Record
from snellen.core.summary import Metric, Summary
from snellen.scoring.accuracy import FailurePolicy, counted_score
from snellen.scoring.headlines import RatioTerm, headline_interval, sum_of_ratios

TAMPERING, TASK = "tamper_type", "task_type"
ORIGINAL = "original"


class DetectionVerdict(NamedTuple):
    """What one reply adds: a hit, a false alarm, a miss, or none of them (a rejection)."""

    hit: bool
    false_alarm: bool
    miss: bool
    right: bool


NUMBERS: Mapping[str, Callable[[DetectionVerdict], tuple[int, int]]] = {
    "f1": lambda one: (2 * one.hit, 2 * one.hit + one.false_alarm + one.miss),
    "precision": lambda one: (int(one.hit), one.hit + one.false_alarm),
    "recall": lambda one: (int(one.hit), one.hit + one.miss),
    "tampering_accuracy": lambda one: (int(one.right), 1),
}
"""What a reply adds to numerator and denominator of each number; 0 of nothing is 0."""


def summarise_detection(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The plain summary, beside it the means of the numbers over the kinds of tampering, and the
    numbers of each kind and the F1 of each task."""
    summary = context.plain(records)
    if summary.headline.value is None:
        return summary
    metrics = {
        name: metric for name in NUMBERS if (metric := _mean_over_kinds(name, records, context.failures)) is not None
    }
    groups = dict(summary.groups)
    for name in NUMBERS:
        groups[f"{TAMPERING} {name}"] = _by_kind(name, records, context.failures)
    groups[f"{TASK} f1"] = _f1_by_task(records, context.failures)
    return structs.replace(
        summary,
        metrics={**summary.metrics, **metrics},
        groups={column: labels for column, labels in groups.items() if labels},
        beside=(*summary.beside, *(name for name in ("f1",) if name in metrics)),
    )


def _mean_over_kinds(name: str, records: Sequence[Record], failures: FailurePolicy) -> Metric | None:
    """The mean over the kinds of tampering in percent; None without a kind or without originals."""
    kinds = _kinds(records)
    if not kinds or not any(record.groups.get(TAMPERING) == ORIGINAL for record in records):
        return None
    terms = [_terms(name, record, kinds, failures) for record in records]
    sums = sum_of_ratios(terms)
    if sums is None:
        return None
    interval = headline_interval(sums, records)
    return Metric(name, sums.of_all(), sum(map(bool, terms)), interval)


def _by_kind(name: str, records: Sequence[Record], failures: FailurePolicy) -> dict[str, Metric]:
    found = {}
    for kind in _kinds(records):
        members = [one for one in records if one.groups.get(TAMPERING) in (kind, ORIGINAL)]
        metric = _mean_over_kinds(name, members, failures)
        if metric is not None:
            found[kind] = metric
    return found


def _f1_by_task(records: Sequence[Record], failures: FailurePolicy) -> dict[str, Metric]:
    found = {}
    for task in sorted({one.groups[TASK] for one in records if TASK in one.groups}):
        members = [one for one in records if one.groups.get(TASK) == task]
        metric = _mean_over_kinds("f1", members, failures)
        if metric is not None:
            found[task] = metric
    return found


def _kinds(records: Sequence[Record]) -> list[str]:
    labels = {record.groups[TAMPERING] for record in records if TAMPERING in record.groups}
    return sorted(labels - {ORIGINAL})


def _terms(name: str, record: Record, kinds: Sequence[str], failures: FailurePolicy) -> list[RatioTerm]:
    """What a record adds to the number of its kind of tampering; an original adds to that of every
    kind."""
    score, kind = counted_score(record, failures), record.groups.get(TAMPERING)
    if score is None or kind is None or not record.gold:
        return []
    verdict = _verdict(tampered=kind != ORIGINAL, right=score == 1.0)
    shares = NUMBERS[name](verdict)
    return [RatioTerm(own, *shares) for own in (kinds if kind == ORIGINAL else (kind,))]


def _verdict(*, tampered: bool, right: bool) -> DetectionVerdict:
    return DetectionVerdict(
        hit=tampered and right, false_alarm=not tampered and not right, miss=tampered and not right, right=right
    )
