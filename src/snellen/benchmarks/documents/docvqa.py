"""DocVQA: questions about scanned pages (Mathew et al. 2021, https://arxiv.org/abs/2007.00398).

One example row: index 49153, question "What is the 'actual' value per 1000, during the year
1975?", answer "['0.28']", image <base64>.

Oddities: 5,349 questions about 1,286 pages of the validation set. The answers of the test set
(5,188) are withheld: its predictions are to be sent to the Robust Reading Competition's server.

Our rule is ANLS (Biten et al. 2019) over trimmed, lower-cased texts. The competition's script, and
VLMEvalKit and lmms-eval after it, divide by the length before trimming, so that white space around
a reply earns similarity (`--rule official`, `--rule vlmevalkit`).
"""

from __future__ import annotations

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import (
    anls_rules,
    open_answers,
)
from snellen.benchmarks.declaration.published import Published, published_tsv

_HOME = "https://opencompass.openxlab.space/utils/VLMEval"


BENCHMARK = Declaration(
    name="docvqa",
    version="3",
    title="DocVQA, scanned pages",
    paper="https://arxiv.org/abs/2007.00398",
    provenance="DocVQA (its own terms), as VLMEvalKit's TSV",
    data=Published(
        {"split": ("val", "test")},
        {
            ("val",): published_tsv(f"{_HOME}/DocVQA_VAL.tsv", "d5ee77e1926ff10690d469c56b73eabf"),
            ("test",): published_tsv(
                f"{_HOME}/DocVQA_TEST.tsv", "6a2f28cac26ef2d3447374e8c6f6c8e9"
            ),
        },
        held_out={"test": "val"},
    ),
    aliases={"DocVQA_VAL": {"split": "val"}, "DocVQA_TEST": {"split": "test"}},
    scoring=open_answers("anls", anls_rules()),
    hidden_answers=("test",),
)
