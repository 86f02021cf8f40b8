"""TallyQA: counting (Acharya et al. 2019, https://arxiv.org/abs/1810.12440).

Snellen compares the count as a number. VLMEvalKit takes the first number from 0 to 20 in the reply,
in digits or in words.
"""

from __future__ import annotations

import re

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import open_rules
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import EQUALITY
from snellen.benchmarks.protocol.parsers import OWN, VLMEVALKIT
from snellen.core.literals import NUMBER_WORDS
from snellen.core.sample import Sample

_COUNT = re.compile(rf"\b(?:(?P<digits>[0-9]|1[0-9]|20)|{'|'.join(NUMBER_WORDS)})\b")


def _equal_first_count(answer: str, sample: Sample) -> float:
    match = _COUNT.search(answer.lower())
    if match is None:
        return 0.0
    count = int(match["digits"]) if match["digits"] else NUMBER_WORDS.index(match[0])
    return float(any(gold.strip() == str(count) for gold in sample.gold))


_RULES = open_rules(EQUALITY.grade, vlmevalkit=_equal_first_count, parse=EQUALITY.parse)

BENCHMARK = Declaration(
    name="tallyqa",
    version="10",
    title="TallyQA, counting",
    paper="https://arxiv.org/abs/1810.12440",
    provenance="TallyQA of its authors over Visual Genome and COCO images",
    data=single_tsv(
        "https://huggingface.co/datasets/moondream/TallyQA-VLMEvalKit/resolve/main/tallyqa_data.tsv",
        "959df01cf1858e73a71efe5cd3b9bf19",
        name="TallyQA.tsv",
    ),
    group_by=("issimple", "category"),
    kind="open",
    scoring=RuleScoring(rules={rule: _RULES[rule] for rule in (OWN, VLMEVALKIT)}),
    coverage="generic type",
)
