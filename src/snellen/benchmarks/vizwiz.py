"""VizWiz-VQA: questions that blind people asked about their own photographs (Gurari et al. 2018,
https://arxiv.org/abs/1802.08218).

One example row: question_id "VizWiz_val_00000001.jpg", question "Can you tell me what this
medicine is please?", answers ["no", "unanswerable", "night time", ...] (ten people's), category
"other", image.

Oddities: many pictures are blurred or miss their subject, and "unanswerable" and "unsuitable" are
answers like others; so the prompt says which word to use. The column `category` (other, number,
yes/no, unanswerable) is the type of the answer. 4,319 questions, one a picture; answers of the
test set are withheld.

Our rule is VQA accuracy by leaving one out, as in the authors' script.
"""

from __future__ import annotations

from snellen.benchmarks.declaration.open_questions import open_question_benchmark, vqa_rules
from snellen.benchmarks.declaration.published import HubSplit, Published
from snellen.core.benchmark import Benchmark, Variant
from snellen.prompts.choice import PromptTemplate

VERSION = "3"
ALIASES: dict[str, dict[str, str]] = {"vizwiz_vqa": {}, "vizwiz_vqa_val": {}}
DATA = Published({}, {(): HubSplit("hf://lmms-lab-encoder/VizWiz-VQA?split=val")})
TEMPLATE = PromptTemplate(
    open="When the provided information is insufficient, respond with 'Unanswerable'.\n"
    "Answer the question using a single word or phrase."
)
"""LLaVA-1.5's and lmms-eval's."""


def benchmark(variant: Variant) -> Benchmark:
    return open_question_benchmark(
        variant,
        name="vizwiz",
        version=VERSION,
        title="VizWiz-VQA, questions of blind people",
        metric="vqa_accuracy",
        data=DATA,
        rules=vqa_rules(),
        groups=("category", "answer_type"),
        template=TEMPLATE,
        paper="https://arxiv.org/abs/1802.08218",
        source="VizWiz-VQA validation set (CC BY 4.0), lmms-eval's copy",
    )
