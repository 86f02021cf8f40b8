"""SlideVQA: decks of twenty slides (Tanaka et al. 2023, https://arxiv.org/abs/2301.04883).

A row of this form (made up): index 0, question "What is the combined percentage of ...?", answer
"25%", image_path "[...]" (a picture for each slide).

Oddities: golds hold line breaks, which count as blanks. Many answers are sums over slides.
SLIDEVQA_MINI is a subset.

The headline is the authors' F1 of words, by SQuAD's normalisation; exact match and ANLS stand
beside it. VLMEvalKit has GPT-4o extract a short answer first, as `--extractor MODEL` does here, and
its F1 does not cap words that are repeated (`--rule vlmevalkit` has its F1, held to 1). Without an
extractor a rule reads the answer, so that wordy replies score lower than there.
"""

from __future__ import annotations

from msgspec import structs

from snellen.benchmarks.documents import (
    PAGES,
    about_documents,
    document_reader,
    with_extraction,
)
from snellen.benchmarks.elsewhere import Elsewhere
from snellen.benchmarks.open_questions import (
    BARE,
    on_golds,
    open_question_benchmark,
    open_rules,
)
from snellen.benchmarks.published import Published, tsv
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.sample import Row, Sample
from snellen.scoring.document import bag_of_words_f1, squad_equal, words_f1_vlmevalkit
from snellen.scoring.edit_distance import anls

VERSION = "2"
ALIASES = {"SLIDEVQA_MINI": {"set": "mini"}}
ELSEWHERE = {"slidevqa": Elsewhere("lmms-eval", "asks the validation split")}
_HOME = "https://opencompass.openxlab.space/utils/VLMEval"
DATA = Published(
    {"set": ("full", "mini")},
    {
        ("full",): tsv(f"{_HOME}/SLIDEVQA.tsv", "5e822c2f800e94c1e23badfd478326b6"),
        ("mini",): tsv(f"{_HOME}/SLIDEVQA_MINI.tsv", "6d9a8d8814fa5b7669deb2af3a3208eb"),
    },
)


def benchmark(variant: Variant) -> Benchmark:
    made = open_question_benchmark(
        variant,
        name="slidevqa",
        version=VERSION,
        title="SlideVQA, decks of slides",
        metric="f1",
        data=DATA,
        rules=with_extraction(
            open_rules(
                on_golds(bag_of_words_f1),
                vlmevalkit=_f1_vlmevalkit,
                read=document_reader,
                beside={"exact_match": on_golds(squad_equal), "anls": on_golds(anls)},
            )
        ),
        wording=BARE,
        shape=_on_one_line,
        needs=PAGES,
        paper="https://arxiv.org/abs/2301.04883",
        source="SlideVQA (NTT's evaluation licence), as VLMEvalKit's TSV",
        max_new_tokens=256,
    )
    return about_documents(made, variant)


def _f1_vlmevalkit(answer: str, sample: Sample) -> float:
    return words_f1_vlmevalkit(answer, sample.gold[0])


def _on_one_line(sample: Sample, row: Row) -> Sample:
    return structs.replace(sample, gold=tuple(gold.replace("\n", " ") for gold in sample.gold))
