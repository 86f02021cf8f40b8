"""The mean over MEGA-Bench's tasks, each of which weighs the same, and over those of a dimension.

Chen et al. 2024 (https://arxiv.org/abs/2410.10563), Sec. 4.1; megabench/tools of the authors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec import structs

from snellen.benchmarks.open_answers.mega_bench.grading.task import why_not_scored
from snellen.benchmarks.open_answers.mega_bench.rows import CORE, DIMENSIONS, NOT_SCORED, OPEN, SKILL, SUBSET, TASK
from snellen.benchmarks.protocol.judged_summary import SEPARATOR
from snellen.core.record import Record
from snellen.core.summary import FailurePolicy, HeadlineSums, Metric, Summary, SummaryContext
from snellen.scoring.accuracy import cluster_samples, count_outcomes
from snellen.scoring.grouped import (
    apply_failure_policy,
    bounds_of,
    group_scores,
    interval_of_mean,
    mean_of_means,
    sums_by_label,
)
from snellen.scoring.headlines import mean_of_groups

TASK_MEAN = "task_mean"
_MOST_NAMES = 3


def summarise_tasks(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The mean over tasks, over those of the core and the open set, and of each dimension's labels.
    Tasks that are not scored are left out in a sentence."""
    scored = [record for record in records if NOT_SCORED not in record.groups]
    summary = context.plain(scored)
    headline = summary.headline
    if headline.value is not None:
        headline = _task_mean(TASK_MEAN, scored, context.failures)
    means = {
        name: _task_mean(name, of_subset, context.failures)
        for name in (CORE, OPEN)
        if (of_subset := [record for record in scored if record.groups.get(SUBSET) == name])
    }
    beside = {name: mean for name, mean in means.items() if mean.value is not None}
    groups = {column: labels for column, labels in summary.groups.items() if column not in (*DIMENSIONS, SUBSET)}
    if headline.value is not None:
        groups |= {
            column: _by_label(scored, column, context.failures)
            for column in (SUBSET, *DIMENSIONS)
            if any(column in record.groups for record in scored)
        }
    return structs.replace(
        summary,
        headline=structs.replace(headline, name=TASK_MEAN),
        metrics={TASK_MEAN: structs.replace(headline, name=TASK_MEAN), **beside, **summary.metrics},
        groups=groups,
        outcomes=count_outcomes(records),
        total=len(records),
        bounds=bounds_of(scored, _percent),
        notices=(*summary.notices, *_sentences(context, scored, records)),
        beside=tuple(beside),
    )


def task_mean_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """The mean over tasks as a function of sums."""
    return mean_of_groups(records, lambda record: record.groups.get(TASK), context.failures)


def _percent(records: Sequence[Record]) -> float | None:
    mean = mean_of_means(group_scores(records, TASK))
    return None if mean is None else 100 * mean


def _task_mean(name: str, records: Sequence[Record], failures: FailurePolicy) -> Metric:
    value = _percent(apply_failure_policy(records, failures))
    if value is None:
        return Metric(name, None, 0, note="the questions name no task that could be scored")
    sums = sums_by_label(records, TASK, failures, cluster_samples(records))
    interval = interval_of_mean(list(sums.values()))
    return Metric(name, value, sum(group.total.n for group in sums.values()), interval)


def _by_label(records: Sequence[Record], column: str, failures: FailurePolicy) -> dict[str, Metric]:
    """The mean over the tasks of each label; a task counts under each of its skills."""
    labelled: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        text = record.groups.get(column, "")
        for label in text.split(SEPARATOR) if column == SKILL else (text,):
            labelled[label].append(record)
    labelled.pop("", None)
    means = {label: _task_mean(TASK_MEAN, labelled[label], failures) for label in sorted(labelled)}
    return {label: mean for label, mean in means.items() if mean.value is not None}


def _sentences(context: SummaryContext, scored: Sequence[Record], records: Sequence[Record]) -> Iterable[str]:
    by_metric: dict[str, list[str]] = defaultdict(list)
    for record in records:
        if (metric := record.groups.get(NOT_SCORED)) is not None:
            by_metric[metric].append(record.groups.get(TASK, ""))
    for metric, names in sorted(by_metric.items()):
        why = why_not_scored(metric)
        yield f"{_tasks(names)} not scored and left out: the metric {metric} {why}"
    judged = [record for record in scored if record.groups.get(SUBSET) == OPEN]
    if judged and not context.judges:
        names = [record.groups.get(TASK, "") for record in judged]
        yield f"{_tasks(names)} left out for lack of a judge: give one with --judge MODEL"


def _tasks(names: Sequence[str]) -> str:
    """`2 tasks (a, b) are`."""
    different = sorted(set(names))
    some = ", ".join(different[:_MOST_NAMES]) + (", ..." if len(different) > _MOST_NAMES else "")
    one = len(different) == 1
    return f"{len(different)} task{'' if one else 's'} ({some}) {'is' if one else 'are'}"
