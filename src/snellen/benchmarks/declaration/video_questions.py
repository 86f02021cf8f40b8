"""Multiple-choice benchmarks about videos: where the videos lie, options, means of tasks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.inline_options import label_of, undressed
from snellen.benchmarks.declaration.published import Published
from snellen.benchmarks.declaration.questions import failures_of, question_benchmark
from snellen.benchmarks.declaration.videos import watching_of, with_video
from snellen.benchmarks.protocol.parsers import OFFICIAL, READERS, VLMEVALKIT, Readers
from snellen.core.benchmark import Benchmark, Table, Variant
from snellen.core.headline import HeadlineSums
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import Metric, Summary
from snellen.data.columns import option_letters, parse_list
from snellen.data.tables.open_table import IndexedTable, open_table
from snellen.prompts.choice import Wording
from snellen.scoring.accuracy import FailurePolicy
from snellen.scoring.grouped import interval_of_mean, tallies, tiny_group
from snellen.scoring.headlines import mean_of_groups, of_kept, plain_mean
from snellen.settings import Settings

VIDEO_NAMES = ("videoid", "video_id", "video_name", "videopath")
"""Columns that name a video in the published files, where none is called `video`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoQuestions:
    """What one benchmark says about itself."""

    name: str
    version: str
    title: str
    data: Published
    wording: Wording
    groups: tuple[str, ...]
    paper: str
    source: str
    official: Readers | None = None
    of_answered: bool = False
    """Whether the authors' number is of the replies that their rule can read."""
    vlmevalkit: Readers | None = READERS[VLMEVALKIT]
    headline: str | None = None
    """Name of the mean over the labels of `mean_of`; without it the mean over questions."""
    mean_of: str = ""
    only: Collection[str] = ()
    """Labels that count in the mean; all where none is named."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """How videos are shown where the variant does not say."""
    keep: Callable[[Row], bool] | None = None
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)


def video_benchmark(variant: Variant, told: VideoQuestions) -> Benchmark:
    """A benchmark of questions about videos, answered by an option. Raises UsageError.

    Questions about one video are one unit of the interval.
    """
    rest, watching = watching_of(variant, told.defaults)
    asked = question_benchmark(
        rest,
        name=told.name,
        version=told.version,
        title=told.title,
        open=partial(video_table, rest, told.data, told.name),
        fetch=partial(told.data.fetch, rest),
        keep=told.keep,
        options={**told.data.options, **told.options},
        groups=told.groups,
        kind="choice",
        shape=choice_sample,
        wording=told.wording,
        official=told.official,
        vlmevalkit=told.vlmevalkit,
        paper=told.paper,
        source=told.source,
        max_new_tokens=128,
    )
    if told.headline is not None and asked.headline == "accuracy":
        asked = replace(
            asked,
            headline=told.headline,
            summarise=partial(
                mean_over_groups,
                asked,
                told.headline,
                told.mean_of,
                told.only,
                failures_of(variant),
            ),
            headline_sums=partial(_sums, told.mean_of, told.only, failures_of(variant)),
            weighs_scores=True,
        )
    if told.of_answered and variant.rule == OFFICIAL:
        sums = asked.headline_sums or partial(plain_mean, failures_of(variant))
        asked = replace(
            asked,
            summarise=partial(_of_answered, asked),
            headline_sums=of_kept(_counts_by_script, sums),
            weighs_scores=False,
        )
    return with_video(asked, watching, told.defaults)


def _of_answered(asked: Benchmark, records: Sequence[Record]) -> Summary:
    """The summary of the replies that were read, with a notice of how many were not."""
    read = [one for one in records if _counts_by_script(one)]
    summary = asked.summarise(read)
    left = len(records) - len(read)
    if not left:
        return summary
    plural = "reply" if left == 1 else "replies"
    notice = f"{left} {plural} without a letter left out, as the authors' script does"
    return structs.replace(summary, notices=(*summary.notices, notice))


def _counts_by_script(record: Record) -> bool:
    return record.score is None or record.outcome == "answered"


def video_table(variant: Variant, data: Published, name: str) -> Table:
    """The rows with their videos: looked for beside the file, and in `videos/<name>` of the cache,
    where archives that were fetched by hand are unpacked."""
    return with_videos(data.table(variant), variant, name)


def with_videos(table: Table, variant: Variant, name: str) -> Table:
    """The same rows, whose videos are also looked for in the cache."""
    if not isinstance(table, IndexedTable):
        return table
    named = next((one for one in VIDEO_NAMES if one in table.columns), None)
    if named and not {"video", "video_path"} & set(table.columns):
        opened = open_table(table.path, columns={**variant.columns, "video": named})
        if isinstance(opened, IndexedTable):
            table = replace(opened, origin=table.origin)
    home = str(Settings.from_environment().cache / "videos" / name)
    return replace(table, media_folders=table.media_folders.also(home))


def choice_sample(sample: Sample, row: Row) -> Sample:
    """The sample with the options of its list `candidates` (or letters), without the labels that
    stand in their texts, its gold as a label, and its video as its unit."""
    listed = parse_list(row.cells.get("candidates", ""))
    options = dict(sample.options)
    if listed and not options:
        letters = option_letters(len(listed)) or ""
        options = dict(zip(letters, map(str, listed), strict=False))
    bare = {label: undressed(text, label) for label, text in options.items()}
    return structs.replace(
        sample,
        options=bare,
        gold=tuple(_gold(gold, options) for gold in sample.gold),
        unit=video_of(row),
    )


def video_of(row: Row) -> str:
    """What tells the video of a row from others."""
    names = ("video_path", "video", *VIDEO_NAMES)
    return next((row.cells[name] for name in names if row.cells.get(name)), "")


def mean_over_groups(
    asked: Benchmark,
    headline: str,
    column: str,
    only: Collection[str],
    failures: FailurePolicy,
    records: Sequence[Record],
) -> Summary:
    """The plain mean of the labels' accuracies (each label weighs the same) beside the mean over
    questions. No headline where the questions name no label."""
    summary = asked.summarise(records)
    labels = summary.groups.get(column, {})
    shares = {
        label: metric
        for label, metric in labels.items()
        if metric.value is not None and (not only or label.lower() in only)
    }
    notices = summary.notices
    if summary.headline.value is None:
        mean = msgspec.structs.replace(summary.headline, name=headline)
    elif not shares:
        mean = Metric(headline, None, summary.n, note=f"the questions name no {column}")
    else:
        value = sum(metric.value or 0.0 for metric in shares.values()) / len(shares)
        found = tallies(records, column, failures)
        interval = interval_of_mean([found[label] for label in shares])
        notices = (*notices, *tiny_group({label: found[label] for label in shares}))
        mean = Metric(headline, value, sum(metric.n for metric in shares.values()), interval)
    metrics = {headline: mean, **summary.metrics}
    return msgspec.structs.replace(summary, headline=mean, metrics=metrics, notices=notices)


def _sums(
    column: str, only: Collection[str], failures: FailurePolicy, records: Sequence[Record]
) -> HeadlineSums | None:
    def label(record: Record) -> str | None:
        name = record.groups.get(column)
        return name if name is not None and (not only or name.lower() in only) else None

    return mean_of_groups(records, label, failures)


def _gold(gold: str, options: Mapping[str, str]) -> str:
    """A gold may be a label, a dressed option ("(A) red"), or an option's text."""
    text = gold.strip()
    label = label_of(text)
    if label in options:
        return str(label)
    found = [key for key, option in options.items() if option.strip() == text]
    return found[0] if len(found) == 1 else gold
