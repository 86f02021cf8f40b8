"""InfographicVQA: questions about infographics (Mathew et al. 2022,
https://arxiv.org/abs/2104.12756).

A row of this form (made up): index 98313, question "Which social platform has heavy female
audience?", answer "['pinterest']", image <base64>.

Oddities: 2,801 questions of the validation set; the pictures are tall, up to several thousand
pixels. Some answers are several words in any order, for which the data list each order as a gold.
The answers of the test set (3,288) are withheld: its predictions are to be sent to the Robust
Reading Competition's server.

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
    name="infovqa",
    version="3",
    title="InfographicVQA",
    paper="https://arxiv.org/abs/2104.12756",
    provenance="InfographicVQA (its own terms), as VLMEvalKit's TSV",
    data=Published(
        {"split": ("val", "test")},
        {
            ("val",): published_tsv(f"{_HOME}/InfoVQA_VAL.tsv", "2342e9c225222f0ef4dec545ebb126fe"),
            ("test",): published_tsv(
                f"{_HOME}/InfoVQA_TEST.tsv", "df535bf51b88dc9718252c34131a6227"
            ),
        },
        held_out={"test": "val"},
    ),
    aliases={"InfoVQA_VAL": {"split": "val"}, "InfoVQA_TEST": {"split": "test"}},
    scoring=open_answers("anls", anls_rules()),
    hidden_answers=("test",),
)
