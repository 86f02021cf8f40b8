"""Questions that count only as a group, and means of means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from snellen.core.record import Record
from snellen.core.summary import Bounds, FailurePolicy, Interval
from snellen.scoring.accuracy import cluster_samples, counted_score, counts_wrong
from snellen.stats.stratified import GroupSums, group_sums, mean_of_groups

_MIN_GROUP_SIZE = 10
"""Samples below which a group may dominate the uncertainty of a mean of groups."""


def all_right(records: Iterable[Record], unit: Callable[[Record], str]) -> dict[str, float]:
    """1 for each unit whose questions are all right, else 0 (MMVP's pairs, HallusionBench's figures
    and questions). A unit with a question that could not be scored is left out; questions without
    gold are ignored."""
    scores_by_unit: dict[str, list[float | None]] = defaultdict(list)
    for record in records:
        if record.unscored != "no_gold":
            scores_by_unit[unit(record)].append(record.score)
    return {
        name: float(all(score == 1.0 for score in scores))
        for name, scores in scores_by_unit.items()
        if None not in scores
    }


def group_scores(records: Iterable[Record], column: str) -> dict[str, list[float]]:
    """Scores by label of a grouping; records without a score or a label are left out."""
    scores_by_label: dict[str, list[float]] = defaultdict(list)
    for record in records:
        if record.score is not None and column in record.groups:
            scores_by_label[record.groups[column]].append(record.score)
    return dict(scores_by_label)


def mean_of_means(groups: Mapping[str, Sequence[float]]) -> float | None:
    """Plain mean of the groups' means, regardless of their sizes; None without groups."""
    means = [sum(scores) / len(scores) for scores in groups.values() if scores]
    return sum(means) / len(means) if means else None


def sums_by_label(
    records: Sequence[Record],
    column: str,
    failures: FailurePolicy = "exclude",
    cluster_ids: Sequence[str] | None = None,
) -> dict[str, GroupSums]:
    """Sums of the scores of each label of a grouping, by cluster. `cluster_ids` are those of
    `cluster_samples(records)`, if already computed."""
    scores_by_label: dict[str, tuple[list[float], list[str]]] = defaultdict(lambda: ([], []))
    for record, cluster in zip(records, cluster_ids or cluster_samples(records), strict=True):
        label = record.groups.get(column)
        if label is not None and (score := counted_score(record, failures)) is not None:
            scores, names = scores_by_label[label]
            scores.append(score)
            names.append(cluster)
    return {label: group_sums(*scores_and_clusters) for label, scores_and_clusters in scores_by_label.items()}


def mean_of_all(values: Mapping[str, float | None], members: Iterable[str]) -> float | None:
    """Plain mean over the members; None if one of them has no value."""
    found = [values.get(name) for name in members]
    present = [value for value in found if value is not None]
    return sum(present) / len(present) if present and len(present) == len(found) else None


def interval_of_mean(
    groups: Sequence[GroupSums], weights: Sequence[float] | None = None, top: float = 100.0
) -> Interval | None:
    """Interval of the mean of the groups' means on the scale 0..`top`, by `mean_of_groups`; None
    without groups."""
    return mean_of_groups(groups, weights=weights).scale(top) if groups else None


def small_group_notice(groups: Mapping[str, GroupSums], weights: Mapping[str, float] | None = None) -> list[str]:
    """A notice if a group with few samples contributes most of the variance of the mean of the
    groups' means; else empty."""
    parts = {
        name: (weights[name] if weights else 1 / len(groups)) ** 2 / group.total.n for name, group in groups.items()
    }
    if len(parts) < 2:
        return []
    name = max(parts, key=lambda label: parts[label])
    n, everything = groups[name].total.n, sum(group.total.n for group in groups.values())
    if n >= _MIN_GROUP_SIZE or parts[name] < sum(parts.values()) / 2:
        return []
    return [
        f"{name} has {n} of {everything} scored samples and counts as much as a larger group: the "
        f"score is as uncertain as that of about {1 / sum(parts.values()):.0f} questions"
    ]


def apply_failure_policy(records: Sequence[Record], failures: FailurePolicy) -> Sequence[Record]:
    """The records as a failure policy counts them: those that count as wrong score 0."""
    return [_with_score(record, 0.0) if counts_wrong(record.unscored, failures) else record for record in records]


def bounds_of(records: Sequence[Record], value: Callable[[Sequence[Record]], float | None]) -> Bounds | None:
    """`value` if every failed or missing sample were wrong, and if it were right; None without such
    samples."""
    if not any(record.is_retryable for record in records):
        return None
    worst, best = value(_assume_score(records, 0.0)), value(_assume_score(records, 1.0))
    return None if worst is None or best is None else Bounds(worst, best)


def _assume_score(records: Sequence[Record], score: float) -> list[Record]:
    return [_with_score(one, score) if one.is_retryable else one for one in records]


def _with_score(record: Record, score: float) -> Record:
    """The record with a score, unless it has no gold."""
    return msgspec.structs.replace(record, score=score, unscored=None) if record.gold else record
