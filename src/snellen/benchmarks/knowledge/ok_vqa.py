"""OK-VQA: questions that need knowledge from outside the picture (Marino et al. 2019,
https://arxiv.org/abs/1906.00067).

One example row: question_id 2971475, question "What sport can you use this for?", answers
["race", "race", ..., "motocross", "riding"], image (a COCO photograph), question_type "one".

Oddities: five people answered; each of their answers stands twice in the data, so that the rule
for ten can be used, and most are stemmed or put in another form besides. 5,046 questions about
the validation pictures; most pictures have one question.

Our rule is VQA accuracy (Sec. 4 of the paper), as the authors' and lmms-eval's.
"""

from __future__ import annotations

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import (
    open_answers,
    vqa_rules,
)
from snellen.benchmarks.declaration.published import HubSplit, Published

BENCHMARK = Declaration(
    name="ok-vqa",
    version="3",
    title="OK-VQA, questions that need outside knowledge",
    paper="https://arxiv.org/abs/1906.00067",
    provenance="OK-VQA validation set (CC BY 4.0) over COCO images, lmms-eval's copy",
    data=Published({}, {(): HubSplit("hf://lmms-lab-encoder/OK-VQA?split=val2014")}),
    aliases={"ok_vqa": {}, "ok_vqa_val2014": {}, "OKVQA": {}},
    group_by=("question_type",),
    scoring=open_answers("vqa_accuracy", vqa_rules()),
)
