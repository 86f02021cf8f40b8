"""Multiple-choice questions about videos: options, gold and unit of a sample, means over tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Headline
from snellen.benchmarks.declaration.inline_options import strip_label
from snellen.benchmarks.declaration.videos import VIDEO_NAMES
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.scoring.accuracy import counted_score
from snellen.scoring.grouped import bounds_of, interval_of_mean, small_group_notice, sums_by_label
from snellen.scoring.headlines import mean_of_groups, plain_mean, sums_of_subset

MAX_NEW_TOKENS = 128
Weights = Callable[[Sequence[str]], Mapping[str, float]]
"""The labels that have a score, to what each weighs in the mean."""
_Sums = Callable[[SummaryContext, Sequence[Record]], HeadlineSums | None]


def group_mean(name: str, *columns: str, weights: Weights | None = None) -> Headline:
    """The mean over the labels of a column, each of which weighs the same unless `weights` says
    otherwise: of the first of `columns` that a question which counts has."""
    sums = partial(_group_sums, columns, weights)
    return Headline(
        name=name,
        summarise=partial(_summarise_group_mean, name, columns, weights, sums),
        sums=sums,
        weighs_scores=True,
        in_circular=False,
    )


def add_group_mean(
    name: str, column: str, context: SummaryContext, records: Sequence[Record], *, labels: int = 0
) -> Summary:
    """The plain summary with the mean of the labels' accuracies beside it; with `labels` only if so
    many have one."""
    summary = context.plain(records)
    values = [cell.value for cell in summary.groups.get(column, {}).values() if cell.value is not None]
    is_complete = len(values) == labels if labels else bool(values)
    if summary.headline.value is None or not is_complete:
        return summary
    interval = interval_of_mean(list(sums_by_label(records, column, context.failures).values()))
    mean = Metric(name, sum(values) / len(values), summary.n, interval)
    return structs.replace(summary, metrics={**summary.metrics, name: mean}, beside=(name, *summary.beside))


def nested_weights(outer: Callable[[str], str], labels: Sequence[str], total: float = 1.0) -> dict[str, float]:
    """Weights of groups of groups: each of the `outer` groups that the labels belong to weighs the
    same, and in it each label. They add up to `total`."""
    groups = [outer(label) for label in labels]
    return {label: total / len(set(groups)) / groups.count(group) for label, group in zip(labels, groups, strict=True)}


def _summarise_group_mean(
    name: str,
    columns: Sequence[str],
    weights: Weights | None,
    group_sums: _Sums,
    context: SummaryContext,
    records: Sequence[Record],
) -> Summary:
    """The mean of the labels' accuracies beside the mean over questions. No headline if the
    questions name no label."""
    summary = context.plain(records)
    column = next((one for one in columns if one in summary.groups), columns[0])
    metrics = {label: metric for label, metric in summary.groups.get(column, {}).items() if metric.value is not None}
    notices, bounds = summary.notices, summary.bounds
    if summary.headline.value is None:
        mean = structs.replace(summary.headline, name=name)
    elif not metrics:
        mean = Metric(name, None, summary.n, note=f"the questions name no {column}")
    else:
        shares = weights(list(metrics)) if weights else nested_weights(str, list(metrics))
        value = sum((metric.value or 0.0) * shares[label] for label, metric in metrics.items())
        sums = sums_by_label(records, column, context.failures)
        sums = {label: sums[label] for label in metrics}
        interval = interval_of_mean(list(sums.values()), list(shares.values()) if weights else None)
        notices = (*notices, *small_group_notice(sums, shares if weights else None))
        mean = Metric(name, value, sum(metric.n for metric in metrics.values()), interval)
        bounds = bounds_of(records, lambda some: _value(group_sums(context, some)))
    return structs.replace(
        summary, headline=mean, metrics={name: mean, **summary.metrics}, bounds=bounds, notices=notices
    )


def _group_sums(
    columns: Sequence[str], weights: Weights | None, context: SummaryContext, records: Sequence[Record]
) -> HeadlineSums | None:
    counted = [one for one in records if counted_score(one, context.failures) is not None]
    used = (name for name in columns if any(name in one.groups for one in counted))
    column = next(used, columns[0])

    def percent(labels: Sequence[str]) -> Mapping[str, float] | None:
        return {label: 100 * share for label, share in weights(labels).items()} if weights else None

    return mean_of_groups(records, lambda record: record.groups.get(column), context.failures, percent)


def _value(sums: HeadlineSums | None) -> float | None:
    return None if sums is None else sums.of_all()


def summarise_answered(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The plain summary of the replies that the authors' script can parse, with a notice of how
    many it cannot."""
    parsed = [record for record in records if _counts_by_script(record)]
    summary = context.plain(parsed)
    unparsed = len(records) - len(parsed)
    if not unparsed:
        return summary
    plural = "reply" if unparsed == 1 else "replies"
    notice = f"{unparsed} {plural} without a letter left out, as the authors' script does"
    return structs.replace(summary, notices=(*summary.notices, notice))


def answered_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """The mean over the replies that the authors' script can parse, as a function of sums."""
    return sums_of_subset(_counts_by_script, partial(plain_mean, context.failures))(records)


def _counts_by_script(record: Record) -> bool:
    return record.score is None or record.outcome == "answered"


def adjust_choice(sample: Sample, row: Row) -> Sample:
    """The sample without the labels that stand in the texts of its options, and its video as its
    unit."""
    bare = {label: strip_label(text, label) for label, text in sample.options.items()}
    return structs.replace(sample, options=bare, unit=video_name(row))


def video_name(row: Row) -> str:
    """What tells the video of a row from others."""
    names = ("video_path", "video", *VIDEO_NAMES)
    return next((row.cells[name] for name in names if row.cells.get(name)), "")
