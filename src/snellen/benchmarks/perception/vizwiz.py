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

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import (
    open_answers,
    vqa_rules,
)
from snellen.benchmarks.declaration.published import HubSplit, Published
from snellen.prompts.choice import PromptTemplate

TEMPLATE = PromptTemplate(
    open="When the provided information is insufficient, respond with 'Unanswerable'.\n"
    "Answer the question using a single word or phrase."
)
"""LLaVA-1.5's and lmms-eval's."""


BENCHMARK = Declaration(
    name="vizwiz",
    version="3",
    title="VizWiz-VQA, questions of blind people",
    paper="https://arxiv.org/abs/1802.08218",
    provenance="VizWiz-VQA validation set (CC BY 4.0), lmms-eval's copy",
    data=Published({}, {(): HubSplit("hf://lmms-lab-encoder/VizWiz-VQA?split=val")}),
    aliases={"vizwiz_vqa": {}, "vizwiz_vqa_val": {}},
    group_by=("category", "answer_type"),
    template=TEMPLATE,
    scoring=open_answers("vqa_accuracy", vqa_rules()),
)
