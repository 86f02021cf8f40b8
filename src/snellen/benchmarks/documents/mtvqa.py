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

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.open_questions import against_gold, open_answers, open_rules, parse_whole_reply
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.video_questions import group_mean
from snellen.benchmarks.protocol.parsers import OFFICIAL
from snellen.benchmarks.protocol.summary_context import SummaryContext
from snellen.core.record import Record
from snellen.core.summary import Metric, Summary
from snellen.prompts.choice import PromptTemplate
from snellen.scoring.exact import contains_gold, contains_gold_authors
from snellen.scoring.grouped import interval_of_mean, sums_by_label

TEMPLATE = PromptTemplate(open="Answer the question using a word or phrase in the language of the question.")


LANGUAGE = "category"
MEAN_OF_LANGUAGES = "mean_of_languages"


def _summarise(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The mean of the languages' means beside the mean over questions."""
    summary = context.plain(records)
    sums = sums_by_label(records, LANGUAGE, context.failures)
    values = [metric.value for metric in summary.groups.get(LANGUAGE, {}).values()]
    means = [value for value in values if value is not None]
    if summary.headline.value is None or not means:
        return summary
    interval = interval_of_mean(list(sums.values()))
    mean = Metric(MEAN_OF_LANGUAGES, sum(means) / len(means), summary.n, interval)
    return structs.replace(
        summary, metrics={**summary.metrics, MEAN_OF_LANGUAGES: mean}, beside=(MEAN_OF_LANGUAGES, *summary.beside)
    )


BENCHMARK = Declaration(
    name="mtvqa",
    version="3",
    title="MTVQA, text in pictures in nine languages",
    paper="https://arxiv.org/abs/2405.11985",
    provenance="MTVQA test set (CC BY-NC 4.0), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/MTVQA_TEST.tsv", "d87c17dbab934b7cd89c0a3c1c5657f4"
    ),
    aliases={"MTVQA_TEST": {}},
    template=TEMPLATE,
    scoring=open_answers(
        "accuracy",
        open_rules(against_gold(contains_gold), official=against_gold(contains_gold_authors), parse=parse_whole_reply),
    ),
    headline=Headline(summarise=_summarise),
    rule_headlines={OFFICIAL: group_mean(MEAN_OF_LANGUAGES, LANGUAGE)},
)
