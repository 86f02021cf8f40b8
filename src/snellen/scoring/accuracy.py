"""Per-sample scores to accuracy, with groups, baselines and bounds.

Denominator (MMBench Sec. 4.1, MMT-Bench Sec. 4.1): replies that are unparsed, refused, truncated,
empty or match no option count as wrong; failed and missing samples and samples without gold are
left out, and the bounds show what they could have changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from msgspec import structs

from snellen.core.output import OUTCOMES, Failure, Outcome
from snellen.core.record import Record, Unscored
from snellen.core.summary import Bounds, Interval, Metric, Summary
from snellen.scoring.clusters import cluster_samples
from snellen.scoring.guessing import guess_metrics
from snellen.stats.intervals import score_interval

FailurePolicy = Literal["exclude", "count-wrong", "withhold"]

_SECONDARY = ("vanilla", "drop", "by_rules")
"""Metrics displayed next to the headline if they exist."""
_MAX_REASONS = 3
"""Most reasons for unsupported samples that a notice lists."""


def summarise(
    records: Sequence[Record],
    *,
    headline: str = "accuracy",
    failures: FailurePolicy = "exclude",
    secondary: tuple[str, ...] = (),
    cluster_ids: Sequence[str] | None = None,
) -> Summary:
    """Summarise records scored 0..1; metrics in percent, with cluster-robust intervals. `secondary`
    names per-record values displayed next to the headline in tables. `cluster_ids` are those of
    `cluster_samples(records)`, if already computed. Passes are not looked at."""
    cluster_ids = cluster_samples(records) if cluster_ids is None else cluster_ids
    counted = [
        _CountedRecord(record, score, cluster)
        for record, cluster in zip(records, cluster_ids, strict=True)
        if (score := counted_score(record, failures)) is not None
    ]
    counted_records = [record.record for record in counted]
    retryable = [record for record in records if record.is_retryable]
    is_withheld = failures == "withhold" and bool(retryable)
    overall = mean_metric(
        headline, [record.score for record in counted], [record.cluster for record in counted]
    )
    if is_withheld:
        overall = Metric(
            headline, None, len(counted), note="withheld: samples failed or are missing"
        )
    further = {} if is_withheld else {**_values(records, cluster_ids), **_differences(counted)}
    metrics = {headline: overall, **further, **guess_metrics(counted_records)}
    return Summary(
        headline=overall,
        metrics=metrics,
        groups={} if is_withheld else _groups(counted, headline),
        outcomes=count_outcomes(records),
        n=len(counted_records),
        total=len(records),
        no_gold=sum(record.unscored == "no_gold" for record in records),
        bounds=_bounds(records) if retryable or _partly_graded(records) else None,
        notices=tuple(score_notices(records, failures)),
        beside=tuple(name for name in (*secondary, *_SECONDARY) if name in metrics),
    )


def mean_metric(name: str, scores: Sequence[float], cluster_ids: Sequence[str] = ()) -> Metric:
    """Mean of scores in 0..1 as percent, with its interval. `cluster_ids`, as from
    `cluster_samples`, names the cluster of each score; an empty id is a cluster of its own, and so
    is every sample if there are no ids."""
    if not scores:
        return Metric(name, None, 0, note="no sample could be scored")
    interval = score_interval(scores, cluster_ids)
    if interval is not None:
        interval = Interval(
            100 * interval.low, 100 * interval.high, interval.method, interval.level
        )
    return Metric(name, 100 * sum(scores) / len(scores), len(scores), interval)


def count_outcomes(records: Iterable[Record]) -> dict[Outcome, int]:
    """Number of records of every outcome, zeros included."""
    counts = Counter(record.outcome for record in records)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def score_notices(records: Sequence[Record], failures: FailurePolicy = "exclude") -> Iterable[str]:
    """Sentences that a reader needs before the number: samples left out, failed, not rotated,
    ungraded or unsupported."""
    verb = {"exclude": "left out", "count-wrong": "counted wrong", "withhold": "left out"}[failures]
    total = f"{len(records)} sample{'' if len(records) == 1 else 's'}"
    counts = Counter(record.unscored for record in records)
    passes = any(len(record.passes) > 1 for record in records)
    missing_text = "no prediction for some pass" if passes else "no prediction"
    ended: tuple[tuple[Unscored, str], ...] = (("failed", "failed"), ("missing", missing_text))
    for reason, has in ended:
        count = counts[reason]
        if count:
            have = "" if reason == "failed" else "has " if count == 1 else "have "
            yield f"{count} of {total} {have}{has} and {'is' if count == 1 else 'are'} {verb}"
    fixed = sum(record.asked_once for record in records)
    if fixed:
        yield f"{fixed} of {total} could not be rotated and were asked once"
    incomplete = sum(record.lacking > 0 for record in records)
    if incomplete:
        rows = sum(record.lacking for record in records)
        yield (
            f"{incomplete} of {total} {'lacks' if incomplete == 1 else 'lack'} {rows} "
            f"rotation{'' if rows == 1 else 's'} in the data and "
            f"{'is' if incomplete == 1 else 'are'} counted by the others: the score may be "
            "higher than of the whole file"
        )
    count = counts["no_gold"]
    if count:
        singular = count == 1
        yield (
            f"{count} of {total} {'has' if singular else 'have'} no gold answer "
            f"and {'is' if singular else 'are'} not scored"
        )
    count = counts["ungraded"]
    if count:
        singular = count == 1
        yield (
            f"{count} of {total} {'was' if singular else 'were'} not graded by any judge "
            f"and {'is' if singular else 'are'} left out"
        )
    count = sum(record.holds_verdict for record in records)
    if count:
        yield (
            f"{count} of {total} {'has' if count == 1 else 'have'} a judged reply that states a "
            "verdict of its own or asks for one; what a judge only repeats from it does not count"
        )
    count = counts["unsupported"]
    if count:
        singular = count == 1
        why = "; ".join(_reasons(records))
        yield (
            f"{count} of {total} {'needs' if singular else 'need'} what the model cannot do "
            f"and {'was' if singular else 'were'} not asked{f': {why}' if why else ''}"
        )


def _reasons(records: Iterable[Record]) -> list[str]:
    """Reasons why samples were unsupported, each once, at most `_MAX_REASONS`."""
    outputs = (record.passes[0].output for record in records
               if record.unscored == "unsupported" and record.passes)  # fmt: skip
    messages = (output.message for output in outputs if isinstance(output, Failure))
    return list(dict.fromkeys(messages))[:_MAX_REASONS]


def counted_score(record: Record, failures: FailurePolicy) -> float | None:
    """The score a record counts with under a failure policy, or None if it is left out."""
    if record.is_retryable and failures == "count-wrong":
        # Without gold the sample would have no score even if it had been answered.
        return 0.0 if record.gold else None
    return record.score


class _CountedRecord(NamedTuple):
    """A record that counts, with its score and cluster id."""

    record: Record
    score: float
    cluster: str


def _groups(counted: Sequence[_CountedRecord], name: str) -> dict[str, dict[str, Metric]]:
    buckets: dict[str, dict[str, _Bucket]] = defaultdict(lambda: defaultdict(_Bucket))
    for record, score, cluster in counted:
        for column, label in record.groups.items():
            buckets[column][label].add(score, cluster)
    return {
        column: {label: labels[label].metric(name) for label in sorted(labels)}
        for column, labels in buckets.items()
    }


def _values(records: Sequence[Record], cluster_ids: Sequence[str]) -> dict[str, Metric]:
    """Means of the further per-sample values, such as `vanilla` next to a circular score."""
    buckets: dict[str, _Bucket] = defaultdict(_Bucket)
    for record, cluster in zip(records, cluster_ids, strict=True):
        for name, value in record.values.items():
            buckets[name].add(value, cluster)
    return {name: cell.metric(name) for name, cell in buckets.items()}


@dataclass(slots=True)
class _Bucket:
    """Scores that are averaged together, each with its cluster id."""

    scores: list[float] = field(default_factory=list)
    cluster_ids: list[str] = field(default_factory=list)

    def add(self, score: float, cluster: str) -> None:
        self.scores.append(score)
        self.cluster_ids.append(cluster)

    def metric(self, name: str) -> Metric:
        return mean_metric(name, self.scores, self.cluster_ids)


def _differences(counted: Sequence[_CountedRecord]) -> dict[str, Metric]:
    """Differences over the same samples: VanillaEval minus CircularEval (MMBench Table 2), and what
    the LLM extractor added to the rules on the first pass (Table 1). Neither can be negative: a
    circular score is at most that of its first pass, and the extractor does not change what the
    rules parsed."""
    buckets = {"drop": _Bucket(), "extractor_gain": _Bucket()}
    for record, _, cluster in counted:
        values, score = record.values, record.score
        if score is None:
            continue
        if "vanilla" in values:
            buckets["drop"].add(values["vanilla"] - score, cluster)
        if "vanilla_by_rules" in values:
            gain = values.get("vanilla", score) - values["vanilla_by_rules"]
            buckets["extractor_gain"].add(gain, cluster)
    return {
        name: structs.replace(cell.metric(name), unit="points")
        for name, cell in buckets.items()
        if cell.scores
    }


def _partly_graded(records: Sequence[Record]) -> bool:
    """Whether judges graded some replies and could not grade others."""
    return any(record.unscored == "ungraded" for record in records) and any(
        record.score is not None for record in records
    )


def _bounds(records: Sequence[Record]) -> Bounds:
    """Percent if every failed, missing or ungraded sample with gold were wrong, and if it were
    right."""
    with_gold = [
        record
        for record in records
        if record.score is not None
        or ((record.is_retryable or record.unscored == "ungraded") and record.gold)
    ]
    unknown = sum(record.score is None for record in with_gold)
    right = sum(record.score or 0.0 for record in with_gold)
    total = max(1, len(with_gold))
    return Bounds(100 * right / total, 100 * (right + unknown) / total)
