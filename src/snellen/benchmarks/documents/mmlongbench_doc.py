"""MMLongBench-Doc: long documents, with answers of five types (Ma et al. 2024,
https://arxiv.org/abs/2407.01523).

One example row: index 0, doc_id "PH_2016.06.08_Economy-Final.pdf", question "According to the
report, how do 5% of the Latinos see economic upward mobility for their children?", answer "Less
well-off", answer_format "Str", evidence_pages "[5]", evidence_sources "['Chart']", image <base64>
(a PDF of 47.5 pages on average).

Oddities: a fifth of the questions cannot be answered from the document, gold "Not answerable". A
question's evidence may be of several sources, and it then counts in each.

`f1` is the headline, as in the paper: precision is the mean score of questions that the model did
answer, recall that of those that have an answer. Scores compare by type, the authors' rules. They
and VLMEvalKit have GPT-4o extract the answer from every reply first, as `--extractor MODEL` does
here. Without one a rule reads it, so that wordy replies score lower. At most 120 pages are shown,
as in VLMEvalKit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.documents import (
    PAGES,
    SHORT_OR_ABSTAIN,
    adapt_to_extractor,
    add_evidence,
    add_extraction,
    group_by_evidence,
    parse_document_answer,
)
from snellen.benchmarks.declaration.open_questions import open_answers, open_rules
from snellen.benchmarks.declaration.published import single_tsv
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.prompts.pdf_pages import with_pages
from snellen.scoring.accuracy import counted_score
from snellen.scoring.document import NOT_ANSWERABLE
from snellen.scoring.headlines import headline_interval
from snellen.scoring.typed_answer import typed_score, typed_score_by_script

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

FORMAT = "answer_format"
F1 = "f1"
_COLUMN_COUNT = 4


def summarise_documents(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """F1 as headline, accuracy beside it; a question counts under each of its sources.

    By the authors' script (`--rule official`) an answer to an unanswerable question adds nothing
    to precision, whatever its similarity to "Not answerable" earned.
    """
    summary, by_script = context.plain(records), context.rule == "official"
    if summary.headline.value is None:
        headline = msgspec.structs.replace(summary.headline, name=F1)
        return msgspec.structs.replace(summary, headline=headline)
    counted = [(record, counted_score(record, context.failures)) for record in records]
    scored = [(record, score) for record, score in counted if score is not None]
    headline = Metric(
        F1,
        100 * f1([_counts(*one, by_script) for one in scored]),
        len(scored),
        headline_interval(f1_sums(context, records), records),
    )
    return msgspec.structs.replace(
        group_by_evidence(summary, scored),
        headline=headline,
        metrics={F1: headline, **summary.metrics},
        bounds=None,
        beside=("accuracy", *summary.beside),
    )


def f1(rows: Sequence[Sequence[float]]) -> float:
    """Harmonic mean of precision and recall, 0..1, of rows of `_counts`."""
    sums = [sum(column) for column in zip(*rows, strict=True)] if rows else [0.0] * _COLUMN_COUNT
    precise, answered, recalled, answerable = sums
    precision = precise / answered if answered else 0.0
    recall = recalled / answerable if answerable else 0.0
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def _counts(record: Record, score: float, by_script: bool) -> tuple[float, float, float, float]:
    """Score and count if the model answered, score and count if there is an answer."""
    answered = float(record.answer != NOT_ANSWERABLE)
    answerable = float(record.gold != (NOT_ANSWERABLE,))
    precise = answerable if by_script else answered
    return score * precise, answered, score * answerable, answerable


def f1_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """F1 as a function of sums, whose columns are those of `_counts`."""
    import numpy as np

    rows = np.zeros((len(records), _COLUMN_COUNT))
    for row, record in zip(rows, records, strict=True):
        score = counted_score(record, context.failures)
        if score is not None:
            row[:] = _counts(record, score, context.rule == "official")
    return HeadlineSums(rows, _f1_of_sums) if rows.any() else None


def _f1_of_sums(sums: NDArray[float64]) -> NDArray[float64]:
    """In percent, of sums (draws, 4): (draws,)."""
    import numpy as np

    wholes = sums[:, 1::2]
    shares = sums[:, 0::2] / np.where(wholes > 0, wholes, 1.0)
    total = shares.sum(axis=1)
    scores: NDArray[float64] = 200 * shares.prod(axis=1) / np.where(total > 0, total, 1.0)
    return scores


def grade(answer: str, sample: Sample) -> float:
    """By the type of the gold answer."""
    return typed_score(answer, sample.gold[0], sample.groups.get(FORMAT, "Str"))


def _grade_by_script(none_is_list: bool, answer: str, sample: Sample) -> float:
    kind = sample.groups.get(FORMAT, "Str")
    return typed_score_by_script(answer, sample.gold[0], kind, none_is_list=none_is_list)


BENCHMARK = Declaration(
    name="mmlongbench-doc",
    version="3",
    title="MMLongBench-Doc, long documents",
    paper="https://arxiv.org/abs/2407.01523",
    provenance="MMLongBench-Doc (Apache-2.0), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/MMLongBench_DOC.tsv", "75f5d29965d0db68254993f6170da7c2"
    ),
    aliases={"MMLongBench_DOC": {}},
    for_variant=adapt_to_extractor,
    group_by=(FORMAT,),
    adjust=add_evidence,
    requires=PAGES,
    template=SHORT_OR_ABSTAIN,
    max_new_tokens=256,
    prepare=with_pages,
    scoring=open_answers(
        "accuracy",
        add_extraction(
            open_rules(
                grade,
                official=partial(_grade_by_script, False),
                vlmevalkit=partial(_grade_by_script, True),
                parse=parse_document_answer,
            )
        ),
    ),
    headline=Headline(name="f1", summarise=summarise_documents, sums=f1_sums),
    coverage="generic type",
)
