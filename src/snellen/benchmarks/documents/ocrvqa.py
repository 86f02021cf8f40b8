"""OCR-VQA: questions about the covers of books (Mishra et al. 2019, ICDAR,
https://doi.org/10.1109/ICDAR.2019.00156).

One example row: index 0, question "Who is the author of this book?", answer "['Sandra Boynton']",
image <base64>.

Oddities: about five questions a cover, made from templates (title, author, genre, year, and yes/no
questions about genre). The test set has 100,424 questions (`set=test`); TESTCORE is VLMEvalKit's
much smaller subset, and the default.

Our rule is equality in lower case. So "by Sandra Boynton" is wrong, as in all published numbers.
"""

from __future__ import annotations

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import (
    against_gold,
    open_answers,
    open_rules,
)
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.scoring.exact import equal_folded

_HOME = "https://opencompass.openxlab.space/utils/VLMEval"


BENCHMARK = Declaration(
    name="ocrvqa",
    version="3",
    title="OCR-VQA, covers of books",
    paper="https://doi.org/10.1109/ICDAR.2019.00156",
    provenance="OCR-VQA (research use), as VLMEvalKit's TSV",
    data=Published(
        {"set": ("testcore", "test")},
        {
            ("testcore",): published_tsv(
                f"{_HOME}/OCRVQA_TESTCORE.tsv", "c5239fe77db8bdc1f2ad8e55e0d1fe97"
            ),
            ("test",): published_tsv(
                f"{_HOME}/OCRVQA_TEST.tsv", "ca46a6d74b403e9d6c0b670f6fc00db9"
            ),
        },
    ),
    aliases={"OCRVQA_TESTCORE": {"set": "testcore"}, "OCRVQA_TEST": {"set": "test"}},
    scoring=open_answers("exact_match", open_rules(against_gold(equal_folded))),
)
