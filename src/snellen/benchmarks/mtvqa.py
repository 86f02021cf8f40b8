"""MTVQA: text in pictures in nine languages (Tang et al. 2024, https://arxiv.org/abs/2405.11985).

A row of this form (made up): index 0, question "Какой номер телефона указан?", answer "8-800-555",
category "RU", split "test", image <base64>.

Oddities: several questions to a picture; the languages differ in size. The overall number is the
mean over questions, not over languages.

Our rule is the authors': the gold, lower-cased and without dots, must stand in the reply. So a
reply that lists everything in the picture is right. lmms-eval and VLMEvalKit do the same.
"""

from __future__ import annotations

from snellen.benchmarks.open_questions import (
    on_golds,
    open_question_benchmark,
    open_rules,
    whole_reply,
)
from snellen.benchmarks.published import Published, tsv
from snellen.core.benchmark import Benchmark, Variant
from snellen.prompts.choice import Wording
from snellen.scoring.exact import contained

VERSION = "1"
ALIASES: dict[str, dict[str, str]] = {"MTVQA_TEST": {}}
DATA = Published(
    {},
    {
        (): tsv(
            "https://opencompass.openxlab.space/utils/VLMEval/MTVQA_TEST.tsv",
            "d87c17dbab934b7cd89c0a3c1c5657f4",
        )
    },
)
WORDING = Wording(
    open="Answer the question using a word or phrase in the language of the question."
)


def benchmark(variant: Variant) -> Benchmark:
    return open_question_benchmark(
        variant,
        name="mtvqa",
        version=VERSION,
        title="MTVQA, text in pictures in nine languages",
        metric="accuracy",
        data=DATA,
        rules=open_rules(on_golds(contained), read=whole_reply),
        wording=WORDING,
        paper="https://arxiv.org/abs/2405.11985",
        source="MTVQA test set (CC BY-NC 4.0), as VLMEvalKit's TSV",
    )
