"""ChartQA: questions about charts (Masry et al. 2022, https://arxiv.org/abs/2203.10244).

One example row: index 0, question "How many stores did Saint Laurent operate in Western Europe in
2020?", answer "['47']", split "augment" (or "human"), image <base64>.

Oddities: 2,500 questions of the test set, half written by people and half made by a program; the
published number is the mean of both halves, which are of one size. Many gold answers are years:
within 5 % of the gold they are right, as any number.

Our rule is relaxed accuracy as the field computes it, Pix2Struct's: 5 % of leeway for numbers, a
final % divides by 100, commas and currency signs are not understood, a gold of 0 must be met as
text. The reply is read first: "The answer is 47" is 47 for us, and no number by `--rule
official`, which leaves the white space of a reply where it is, as Pix2Struct's function does.
"""

from __future__ import annotations

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import (
    against_gold,
    open_answers,
    open_rules,
)
from snellen.benchmarks.declaration.published import single_tsv
from snellen.scoring.exact import equal_folded
from snellen.scoring.relaxed import relaxed_correct, relaxed_untrimmed

BENCHMARK = Declaration(
    name="chartqa",
    version="3",
    title="ChartQA, charts",
    paper="https://arxiv.org/abs/2203.10244",
    provenance="ChartQA test set (GPL-3.0), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/ChartQA_TEST.tsv",
        "c902e0aa9be5582a7aad6dcf52734b42",
    ),
    aliases={"ChartQA_TEST": {}},
    group_by=("split", "type"),
    scoring=open_answers(
        "relaxed_accuracy",
        open_rules(
            against_gold(relaxed_correct),
            official=against_gold(relaxed_untrimmed),
            secondary={"exact_match": against_gold(equal_folded)},
        ),
    ),
)
