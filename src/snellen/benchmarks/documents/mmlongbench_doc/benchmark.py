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

from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.documents import PAGES, adapt_to_extractor, add_extraction, parse_document_answer
from snellen.benchmarks.declaration.open_questions import open_answers, open_rules
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.documents.mmlongbench_doc.summary import (
    EVIDENCE,
    FORMAT,
    PAGE_COUNT,
    f1_sums,
    summarise_documents,
)
from snellen.core.sample import Row, Sample
from snellen.prompts.choice import PromptTemplate
from snellen.prompts.pdf_pages import with_pages
from snellen.scoring.typed_answer import parse_items, typed_score, typed_score_by_script

TEMPLATE = PromptTemplate(
    open="Answer with a single word or phrase. If the answer is not in the document, answer 'Not answerable'."
)
"""lmms-eval's; without an LLM to extract the answer the reply has to be short."""


def grade(answer: str, sample: Sample) -> float:
    """By the type of the gold answer."""
    return typed_score(answer, sample.gold[0], sample.groups.get(FORMAT, "Str"))


def _grade_by_script(none_is_list: bool, answer: str, sample: Sample) -> float:
    kind = sample.groups.get(FORMAT, "Str")
    return typed_score_by_script(answer, sample.gold[0], kind, none_is_list=none_is_list)


def _add_evidence(sample: Sample, row: Row) -> Sample:
    """Keep the gold answer as one text, which may be a list, and group by evidence pages and
    sources."""
    sources = ",".join(parse_items(row.cells.get("evidence_sources", "")))
    pages = len(parse_items(row.cells.get("evidence_pages", "")))
    counts = "unanswerable" if pages == 0 else "single page" if pages == 1 else "several pages"
    gold = row.cells.get("answer", "")
    evidence_groups = {PAGE_COUNT: counts, EVIDENCE: sources} if "evidence_pages" in row.cells else {}
    return structs.replace(
        sample,
        gold=(gold,) if gold else (),
        groups={**sample.groups, **{key: label for key, label in evidence_groups.items() if label}},
        unit=row.cells.get("doc_id", sample.unit),
    )


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
    adjust=_add_evidence,
    requires=PAGES,
    template=TEMPLATE,
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
