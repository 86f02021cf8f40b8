"""Multiple-choice benchmarks about videos: where the videos lie, options, means of tasks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.inline_options import label_of, strip_label
from snellen.benchmarks.declaration.published import Published
from snellen.benchmarks.declaration.questions import failures_of, question_benchmark
from snellen.benchmarks.declaration.videos import split_video_options, with_video
from snellen.benchmarks.protocol.parsers import OFFICIAL, PARSERS, VLMEVALKIT, ParserSet
from snellen.core.benchmark import Benchmark, Table, Variant
from snellen.core.headline import HeadlineSums
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import Metric, Summary
from snellen.data.columns import option_letters, parse_list
from snellen.data.tables.open_table import IndexedTable, open_table
from snellen.prompts.choice import PromptTemplate
from snellen.scoring.accuracy import FailurePolicy
from snellen.scoring.grouped import interval_of_mean, small_group_notice, sums_by_label
from snellen.scoring.headlines import mean_of_groups, plain_mean, sums_of_subset
from snellen.settings import Settings

VIDEO_NAMES = ("videoid", "video_id", "video_name", "videopath")
"""Columns that name a video in the published files, where none is called `video`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoDeclaration:
    """What one benchmark says about itself."""

    name: str
    version: str
    title: str
    data: Published
    template: PromptTemplate
    groups: tuple[str, ...]
    paper: str
    source: str
    official: ParserSet | None = None
    answered_only: bool = False
    """Whether the authors' number is of the replies that their rule can read."""
    vlmevalkit: ParserSet | None = PARSERS[VLMEVALKIT]
    headline: str | None = None
    """Name of the mean over the labels of `mean_distances`; without it the mean over questions."""
    mean_of: str = ""
    counted_labels: Collection[str] = ()
    """Labels that count in the mean; all where none is named."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """How videos are shown where the variant does not say."""
    keep: Callable[[Row], bool] | None = None
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)


def video_benchmark(variant: Variant, declaration: VideoDeclaration) -> Benchmark:
    """A benchmark of questions about videos, answered by an option. Raises UsageError.

    Questions about one video are one unit of the interval.
    """
    plain_variant, video = split_video_options(variant, declaration.defaults)
    benchmark = question_benchmark(
        plain_variant,
        name=declaration.name,
        version=declaration.version,
        title=declaration.title,
        open=partial(video_table, plain_variant, declaration.data, declaration.name),
        fetch=partial(declaration.data.fetch, plain_variant),
        keep=declaration.keep,
        options={**declaration.data.options, **declaration.options},
        groups=declaration.groups,
        kind="choice",
        adjust=adjust_choice,
        template=declaration.template,
        official=declaration.official,
        vlmevalkit=declaration.vlmevalkit,
        paper=declaration.paper,
        source=declaration.source,
        max_new_tokens=128,
    )
    if declaration.headline is not None and benchmark.headline == "accuracy":
        benchmark = replace(
            benchmark,
            headline=declaration.headline,
            summarise=partial(
                mean_over_groups,
                benchmark,
                declaration.headline,
                declaration.mean_of,
                declaration.counted_labels,
                failures_of(variant),
            ),
            headline_sums=partial(
                _group_sums, declaration.mean_of, declaration.counted_labels, failures_of(variant)
            ),
            weighs_scores=True,
        )
    if declaration.answered_only and variant.rule == OFFICIAL:
        sums = benchmark.headline_sums or partial(plain_mean, failures_of(variant))
        benchmark = replace(
            benchmark,
            summarise=partial(_summarise_answered, benchmark),
            headline_sums=sums_of_subset(_counts_by_script, sums),
            weighs_scores=False,
        )
    return with_video(benchmark, video, declaration.defaults)


def _summarise_answered(benchmark: Benchmark, records: Sequence[Record]) -> Summary:
    """The summary of the replies that were read, with a notice of how many were not."""
    read = [one for one in records if _counts_by_script(one)]
    summary = benchmark.summarise(read)
    unread = len(records) - len(read)
    if not unread:
        return summary
    plural = "reply" if unread == 1 else "replies"
    notice = f"{unread} {plural} without a letter left out, as the authors' script does"
    return structs.replace(summary, notices=(*summary.notices, notice))


def _counts_by_script(record: Record) -> bool:
    return record.score is None or record.outcome == "answered"


def video_table(variant: Variant, data: Published, name: str) -> Table:
    """The rows with their videos: looked for beside the file, and in `videos/<name>` of the cache,
    where archives that were fetched by hand are unpacked."""
    return find_videos(data.table(variant), variant, name)


def find_videos(table: Table, variant: Variant, name: str) -> Table:
    """The same rows, whose videos are also looked for in the cache."""
    if not isinstance(table, IndexedTable):
        return table
    video_column = next((one for one in VIDEO_NAMES if one in table.columns), None)
    if video_column and not {"video", "video_path"} & set(table.columns):
        reopened = open_table(table.path, columns={**variant.columns, "video": video_column})
        if isinstance(reopened, IndexedTable):
            table = replace(reopened, origin=table.origin)
    home = str(Settings.from_environment().cache / "videos" / name)
    return replace(table, media_folders=table.media_folders.with_folder(home))


def adjust_choice(sample: Sample, row: Row) -> Sample:
    """The sample with the options of its list `candidates` (or letters), without the labels that
    stand in their texts, its gold as a label, and its video as its unit."""
    listed = parse_list(row.cells.get("candidates", ""))
    options = dict(sample.options)
    if listed and not options:
        letters = option_letters(len(listed)) or ""
        options = dict(zip(letters, map(str, listed), strict=False))
    bare = {label: strip_label(text, label) for label, text in options.items()}
    return structs.replace(
        sample,
        options=bare,
        gold=tuple(_gold_label(gold, options) for gold in sample.gold),
        unit=video_name(row),
    )


def video_name(row: Row) -> str:
    """What tells the video of a row from others."""
    names = ("video_path", "video", *VIDEO_NAMES)
    return next((row.cells[name] for name in names if row.cells.get(name)), "")


def mean_over_groups(
    benchmark: Benchmark,
    headline: str,
    column: str,
    counted_labels: Collection[str],
    failures: FailurePolicy,
    records: Sequence[Record],
) -> Summary:
    """The plain mean of the labels' accuracies (each label weighs the same) beside the mean over
    questions. No headline where the questions name no label."""
    summary = benchmark.summarise(records)
    labels = summary.groups.get(column, {})
    metrics_by_label = {
        label: metric
        for label, metric in labels.items()
        if metric.value is not None and (not counted_labels or label.lower() in counted_labels)
    }
    notices = summary.notices
    if summary.headline.value is None:
        mean = msgspec.structs.replace(summary.headline, name=headline)
    elif not metrics_by_label:
        mean = Metric(headline, None, summary.n, note=f"the questions name no {column}")
    else:
        value = sum(metric.value or 0.0 for metric in metrics_by_label.values()) / len(
            metrics_by_label
        )
        label_sums = sums_by_label(records, column, failures)
        interval = interval_of_mean([label_sums[label] for label in metrics_by_label])
        notices = (
            *notices,
            *small_group_notice({label: label_sums[label] for label in metrics_by_label}),
        )
        mean = Metric(
            headline, value, sum(metric.n for metric in metrics_by_label.values()), interval
        )
    metrics = {headline: mean, **summary.metrics}
    return msgspec.structs.replace(summary, headline=mean, metrics=metrics, notices=notices)


def _group_sums(
    column: str, counted_labels: Collection[str], failures: FailurePolicy, records: Sequence[Record]
) -> HeadlineSums | None:
    def label(record: Record) -> str | None:
        name = record.groups.get(column)
        return (
            name
            if name is not None and (not counted_labels or name.lower() in counted_labels)
            else None
        )

    return mean_of_groups(records, label, failures)


def _gold_label(gold: str, options: Mapping[str, str]) -> str:
    """A gold may be a label, a dressed option ("(A) red"), or an option's text."""
    text = gold.strip()
    label = label_of(text)
    if label in options:
        return str(label)
    found = [key for key, option in options.items() if option.strip() == text]
    return found[0] if len(found) == 1 else gold
