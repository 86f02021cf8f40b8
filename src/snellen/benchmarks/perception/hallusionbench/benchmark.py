"""HallusionBench: yes/no questions about figures and changed figures (Guan et al. 2023,
https://arxiv.org/abs/2310.14566).

One example row: index "0_VD_illusion_0_1_0", question "Is the right orange circle larger than the
left orange circle?", answer "No", category "VD", l2-category "illusion", image <base64>.

Oddities: the id holds set, figure and question: its fields 3, 4 and 5, counted from 0. aAcc is the
share of right answers; fAcc that of figures all of whose questions are right; qAcc that of
questions that are right about every figure. The headline is the mean of the three, as OpenVLM's
table has it. VLMEvalKit's file has the 951 questions with a figure; the authors' has 1129, of which
those without a figure belong to other groups, so that the numbers of the two files differ. The
authors let GPT-4 judge replies, which `--rule official` does with any judge (see
`judge.py`); otherwise the reply must say yes or no.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, ResolvedVariant
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.perception.hallusionbench.judge import JUDGE_TOKENS, RUBRIC, add_details, judge_flow
from snellen.benchmarks.perception.hallusionbench.scores import FigureKey, figure_of, hallusion_scores, question_of
from snellen.benchmarks.protocol.judged_summary import JUDGE_MISSING
from snellen.benchmarks.protocol.judging import judge_parameters, panel_of
from snellen.benchmarks.protocol.parsers import PARSERS, rules_of
from snellen.benchmarks.protocol.summary_context import SummaryContext
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.headline import HeadlineSums
from snellen.core.record import Record
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.core.summary import Metric, Summary
from snellen.prompts.choice import PromptTemplate
from snellen.scoring.accuracy import mean_metric
from snellen.scoring.grouped import all_right, apply_failure_policy, bounds_of
from snellen.scoring.headlines import RatioTerm, headline_interval, sum_of_ratios, unit_terms

HEADLINE = "mean_of_three"
_RATES = ("aAcc", "fAcc", "qAcc")
_URL = "https://opencompass.openxlab.space/utils/VLMEval/HallusionBench.tsv"
_OFFICIAL = "official"
_TEMPLATE = PromptTemplate(yes_no="")
_ID_COLUMNS = ("set_id", "figure_id", "question_id")


def _adjust(sample: Sample, row: Row) -> Sample:
    """The unit is the place `kind/set/figure/question`."""
    cells = row.cells
    kind = cells.get("l2-category") or cells.get("subcategory", "")
    if all(name in cells for name in _ID_COLUMNS):
        fields = [cells[name] for name in _ID_COLUMNS]
        kind = f"{cells.get('category', '')}-{kind}"
    else:
        fields = sample.id.split("_")[3:6]
    figure_key = "/".join((kind, *fields)) if len(fields) == len(_ID_COLUMNS) else f"?/{sample.id}/0/0"
    return structs.replace(sample, unit=figure_key)


def _summarise(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The mean of three accuracies: over questions (aAcc), figures (fAcc) and questions asked of
    several figures (qAcc)."""
    summary = context.plain(records)
    counted = apply_failure_policy(records, context.failures)
    rates = hallusion_scores(counted, _figure_key)
    if summary.headline.value is None or rates is None:
        mean = Metric(HEADLINE, None, summary.n, note=summary.headline.note)
        return msgspec.structs.replace(summary, headline=mean)
    parts = {
        "aAcc": Metric("aAcc", rates.answers, summary.n, summary.headline.interval),
        "fAcc": _unit_metric("fAcc", counted, figure_of),
        "qAcc": _unit_metric("qAcc", counted, question_of),
    }
    interval = headline_interval(_rate_sums(context, records), records)
    mean = Metric(HEADLINE, rates.mean, summary.n, interval)
    return msgspec.structs.replace(
        summary,
        headline=mean,
        metrics={HEADLINE: mean, **parts, **summary.metrics},
        bounds=bounds_of(records, _mean_of_rates),
        beside=(*parts, *summary.beside),
    )


def _unit_metric(name: str, records: Sequence[Record], key: Callable[[FigureKey], str]) -> Metric:
    """The share of figures, or of questions, that are right as a whole."""
    of_unit = partial(_key_of_record, key)
    right = all_right(records, of_unit)
    sets = {of_unit(record): _set_name(record) for record in records}
    return mean_metric(name, list(right.values()), [sets[unit] for unit in right])


def _rate_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """The mean of three as a function of sums; all figures of a set are resampled together."""
    seen = apply_failure_policy(records, context.failures)
    added = [[] if record.score is None else [RatioTerm("aAcc", record.score)] for record in seen]
    for name, key in (("fAcc", figure_of), ("qAcc", question_of)):
        of_unit = partial(_key_of_record, key)
        shares = unit_terms(seen, all_right(seen, of_unit), of_unit, name)
        added = [[*have, *more] for have, more in zip(added, shares, strict=True)]
    if len({share.ratio for shares in added for share in shares}) < len(_RATES):
        return None
    return sum_of_ratios(added, links=[_set_name(record) for record in seen])


def _set_name(record: Record) -> str:
    """Name of the set of figures, which is resampled as one."""
    key = _figure_key(record)
    return f"{key.kind}/{key.set}"


def _key_of_record(key: Callable[[FigureKey], str], record: Record) -> str:
    return key(_figure_key(record))


def _mean_of_rates(records: Sequence[Record]) -> float | None:
    rates = hallusion_scores(records, _figure_key)
    return rates.mean if rates else None


def _figure_key(record: Record) -> FigureKey:
    kind, set_id, figure, question = record.unit.rsplit("/", 3)
    return FigureKey(kind, set_id, figure, question)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceJudging(RuleScoring):
    """A judge compares every reply with the reference answer, as the authors do."""

    def score(self, plain: Benchmark, resolved: ResolvedVariant) -> Benchmark:
        scored = RuleScoring.score(self, plain, resolved)
        panel = panel_of(resolved.variant, RUBRIC, max_new_tokens=JUDGE_TOKENS)
        settings = Generation(max_new_tokens=scored.max_new_tokens)
        return replace(
            scored,
            flow=judge_flow(settings, panel, _TEMPLATE),
            extra_roles=panel.roles,
            parameters={**scored.parameters, **judge_parameters(panel, RUBRIC)},
            unscorable="" if panel else JUDGE_MISSING,
        )


def _for_rule(declaration: Declaration, variant: Variant) -> Declaration:
    if variant.rule != _OFFICIAL:
        return declaration
    scoring = ReferenceJudging(rules=_RULES)
    return replace(declaration, adjust=_adjust_with_details, scoring=scoring)


def _adjust_with_details(sample: Sample, row: Row) -> Sample:
    return add_details(_adjust(sample, row), row)


_RULES = rules_of(PARSERS["snellen"])
BENCHMARK = Declaration(
    name="hallusionbench",
    version="4",
    title="HallusionBench, figures and changed figures",
    paper="https://arxiv.org/abs/2310.14566",
    provenance="HallusionBench of its authors (BSD-3-Clause), as VLMEvalKit's TSV",
    data=single_tsv(_URL, "0c23ac0dc9ef46832d7a24504f2a0c7c"),
    aliases={"hallusion_bench_image": {}},
    for_variant=_for_rule,
    kind="yes_no",
    group_by=("category", "l2-category", "subcategory"),
    adjust=_adjust,
    template=_TEMPLATE,
    scoring=RuleScoring(rules=_RULES),
    headline=Headline(name=HEADLINE, summarise=_summarise, sums=_rate_sums),
)
