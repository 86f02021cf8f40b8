"""DUDE: documents of several pages, with answers that are lists or not there (Van Landeghem et al.
2023, https://arxiv.org/abs/2305.08455).

A row of this form (made up): index 0, doc_id "0017b64bd017f06db47e56a6a113e22e", question "What is
the handwritten date on page 1?", answer "Not answerable", image <base64> (a PDF).

Oddities: in VLMEvalKit's file a missing answer means "Not answerable", and a list is one text; in
the authors' a list of answers is to be met in any order. 5.7 pages a question. DUDE_MINI is a
subset. The authors also judge the confidence of an answer, which a reply in text does not give.

Our rule: ANLS with a threshold of 0.5, abstaining right or wrong, lists by their best pairing.
VLMEvalKit has no rule for lists, and drops a similarity of 0.5 itself (`--rule vlmevalkit`); it
first has GPT-4o extract a short answer from every reply, as `--extractor MODEL` does here. Without
one a rule reads it, so that wordy replies score lower than there.
"""

from __future__ import annotations

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.documents import PAGES, adapt_to_extractor, add_extraction, parse_document_answer
from snellen.benchmarks.declaration.open_questions import BARE, open_answers, open_rules
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.core.sample import Row, Sample
from snellen.prompts.pdf_pages import with_pages
from snellen.scoring.document import NOT_ANSWERABLE, anls_vlmevalkit, document_anls, list_anls
from snellen.scoring.typed_answer import parse_items

_HOME = "https://opencompass.openxlab.space/utils/VLMEval"
_LIST = "list"


def grade(answer: str, sample: Sample) -> float:
    """ANLS, of lists where the data say that the answer is one."""
    if sample.groups.get("answer_type", "").startswith(_LIST):
        return list_anls(parse_items(answer), parse_items(sample.gold[0]))
    return document_anls(answer, sample.gold)


def _grade_vlmevalkit(answer: str, sample: Sample) -> float:
    return anls_vlmevalkit(answer, sample.gold[0])


def _adjust(sample: Sample, row: Row) -> Sample:
    """A list stays one gold text; a missing gold answer means that the document has none."""
    gold = sample.gold or (NOT_ANSWERABLE,)
    if sample.groups.get("answer_type", "").startswith(_LIST):
        gold = (row.cells.get("answer", NOT_ANSWERABLE),)
    return structs.replace(sample, gold=gold, unit=row.cells.get("doc_id", sample.unit))


BENCHMARK = Declaration(
    name="dude",
    version="3",
    title="DUDE, documents of several pages",
    paper="https://arxiv.org/abs/2305.08455",
    provenance="DUDE (CC BY 4.0), as VLMEvalKit's TSV",
    data=Published(
        {"set": ("full", "mini")},
        {
            ("full",): published_tsv(f"{_HOME}/DUDE.tsv", "130d860d08206e1e407cd77150c10d88"),
            ("mini",): published_tsv(f"{_HOME}/DUDE_MINI.tsv", "e0c0d998114f0cca7516d12039d2b538"),
        },
    ),
    aliases={"DUDE_MINI": {"set": "mini"}},
    other_tools={"dude": OtherToolName("lmms-eval", "asks a subset of the validation split, of 100 documents")},
    group_by=("answer_type",),
    adjust=_adjust,
    requires=PAGES,
    template=BARE,
    max_new_tokens=256,
    scoring=open_answers(
        "anls", add_extraction(open_rules(grade, vlmevalkit=_grade_vlmevalkit, parse=parse_document_answer))
    ),
    prepare=with_pages,
    coverage="generic type",
    for_variant=adapt_to_extractor,
)
