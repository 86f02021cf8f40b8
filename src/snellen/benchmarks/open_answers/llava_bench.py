"""LLaVA-Bench (In-the-Wild): open questions beside a reference (Liu et al. 2023,
https://arxiv.org/abs/2304.08485).

One example row: index 0, question "What is the name of this famous sight in the photo?", caption
"An aerial view of Diamond Head ...", gpt4_ans "Diamond Head", category "conv", image <base64>.

Oddities: 60 questions about 24 pictures in three categories (conv, detail, complex; the authors'
files write llava_bench_conv). The judge sees no picture but the caption, and scores two answers:
the stored one of GPT-4, which saw the caption, and the model's. The rubric is the authors'; they
ask with a temperature of 0.2, which is 0 here.

The number is the mean score of the model over that of the reference, times 100: it may pass 100.
A judge answers with two numbers in its first line; others leave the sample ungraded, where the
authors' script and VLMEvalKit put -1 for both into the means. The order is never swapped, as the
authors have it. There is no score without a judge; VLMEvalKit's file of results has the two scores
in columns of their own (`--judge column:gpt4_score+score`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import structs
from msgspec.structs import replace

from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options
from snellen.benchmarks.declaration.judged import Judged, first_cell, plain_messages
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import build_sample
from snellen.benchmarks.protocol.judged_flows import ask_model, build_record, ungraded_record
from snellen.benchmarks.protocol.judging import JudgePanel, ask_judges, judge_values
from snellen.core.output import Generated, ParsedAnswer
from snellen.core.record import Flow, Pass, Record
from snellen.core.request import Generation, Ref
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.extract.unanswered import model_text, non_answer
from snellen.extract.verdicts import parse_pair
from snellen.scoring.accuracy import cluster_samples
from snellen.scoring.headlines import RatioTerm, sum_of_ratios
from snellen.stats.linearised import unbounded_interval_of_sums

RUBRIC = "llava-bench"
CATEGORY = "category"
CAPTION = "caption"
RELATIVE = "relative"
MODEL, REFERENCE = "model_score", "reference_score"
"""Values: the two scores of the judge over 10."""
_TOP = 10.0
_PREFIX = "llava_bench_"


def _sample(row: Row, options: Options) -> Sample:
    """The reference is its gold, the caption its hint."""
    reference = first_cell(row.cells, "gpt4_ans", "reference", "gpt_answer", "answer")
    category = first_cell(row.cells, CATEGORY).strip().removeprefix(_PREFIX)
    return build_sample(row, gold=reference, hint=first_cell(row.cells, CAPTION), groups={CATEGORY: category})


def _flow(settings: Generation, panel: JudgePanel, options: Mapping[str, str]) -> Callable[[Sample], Flow]:
    """Ask, then have judges score the model's reply and the reference out of 10 each."""
    read = partial(parse_pair, names=(REFERENCE, MODEL), low=0.0, high=_TOP)

    def flow(sample: Sample) -> Flow:
        # The caption is for the judge's eyes alone.
        messages = plain_messages(replace(sample, hint=""))
        output = yield from ask_model(sample, messages, settings)
        if not isinstance(output, Generated):
            return build_record(sample, (Pass(messages, output, gold=sample.gold),))
        reply_text = model_text(output)
        fields = {
            "caption": sample.hint,
            "question": sample.question,
            "reference": sample.gold[0] if sample.gold else "",
            "reply": reply_text,
        }
        verdicts = yield from ask_judges(panel, RUBRIC, fields, read, Ref(sample.id), about=reply_text)
        no_answer = non_answer(output)
        answer = no_answer or ParsedAnswer(reply_text.strip(), "whole reply")
        result = Pass(messages, output, answer, sample.gold, verdicts=verdicts.verdicts)
        model, reference = verdicts.grade(MODEL), verdicts.grade(REFERENCE)
        if model is None or reference is None or verdicts.failure is not None:
            return ungraded_record(sample, (result,), verdicts)
        values = {MODEL: model / _TOP, REFERENCE: reference / _TOP}
        values |= dict(judge_values(verdicts, lambda grade: grade / _TOP, MODEL))
        return build_record(sample, (result,), score=model / _TOP, values=values)

    return flow


def summarise_relative(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The relative score over all and per category, in place of the model's own mean."""
    summary = context.plain(records)
    if not context.judges:
        return summary
    headline = _relative_metric(records, summary.headline)
    labels = {
        label: _relative_metric([record for record in records if record.groups.get(CATEGORY) == label], metric)
        for label, metric in summary.groups.get(CATEGORY, {}).items()
    }
    return structs.replace(
        summary,
        headline=headline,
        metrics={**summary.metrics, RELATIVE: headline},
        groups={**summary.groups, **({CATEGORY: labels} if labels else {})},
        bounds=None,
        beside=(MODEL, REFERENCE, *summary.beside),
    )


def _relative_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    return _score_ratio(records)


def _score_ratio(records: Sequence[Record]) -> HeadlineSums | None:
    """100 times the model's scores over those of the reference."""
    added = [
        [RatioTerm(RELATIVE, record.values[MODEL], record.values[REFERENCE])]
        if record.score is not None and REFERENCE in record.values
        else []
        for record in records
    ]
    return sum_of_ratios(added)


def _relative_metric(records: Sequence[Record], plain: Metric) -> Metric:
    """100 times the ratio of the mean scores; questions about one image are resampled together.
    A withheld headline stays withheld."""
    sums = _score_ratio(records)
    if plain.value is None or sums is None or not sums.rows[:, 1].any():
        return plain
    value = sums.of_all()
    spread = unbounded_interval_of_sums(sums.rows, sums.value, cluster_samples(records))
    n = int(sums.rows.any(axis=1).sum())
    return Metric(RELATIVE, value, n, spread, unit="points", top=max(100.0, value))


BENCHMARK = Declaration(
    name="llava-bench",
    version="4",
    title="LLaVA-Bench (In-the-Wild), answers beside a reference",
    paper="https://arxiv.org/abs/2304.08485",
    provenance="LLaVA-Bench (Apache-2.0), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/LLaVABench.tsv", "d382a093f749a697820d3dadd61c8428"
    ),
    aliases={"LLaVABench": {}, "llava_in_the_wild": {}, "llava_bench_in_the_wild": {}},
    sample=_sample,
    max_new_tokens=1024,
    scoring=Judged(flow=_flow, rubrics=(RUBRIC,), must_judge=True, max_judge_tokens=1024),
    headline=Headline(name=RELATIVE, summarise=summarise_relative, sums=_relative_sums),
)
