"""BLINK: 14 visual tasks that people solve within a blink (Fu et al. 2024,
https://arxiv.org/abs/2404.12390).

One example row: index "val_Visual_Similarity_1", question "Given three similar but different
images, ...", A "the second image", B "the third image", answer "A", category "Visual_Similarity",
image <base64 of up to four pictures>.

Oddities: the authors average over the 14 tasks, which is the headline here; VLMEvalKit averages
over questions (`accuracy`). In the authors' files answers read "(A)" and a prediction counts only
if it equals that string: "(C) Point C" is wrong by their script (`--rule official`), not by ours.
`rotations=file` is VLMEvalKit's BLINK_circular, which holds every rotation as a row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.protocol.flows import parse_yes_no_by_words
from snellen.benchmarks.protocol.parsers import ParserSet
from snellen.benchmarks.protocol.summary_context import SummaryContext
from snellen.core.benchmark import Variant, requires
from snellen.core.headline import HeadlineSums
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import Metric, Summary
from snellen.extract.published.official import parse_blink
from snellen.scoring.accuracy import FailurePolicy, counted_score
from snellen.scoring.grouped import interval_of_mean, small_group_notice, sums_by_label
from snellen.scoring.headlines import mean_of_groups

HEADLINE = "task_mean"
_TASK_COLUMNS = ("task", "category")
"""Columns that may name a question's task: the authors' and VLMEvalKit's."""
_TASK_ID = re.compile(r"(?:val|test)_(.+)_\d+")
_HIDDEN = "hidden"
_HOME = "https://opencompass.openxlab.space/utils/VLMEval"


def summarise_blink(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The plain mean of the tasks' accuracies, with the mean over questions beside it. No
    headline if the questions name no task."""
    summary = context.plain(records)
    column = _task_column(records, context.failures)
    tasks = summary.groups.get(column, {})
    shares = [metric for metric in tasks.values() if metric.value is not None]
    notices = summary.notices
    if summary.headline.value is None:
        mean = msgspec.structs.replace(summary.headline, name=HEADLINE)
    elif not shares:
        mean = Metric(HEADLINE, None, summary.n, note="the questions name no task")
    else:
        value = sum(metric.value or 0.0 for metric in shares) / len(shares)
        sums = sums_by_label(records, column, context.failures)
        mean = Metric(HEADLINE, value, summary.n, interval_of_mean(list(sums.values())))
        notices = (*notices, *small_group_notice(sums))
    return msgspec.structs.replace(
        summary, headline=mean, metrics={HEADLINE: mean, **summary.metrics}, notices=notices
    )


def _task_column(records: Sequence[Record], failures: FailurePolicy) -> str:
    """The column that names the task of the questions that count; "" if none does."""
    counted = [record for record in records if counted_score(record, failures) is not None]
    return next(
        (name for name in _TASK_COLUMNS if any(name in record.groups for record in counted)), ""
    )


def _task_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    column = _task_column(records, context.failures)
    return mean_of_groups(records, lambda record: record.groups.get(column), context.failures)


def _adjust(sample: Sample, row: Row) -> Sample:
    """The authors' result files, one for each task, name the task in the id alone
    (`val_Art_Style_1`) and hold `hidden` in place of the answers of the test split."""
    if sample.gold == (_HIDDEN,):
        sample = structs.replace(sample, gold=())
    named = any(column in sample.groups for column in _TASK_COLUMNS)
    match = None if named else _TASK_ID.fullmatch(sample.id)
    if match is None:
        return sample
    return structs.replace(sample, groups={**sample.groups, _TASK_COLUMNS[0]: match[1]})


def _for_rotations(declaration: Declaration, variant: Variant) -> Declaration:
    """The file that holds every rotation is asked circularly."""
    if variant.options.get("rotations") != "file":
        return declaration
    scoring = replace(_SCORING, circular="early")
    return replace(declaration, scoring=scoring)


_SCORING = choices(official=ParserSet(parse_blink, parse_yes_no_by_words))

BENCHMARK = Declaration(
    name="blink",
    version="3",
    title="BLINK, 14 tasks of visual perception",
    paper="https://arxiv.org/abs/2404.12390",
    provenance="BLINK (Apache-2.0), as VLMEvalKit's TSV",
    data=Published(
        {"rotations": ("none", "file")},
        {
            ("none",): published_tsv(f"{_HOME}/BLINK.tsv", "d5e8af148b10ac69f535ff7b23f3f989"),
            ("file",): published_tsv(
                f"{_HOME}/BLINK_circular.tsv", "f44c9f19afda14262cd1e0731bd01f9e"
            ),
        },
    ),
    aliases={"BLINK_circular": {"rotations": "file"}},
    group_by=(*_TASK_COLUMNS, "split"),
    adjust=_adjust,
    requires=requires("text", "image"),
    headline=Headline(
        name=HEADLINE, summarise=summarise_blink, sums=_task_sums, weighs_scores=True
    ),
    scoring=_SCORING,
    for_variant=_for_rotations,
)
