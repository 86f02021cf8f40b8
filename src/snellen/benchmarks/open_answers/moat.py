"""MOAT: questions that need several of ten abilities at once (Ye et al. 2025,
https://arxiv.org/abs/2503.09348).

One example row: index 0, question "How many lines cross the red one?", choices "[]", answer "3",
capability "['CNT', 'RLA']", images "['0_0.png']", outside_knowledge_text "A line crosses ...",
outside_knowledge_images "[]".

Oddities: the pictures are an archive of their own (`MOAT_images.zip` beside the TSV); unpack it as
`images/MOAT` in the folder of the TSV. A hint and its pictures follow the question. The choices of
a question are shuffled with the seed 0 from the first row on, which is the order that VLMEvalKit
shows. Models are asked for a JSON object; of one that has "answer" that alone is judged, else the
complete reply, as the authors do it (VLMEvalKit shows its judge the word None in place of a reply
without an object).

A judge says whether the final answer is the gold answer, in the authors' words; the score is the
share of right answers, overall and for each ability. A verdict that cannot be read leaves the
sample ungraded; the authors count it as wrong, VLMEvalKit's evaluation ends there. There is no
score without a judge.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from string import ascii_uppercase

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.judged import first_cell, judges_alone, split_list
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.protocol.judged_flows import JudgedScoring
from snellen.benchmarks.protocol.judged_summary import SEPARATOR
from snellen.core.request import Media, Message, Text, user
from snellen.core.sample import Row, Sample
from snellen.data.columns import parse_list, row_gold, row_id
from snellen.extract.verdicts import parse_graded_object, parse_object

RUBRIC = "moat"
CAPABILITY = "capability"
_PICTURE_OF_HINT = "<image>"
"""In a sample's hint, once for each picture that belongs to it."""
_INSTRUCTION = json.dumps(
    {
        "task": "Answer the question presented to you truthfully.",
        "requirements": [
            "Analyze the image(s) first, then answer the question. If you are given a list of "
            "possible answers, you must choose from it.",
            "You must answer in the following json format: "
            '{"analysis": "(write your analysis here)", "answer": "(your answer)"}',
        ],
    }
)
"""The authors' system message (configs/prompts.py, Apache-2.0), which VLMEvalKit puts before the
question."""


def moat_samples(rows: Iterable[Row]) -> Iterator[Sample]:
    """A sample for each row: the choices are part of its question, and its hint ends in a mark for
    each picture that belongs to the hint."""
    order = random.Random(0)
    for row in rows:
        cells = row.cells
        choices = [cells[letter] for letter in ascii_uppercase if letter in cells]
        order.shuffle(choices)
        question = first_cell(cells, "question")
        pictures = parse_list(first_cell(cells, "outside_knowledge_images")) or ()
        abilities = split_list(first_cell(cells, CAPABILITY))
        yield Sample(
            id=row_id(row),
            kind="open",
            question=f"{question}\nThe choices are: {choices}" if choices else question,
            gold=row_gold(row),
            media=row.media,
            hint=first_cell(cells, "outside_knowledge_text") + _PICTURE_OF_HINT * len(pictures),
            groups={CAPABILITY: SEPARATOR.join(abilities)} if abilities else {},
        )


def _messages(sample: Sample) -> tuple[Message, ...]:
    """The instruction and the question, its pictures, the hint, the pictures of the hint."""
    hint = sample.hint.replace(_PICTURE_OF_HINT, "")
    of_hint = sample.hint.count(_PICTURE_OF_HINT)
    pictures = [Media(ref.kind, ref.digest) for ref in sample.media]
    split = len(pictures) - of_hint
    hints = (Text(f"Hint:\n{hint}"),) if hint else ()
    question = Text(f"{_INSTRUCTION}\n{sample.question}")
    return (user(question, *pictures[:split], *hints, *pictures[split:]),)


def _fields(sample: Sample, reply: str) -> Mapping[str, str]:
    """The final answer of a reply that is the requested object, else the complete reply."""
    answer = (parse_object(reply) or {}).get("answer")
    return {
        "question": sample.question,
        "gold": sample.gold[0] if sample.gold else "",
        "reply": reply if answer is None else str(answer),
    }


BENCHMARK = Declaration(
    name="moat",
    version="1",
    title="MOAT, several abilities at once",
    paper="https://arxiv.org/abs/2503.09348",
    provenance="MOAT of its authors (Apache-2.0 code; the card of the data states no licence)",
    data=single_tsv(
        "https://huggingface.co/datasets/waltsun/MOAT/resolve/main/MOAT.tsv", "803b5a176a5b01aa1b8094fae73532a2"
    ),
    aliases={"MOAT": {}},
    samples=moat_samples,
    max_new_tokens=2048,
    scoring=judges_alone(
        JudgedScoring(
            rubric=RUBRIC,
            fields=_fields,
            parse=partial(parse_graded_object, name="verdict", low=0.0, high=1.0, integers_only=True),
            build_messages=_messages,
        ),
        multi_label=(CAPABILITY,),
    ),
)
