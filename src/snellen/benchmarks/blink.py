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

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import msgspec

from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.questions import failures_of, question_benchmark
from snellen.benchmarks.protocol.flows import parse_yes_no_by_words
from snellen.benchmarks.protocol.parsers import ParserSet
from snellen.core.benchmark import Benchmark, Variant, requires
from snellen.core.headline import HeadlineSums
from snellen.core.record import Record
from snellen.core.summary import Metric, Summary
from snellen.extract.published.official import parse_blink
from snellen.scoring.accuracy import FailurePolicy, counted_score
from snellen.scoring.grouped import interval_of_mean, small_group_notice, sums_by_label
from snellen.scoring.headlines import mean_of_groups

VERSION = "3"
HEADLINE = "task_mean"
_TASK_COLUMNS = ("task", "category")
"""Columns that may name a question's task: the authors' and VLMEvalKit's."""
ALIASES = {"BLINK_circular": {"rotations": "file"}}
_HOME = "https://opencompass.openxlab.space/utils/VLMEval"
DATA = Published(
    {"rotations": ("none", "file")},
    {
        ("none",): published_tsv(f"{_HOME}/BLINK.tsv", "d5e8af148b10ac69f535ff7b23f3f989"),
        ("file",): published_tsv(f"{_HOME}/BLINK_circular.tsv", "f44c9f19afda14262cd1e0731bd01f9e"),
    },
)


def benchmark(variant: Variant) -> Benchmark:
    asked = question_benchmark(
        variant,
        name="blink",
        version=VERSION,
        title="BLINK, 14 tasks of visual perception",
        open=partial(DATA.table, variant),
        fetch=partial(DATA.fetch, variant),
        options=DATA.options,
        circular_default="early" if variant.options.get("rotations") == "file" else "off",
        requires=requires("text", "image", many_images=True),
        groups=(*_TASK_COLUMNS, "split"),
        official=ParserSet(parse_blink, parse_yes_no_by_words),
        paper="https://arxiv.org/abs/2404.12390",
        source="BLINK (Apache-2.0), as VLMEvalKit's TSV",
    )
    failures = failures_of(variant)
    return replace(
        asked,
        headline=HEADLINE,
        summarise=partial(summarise_blink, asked, failures),
        headline_sums=partial(_task_sums, failures),
        weighs_scores=True,
    )


def summarise_blink(
    benchmark: Benchmark, failures: FailurePolicy, records: Sequence[Record]
) -> Summary:
    """The plain mean of the tasks' accuracies beside the mean over questions. No headline where
    the questions name no task."""
    summary = benchmark.summarise(records)
    column = _task_column(records, failures)
    tasks = summary.groups.get(column, {})
    shares = [metric for metric in tasks.values() if metric.value is not None]
    notices = summary.notices
    if summary.headline.value is None:
        mean = msgspec.structs.replace(summary.headline, name=HEADLINE)
    elif not shares:
        mean = Metric(HEADLINE, None, summary.n, note="the questions name no task")
    else:
        value = sum(metric.value or 0.0 for metric in shares) / len(shares)
        found = sums_by_label(records, column, failures)
        mean = Metric(HEADLINE, value, summary.n, interval_of_mean(list(found.values())))
        notices = (*notices, *small_group_notice(found))
    return msgspec.structs.replace(
        summary, headline=mean, metrics={HEADLINE: mean, **summary.metrics}, notices=notices
    )


def _task_column(records: Sequence[Record], failures: FailurePolicy) -> str:
    """The column that names the task of questions that count; "" where none does."""
    counted = [one for one in records if counted_score(one, failures) is not None]
    return next((name for name in _TASK_COLUMNS if any(name in one.groups for one in counted)), "")


def _task_sums(failures: FailurePolicy, records: Sequence[Record]) -> HeadlineSums | None:
    column = _task_column(records, failures)
    return mean_of_groups(records, lambda one: one.groups.get(column), failures)
