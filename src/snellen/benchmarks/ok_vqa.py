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

from snellen.benchmarks.declaration.open_questions import open_question_benchmark, vqa_rules
from snellen.benchmarks.declaration.published import HubSplit, Published
from snellen.core.benchmark import Benchmark, Variant

VERSION = "3"
ALIASES: dict[str, dict[str, str]] = {"ok_vqa": {}, "ok_vqa_val2014": {}, "OKVQA": {}}
DATA = Published({}, {(): HubSplit("hf://lmms-lab-encoder/OK-VQA?split=val2014")})


def benchmark(variant: Variant) -> Benchmark:
    return open_question_benchmark(
        variant,
        name="ok-vqa",
        version=VERSION,
        title="OK-VQA, questions that need outside knowledge",
        metric="vqa_accuracy",
        data=DATA,
        rules=vqa_rules(),
        groups=("question_type",),
        paper="https://arxiv.org/abs/1906.00067",
        source="OK-VQA validation set (CC BY 4.0) over COCO images, lmms-eval's copy",
    )
