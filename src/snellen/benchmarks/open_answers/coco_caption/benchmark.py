"""COCO Caption: describe the photograph in a sentence (Chen et al. 2015,
https://arxiv.org/abs/1504.00325).

One example row: index 0, answer "['A man with a red helmet on a small moped on a dirt road.', ...]"
(five people's captions), image <base64>. There is no question: one is added.

Oddities: `data=val` is VLMEvalKit's file of 5,000 pictures; lmms-eval has the validation sets of
2014 (40,504 pictures) and 2017 (5,000), and Karpathy's test set (5,000), whose captions stand in a
column `sentences` and whose pictures are addresses on the web: it can be scored, not asked.

CIDEr x 100 is the headline; BLEU-1 to 4 and ROUGE-L stand beside it, as the authors' tools define
them, over words in lower case without punctuation. Those tools split words by a Java program; our
rules give the same words for all but one of 35,902 captions of two published systems and their
references. VLMEvalKit splits at blanks and keeps case and punctuation (`--rule vlmevalkit`), which
gives other numbers. `meteor=on` adds METEOR, by its authors' Java program (extra `meteor`, and a
Java runtime); without it the column says why it is empty. SPICE needs models that no package
ships, and is not computed. A sample's own score is its ROUGE-L, as CIDEr depends on the whole set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.open_questions import BARE, open_answers, open_rules, parse_whole_reply
from snellen.benchmarks.declaration.published import HubSplit, Published, published_tsv
from snellen.benchmarks.open_answers.coco_caption.summary import HEADLINE, ROUGE_L, cider_sums, summarise_captions
from snellen.core.model import Capabilities
from snellen.core.sample import Row, Sample
from snellen.data.columns import gold_answers
from snellen.scoring.captions.rouge_l import rouge_l
from snellen.scoring.captions.tokenise import caption_words

METEOR = {"meteor": ("off", "on")}
ORACLE = 1000.0
"""Of replies that are the only reference there is; with five that differ a reference has less."""
QUESTION = (
    "Please describe this image in general. Directly provide the description, do not include "
    'prefix like "This image depicts". '
)
"""VLMEvalKit's."""


def _add_references(sample: Sample, row: Row) -> Sample:
    sentences = row.cells.get("sentences")
    return structs.replace(sample, gold=gold_answers({"refs": sentences}, "refs")) if sentences else sample


def _missing_image(sample: Sample, capabilities: Capabilities) -> str | None:
    return None if sample.media else "its picture is not among the data"


def _split_at_single_blanks(caption: str) -> tuple[str, ...]:
    """As the tools' ROUGE-L alone does: two blanks hold an empty word, and lines are not parted."""
    return tuple(caption.split(" "))


def _rouge_l_grade(split: Callable[[str], Sequence[str]], answer: str, sample: Sample) -> float:
    return rouge_l(split(answer), [split(reference) for reference in sample.gold])


BENCHMARK = Declaration(
    name="coco-caption",
    version="4",
    title="COCO Caption",
    paper="https://arxiv.org/abs/1504.00325",
    provenance="COCO captions (CC BY 4.0), as VLMEvalKit's TSV",
    data=Published(
        {"data": ("val", "2014", "2017", "karpathy")},
        {
            ("val",): published_tsv(
                "https://opencompass.openxlab.space/utils/VLMEval/COCO_VAL.tsv", "72a5079dead060269ac222c5aa5128af"
            ),
            ("2014",): HubSplit("hf://lmms-lab-encoder/COCO-Caption?split=val"),
            ("2017",): HubSplit("hf://lmms-lab-encoder/COCO-Caption2017?split=val"),
            ("karpathy",): HubSplit("hf://yerevann/coco-karpathy?split=test"),
        },
    ),
    aliases={
        "COCO_Caption": {"data": "val"},
        "COCO_VAL": {"data": "val"},
        "coco2014_cap_val": {"data": "2014"},
        "coco2017_cap_val": {"data": "2017"},
        "coco_karpathy_test": {"data": "karpathy"},
    },
    options=METEOR,
    group_by=(),
    adjust=_add_references,
    question=QUESTION,
    template=BARE,
    unsupported_reason=_missing_image,
    scoring=open_answers(
        ROUGE_L,
        open_rules(
            partial(_rouge_l_grade, caption_words),
            vlmevalkit=partial(_rouge_l_grade, _split_at_single_blanks),
            parse=parse_whole_reply,
        ),
    ),
    headline=Headline(name=HEADLINE, summarise=summarise_captions, sums=cider_sums),
    oracle=ORACLE,
)
