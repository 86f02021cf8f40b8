"""MTVQA: text in pictures in nine languages (Tang et al. 2024, https://arxiv.org/abs/2405.11985).

A row of this form (made up): index 0, question "Какой номер телефона указан?", answer "8-800-555",
category "RU", split "test", image <base64>.

Oddities: several questions to a picture; the languages differ in size. The headline is the mean
over questions, as VLMEvalKit's; the authors' script prints the mean of the languages' means
(`mean_of_languages`).

The gold, lower-cased and without dots, must stand in the reply, so that one that lists all that is
in the picture is right. lmms-eval and VLMEvalKit do the same. The authors' script removes the dots
of the reply alone and never finds a gold that has one (`--rule official`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.open_questions import (
    on_golds,
    open_question_benchmark,
    open_rules,
    whole_reply,
)
from snellen.benchmarks.declaration.published import Published, tsv
from snellen.benchmarks.declaration.questions import failures_of
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.record import Record
from snellen.core.summary import Metric, Summary
from snellen.prompts.choice import Wording
from snellen.scoring.accuracy import FailurePolicy
from snellen.scoring.exact import contained, contained_authors
from snellen.scoring.grouped import interval_of_mean, tallies

VERSION = "3"
ALIASES: dict[str, dict[str, str]] = {"MTVQA_TEST": {}}
DATA = Published(
    {},
    {
        (): tsv(
            "https://opencompass.openxlab.space/utils/VLMEval/MTVQA_TEST.tsv",
            "d87c17dbab934b7cd89c0a3c1c5657f4",
        )
    },
)
WORDING = Wording(
    open="Answer the question using a word or phrase in the language of the question."
)


LANGUAGE = "category"
MEAN = "mean_of_languages"


def benchmark(variant: Variant) -> Benchmark:
    made = open_question_benchmark(
        variant,
        name="mtvqa",
        version=VERSION,
        title="MTVQA, text in pictures in nine languages",
        metric="accuracy",
        data=DATA,
        rules=open_rules(
            on_golds(contained), official=on_golds(contained_authors), read=whole_reply
        ),
        wording=WORDING,
        paper="https://arxiv.org/abs/2405.11985",
        source="MTVQA test set (CC BY-NC 4.0), as VLMEvalKit's TSV",
    )
    return replace(made, summarise=partial(_summarise, made, failures_of(variant)))


def _summarise(made: Benchmark, failures: FailurePolicy, records: Sequence[Record]) -> Summary:
    """The mean of the languages' means beside the mean over questions."""
    summary = made.summarise(records)
    found = tallies(records, LANGUAGE, failures)
    values = [one.value for one in summary.groups.get(LANGUAGE, {}).values()]
    known = [value for value in values if value is not None]
    if summary.headline.value is None or not known:
        return summary
    interval = interval_of_mean(list(found.values()))
    mean = Metric(MEAN, sum(known) / len(known), summary.n, interval)
    return structs.replace(
        summary, metrics={**summary.metrics, MEAN: mean}, beside=(MEAN, *summary.beside)
    )
