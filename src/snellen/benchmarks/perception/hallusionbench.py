"""HallusionBench: yes/no questions about figures and changed figures (Guan et al. 2023,
https://arxiv.org/abs/2310.14566).

One example row: index "0_VD_illusion_0_1_0", question "Is the right orange circle larger than the
left orange circle?", answer "No", category "VD", l2-category "illusion", image <base64>.

Oddities: the id holds set, figure and question: its fields 3, 4 and 5, counted from 0. aAcc is the
share of right answers; fAcc that of figures all of whose questions are right; qAcc that of
questions that are right about every figure. The headline is the mean of the three, as OpenVLM's
table has it. VLMEvalKit's file has the 951 questions with a figure; the authors' has 1129, of which
those without a figure belong to other groups, so that the numbers of the two files differ. The
authors let GPT-4 judge replies, which `--rule official` does with any judge; otherwise the reply
must say yes or no.

The judge compares every reply with the reference answer, which says why ("gt_answer_details", where
the data have it). A verdict that holds "incorrect" is wrong, else one that holds "correct" is
right. "unclear" is wrong, but right where there is no figure to see, in the questions VS about
figure 0. The authors take every other verdict for unclear; here it is none, and the sample is
ungraded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, ResolvedVariant
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.judged_flows import ask_model, build_record, ungraded_record
from snellen.benchmarks.protocol.judged_summary import JUDGE_MISSING
from snellen.benchmarks.protocol.judging import JudgePanel, ask_judges, judge_parameters, judge_values, panel_of
from snellen.benchmarks.protocol.parsers import PARSERS, rules_of
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.output import Generated, ParsedAnswer
from snellen.core.record import Flow, Pass, Record
from snellen.core.request import Generation, Ref
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.extract.clean import without_thinking
from snellen.extract.unanswered import model_text, non_answer
from snellen.extract.verdicts import GRADE, ParsedVerdict
from snellen.prompts.choice import PromptTemplate, prompt
from snellen.scoring.accuracy import mean_metric
from snellen.scoring.grouped import all_right, apply_failure_policy, bounds_of
from snellen.scoring.headlines import RatioTerm, headline_interval, sum_of_ratios, unit_terms


class FigureKey(NamedTuple):
    """The figure a question is about. `kind` and `set` name the set of figures."""

    kind: str
    set: str
    figure: str
    question: str


class HallusionScores(NamedTuple):
    answers: float
    """aAcc: fraction of right answers, in percent."""
    figures: float
    """fAcc: figures with all questions right, in percent."""
    questions: float
    """qAcc: questions that are right for every figure of their set, in percent."""
    figure_count: int
    question_count: int

    @property
    def mean(self) -> float:
        return (self.answers + self.figures + self.questions) / 3


FigureKeyOf = Callable[[Record], FigureKey]


def hallusion_scores(records: Sequence[Record], figure_key: FigureKeyOf) -> HallusionScores | None:
    """The three numbers; None if no question could be scored."""
    answers = [record.score for record in records if record.score is not None]
    figures = all_right(records, lambda record: figure_of(figure_key(record)))
    questions = all_right(records, lambda record: question_of(figure_key(record)))
    if not (answers and figures and questions):
        return None
    return HallusionScores(
        100 * sum(answers) / len(answers),
        100 * sum(figures.values()) / len(figures),
        100 * sum(questions.values()) / len(questions),
        len(figures),
        len(questions),
    )


def figure_of(key: FigureKey) -> str:
    """Name of the figure."""
    return "/".join((key.kind, key.set, key.figure))


def question_of(key: FigureKey) -> str:
    """Name of the question, which is asked about every figure of the set."""
    return "/".join((key.kind, key.set, key.question))


RUBRIC = "hallusionbench"
DETAILS = "gt_answer_details"
JUDGE_TOKENS = 64
_VERDICTS = ("incorrect", "unclear", "correct")
"""In the order in which they are looked for: the last stands inside the first."""


def add_details(sample: Sample, row: Row) -> Sample:
    """Make the full reference answer the gold, if the row has one."""
    details = row.cells.get(DETAILS, "").strip()
    return structs.replace(sample, gold=(details,)) if details else sample


def judge_flow(settings: Generation, panel: JudgePanel, template: PromptTemplate) -> Callable[[Sample], Flow]:
    """Ask, then have the reply compared with the reference. Without judges it is ungraded."""

    def flow(sample: Sample) -> Flow:
        """Ask the model, then judges whether its reply agrees with the gold answer."""
        messages = prompt(sample, template=template)
        output = yield from ask_model(sample, messages, settings)
        if not isinstance(output, Generated):
            return build_record(sample, (Pass(messages, output, gold=sample.gold),))
        fields = {
            "question": sample.question,
            "gold": sample.gold[0] if sample.gold else "",
            "reply": model_text(output),
        }
        read = partial(parse_agreement, unclear=float(_may_be_unclear(sample)))
        verdicts = yield from ask_judges(panel, RUBRIC, fields, read, Ref(sample.id))
        no_answer = non_answer(output)
        answer = no_answer or ParsedAnswer(output.text.strip(), "whole reply")
        result = Pass(messages, output, answer, sample.gold, verdicts=verdicts.verdicts)
        grade = verdicts.grade()
        if not sample.gold:
            return build_record(sample, (result,))
        if grade is None or verdicts.failure is not None:
            return ungraded_record(sample, (result,), verdicts)
        result = structs.replace(result, correct=grade > 0.5)
        return build_record(sample, (result,), score=grade, values=dict(judge_values(verdicts, float)))

    return flow


def parse_agreement(reply: str, unclear: float) -> ParsedVerdict | None:
    """1 for correct, 0 for incorrect, `unclear` for unclear; None without any of these words."""
    text = without_thinking(reply).lower()
    verdict = next((word for word in _VERDICTS if word in text), None)
    if verdict is None:
        return None
    return ParsedVerdict({GRADE: {"correct": 1.0, "incorrect": 0.0, "unclear": unclear}[verdict]}, verdict)


def _may_be_unclear(sample: Sample) -> bool:
    *_, figure, _ = sample.unit.split("/")
    return sample.groups.get("category") == "VS" and figure == "0"


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
