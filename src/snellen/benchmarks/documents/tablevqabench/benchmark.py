"""TableVQA-Bench: pictures of tables, in four parts (Kim et al. 2024,
https://arxiv.org/abs/2404.19205).

A row of this form (made up): index 0, qa_id "vwtq-1", split "vwtq", question "which team won the
most?", answer "Ajax", image <base64>. Parts: vwtq (750, tables of Wikipedia), vwtq_syn (250, the
same drawn anew), vtabfact (250, statements; gold "1" or "0"), fintabnetqa (250, financial
reports).

Oddities: each part has its own prompt, with examples in text, and its own rule. Several answers
are joined by |, in replies by ||. "Answer: " in front of a reply is cut off, as VLMEvalKit does;
the authors' script takes the reply as it is (`--rule official`). A statement whose reply holds both
true and false is wrong.

The headline is the plain mean of the four parts, which differ in size; VLMEvalKit prints no
overall number, the authors' script the mean over questions (`accuracy`), which is the headline
where one part is scored alone, as the authors' files hold them. For fintabnetqa the score is the
relieved accuracy (with or without units), its exact one stands in `exact_amount`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import msgspec
from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.open_questions import BARE, open_answers, open_rules
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.documents.tablevqabench.table_answers import (
    is_statement_correct,
    same_amount,
    same_figure,
    same_items,
)
from snellen.benchmarks.protocol.parsers import OFFICIAL
from snellen.benchmarks.protocol.summary_context import SummaryContext
from snellen.core.headline import HeadlineSums
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import Metric, Summary
from snellen.prompts.stored import load_full_prompts
from snellen.scoring.grouped import interval_of_mean, small_group_notice, sums_by_label
from snellen.scoring.headlines import mean_of_groups

HEADLINE = "mean_of_parts"
PARTS = ("vwtq", "vwtq_syn", "vtabfact", "fintabnetqa")
_SYNTHETIC = "_syn"
_STATEMENTS = {"1": "True", "0": "False"}
_PREFIX = re.compile(r"^Answer: ")
_ID_FORMS = (
    (re.compile(r"\.csv_\d+$"), "vtabfact"),
    (re.compile(r"\.pdf\d*_\d+$"), "fintabnetqa"),
    (re.compile(r"^n[tu]-\d+$"), "vwtq"),
)


def grade(answer: str, sample: Sample) -> float:
    """By the rule of the part that the sample is of, without a leading "Answer: "."""
    return grade_raw(_PREFIX.sub("", answer), sample)


def grade_raw(answer: str, sample: Sample) -> float:
    """The same, of the reply as it is."""
    said, gold = answer, sample.gold[0]
    part = sample.groups.get("split", "").removesuffix(_SYNTHETIC)
    rule = {"vtabfact": is_statement_correct, "fintabnetqa": same_figure}.get(part, same_items)
    return float(rule(said, gold))


def exact_amount(answer: str, sample: Sample) -> float:
    """The same but for financial tables, whose units must be right."""
    return exact_amount_raw(_PREFIX.sub("", answer), sample)


def exact_amount_raw(answer: str, sample: Sample) -> float:
    """The same, of the reply as it is."""
    if sample.groups.get("split") != "fintabnetqa":
        return grade_raw(answer, sample)
    return float(same_amount(answer, sample.gold[0]))


def part_of_file(path: str) -> str | None:
    """The part by the name of a file in a folder of predictions."""
    name = path.rpartition("/")[2]
    return name if name in PARTS else None


def part_of_id(name: str) -> str | None:
    """The part of a question by its `qa_id`, for the authors' files, which hold one part each and
    do not name it: "2-11036258-13.html.csv_8" is a statement, "DOV_2014_page_13.pdf149186_1" about
    a financial report and "nu-1740" about a Wikipedia table (drawn anew or not, in which the rule
    does not differ)."""
    return next((part for form, part in _ID_FORMS if form.search(name)), None)


@cache
def _templates() -> Mapping[str, str]:
    return load_full_prompts("tablevqabench")


def _adjust(sample: Sample, row: Row) -> Sample:
    """Put the question into its part's prompt; the gold answer stays one text, even if it looks
    like a list."""
    part = part_of_file(row.cells.get("file", "")) or part_of_id(row.cells.get("qa_id", ""))
    if part is not None and "split" not in sample.groups:
        sample = structs.replace(sample, groups={**sample.groups, "split": part})
    template = _templates().get(sample.groups.get("split", "").removesuffix(_SYNTHETIC))
    gold = "|".join(sample.gold)
    if sample.groups.get("split") == "vtabfact":
        gold = _STATEMENTS.get(gold, gold)
    question = template.format(question=sample.question) if template else sample.question
    return structs.replace(sample, question=question, gold=(gold,) if gold else ())


def _summarise(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The plain mean of the parts, with the mean over questions beside it; of one part alone its
    own accuracy; None if two or three parts are here."""
    summary = context.plain(records)
    parts = summary.groups.get("split", {})
    values = [parts[name].value for name in PARTS if name in parts]
    present = [value for value in values if value is not None]
    notices = summary.notices
    if len(parts) == 1 and len(present) == 1:
        (name,) = parts
        notice = f"all questions are of the part {name}, whose accuracy is the headline"
        return msgspec.structs.replace(summary, notices=(*notices, notice))
    if len(present) < len(PARTS):
        note = summary.headline.note or f"only {len(present)} of the {len(PARTS)} parts are here"
        mean = Metric(HEADLINE, None, summary.n, note=note)
    else:
        sums = sums_by_label(records, "split", context.failures)
        interval = interval_of_mean([sums[name] for name in PARTS])
        mean = Metric(HEADLINE, sum(present) / len(PARTS), summary.n, interval)
        notices = (*notices, *small_group_notice({name: sums[name] for name in PARTS}))
    metrics = {HEADLINE: mean, **summary.metrics}
    return msgspec.structs.replace(
        summary, headline=mean, metrics=metrics, bounds=None, notices=notices, beside=("accuracy", *summary.beside)
    )


def _part_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    sums = mean_of_groups(
        records, lambda one: part if (part := one.groups.get("split")) in PARTS else None, context.failures
    )
    # Two columns for each part that has a score: all of them, or the one that is scored alone.
    return sums if sums is not None and sums.rows.shape[1] in (2, 2 * len(PARTS)) else None


BENCHMARK = Declaration(
    name="tablevqabench",
    version="3",
    title="TableVQA-Bench, pictures of tables",
    paper="https://arxiv.org/abs/2404.19205",
    provenance="TableVQA-Bench (MIT), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://pai-aigc-photog.oss-cn-hangzhou.aliyuncs.com/mentor-vil/datasets/tablevqa-bench.tsv",
        "2550adc61bdc82d8e62f3b003de7c62d",
    ),
    group_by=("split",),
    adjust=_adjust,
    template=BARE,
    scoring=open_answers(
        "accuracy",
        open_rules(
            grade,
            official=grade_raw,
            secondary={"exact_amount": exact_amount},
            secondary_official={"exact_amount": exact_amount_raw},
        ),
    ),
    headline=Headline(name=HEADLINE, summarise=_summarise, sums=_part_sums, weighs_scores=True),
    rule_headlines={OFFICIAL: Headline()},
)
