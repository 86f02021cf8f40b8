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

from snellen.benchmarks.declaration.open_questions import open_question_benchmark, vqa_rules
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.core.benchmark import Benchmark, Variant
from snellen.scoring.vqa_accuracy import vqa_accuracy_m4c

VERSION = "3"
ALIASES: dict[str, dict[str, str]] = {"TextVQA_VAL": {}}
DATA = Published(
    {},
    {
        (): published_tsv(
            "https://opencompass.openxlab.space/utils/VLMEval/TextVQA_VAL.tsv",
            "b233b31f551bbf4056f2f955da3a92cd",
        )
    },
)


def benchmark(variant: Variant) -> Benchmark:
    return open_question_benchmark(
        variant,
        name="textvqa",
        version=VERSION,
        title="TextVQA, text in pictures",
        metric="vqa_accuracy",
        data=DATA,
        rules=vqa_rules(vqa_accuracy_m4c),
        paper="https://arxiv.org/abs/1904.08920",
        source="TextVQA validation set (CC BY 4.0), as VLMEvalKit's TSV",
    )
