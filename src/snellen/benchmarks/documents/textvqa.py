"""TextVQA: questions whose answer is written in the picture (Singh et al. 2019,
https://arxiv.org/abs/1904.08920).

One example row: index 34602, question "what is the brand of this camera?", answer "['nous les
gosses', 'dakota', 'clos culombu', 'dakota digital', ...]" (ten people's, repeats included), image
<base64>.

Oddities: 5,000 questions of the validation set; several questions share a picture. Answers of the
test set are withheld. LLaVA's papers show the model the words that an OCR program found; nothing
of the kind is shown here, and numbers with it are higher.

Our rule is VQA accuracy, which the authors take over. `--rule official` normalises as their
evaluator does (M4C's, also LLaVA's and lmms-eval's); VLMEvalKit keeps a dot behind a digit and
gives 0 to every answer where a row has a single gold (`--rule vlmevalkit`), which we do not.
"""

from __future__ import annotations

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import (
    open_answers,
    vqa_rules,
)
from snellen.benchmarks.declaration.published import single_tsv
from snellen.scoring.vqa_accuracy import vqa_accuracy_m4c

BENCHMARK = Declaration(
    name="textvqa",
    version="3",
    title="TextVQA, text in pictures",
    paper="https://arxiv.org/abs/1904.08920",
    provenance="TextVQA validation set (CC BY 4.0), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/TextVQA_VAL.tsv",
        "b233b31f551bbf4056f2f955da3a92cd",
    ),
    aliases={"TextVQA_VAL": {}},
    scoring=open_answers("vqa_accuracy", vqa_rules(vqa_accuracy_m4c)),
)
