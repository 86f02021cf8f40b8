"""SlideVQA: decks of twenty slides (Tanaka et al. 2023, https://arxiv.org/abs/2301.04883).

A row of this form (made up): index 0, question "What is the combined percentage of ...?", answer
"25%", image_path "[...]" (a picture for each slide).

Oddities: golds hold line breaks, which count as blanks (VLMEvalKit joins the lines without one).
Many answers are sums over slides. SLIDEVQA_MINI is a subset.

The headline is F1 of words by SQuAD's normalisation; exact match and ANLS stand beside it. The
authors' script normalises further, by the question too (`--rule official`, see scoring.slidevqa).
VLMEvalKit has GPT-4o extract a short answer first, as `--extractor MODEL` does here, and its F1
does not cap words that are repeated (`--rule vlmevalkit` has its F1, held to 1). Without an
extractor a rule reads the answer, so that wordy replies score lower than there.
"""

from __future__ import annotations

from collections.abc import Callable

from snellen.benchmarks.declaration.documents import (
    PAGES,
    about_documents,
    document_reader,
    with_extraction,
)
from snellen.benchmarks.declaration.open_questions import (
    BARE,
    on_golds,
    open_question_benchmark,
    open_rules,
)
from snellen.benchmarks.declaration.other_tools import Elsewhere
from snellen.benchmarks.declaration.published import Published, tsv
from snellen.benchmarks.protocol.flows import Grade
from snellen.core.benchmark import Benchmark, Variant
from snellen.scoring.document import (
    anls_in_one_piece,
    bag_of_words_f1,
    equal_vlmevalkit,
    squad_equal,
    words_f1_vlmevalkit,
)
from snellen.scoring.edit_distance import anls
from snellen.scoring.slidevqa import equal_authors, f1_authors

VERSION = "3"
EXACT, ANLS = "exact_match", "anls"
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
                official=_asked(f1_authors),
                vlmevalkit=_first(words_f1_vlmevalkit),
                read=document_reader,
                beside={EXACT: on_golds(squad_equal), ANLS: on_golds(anls)},
                beside_official={EXACT: _asked(equal_authors)},
                beside_vlmevalkit={
                    EXACT: _first(equal_vlmevalkit),
                    ANLS: _first(anls_in_one_piece),
                },
            )
        ),
        wording=BARE,
        needs=PAGES,
        paper="https://arxiv.org/abs/2301.04883",
        source="SlideVQA (NTT's evaluation licence), as VLMEvalKit's TSV",
        max_new_tokens=256,
    )
    return about_documents(made, variant)


def _first(metric: Callable[[str, str], float]) -> Grade:
    """A metric of an answer and one gold."""
    return lambda answer, sample: float(metric(answer, sample.gold[0]))


def _asked(metric: Callable[[str, str, str], float]) -> Grade:
    """A metric that looks at the question too."""
    return lambda answer, sample: float(metric(answer, sample.gold[0], sample.question))
