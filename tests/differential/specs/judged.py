"""Benchmarks graded by a judge: both sides are given the same words of it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.differential.sets import Case, Spec
from tests.differential.specs.open_answers import VLMEVALKIT_OPEN
from tests.differential.styles_open import BASES, FIRST, QUESTIONS, reply_to

_WORDS = ("0.{}", "0.{}", " 0.{}\n", "0.{}0", ".{}", "0.{}", "+0.{}")
"""Grades that everybody can read."""
_FURTHER = {
    "one": "1",
    "one with a dot": "1.0",
    "nothing": "0",
    "zero with a dot": "0.0",
    "labelled": "Score: 0.6",
    "bold": "**0.6**",
    "in a sentence": "I would give it 0.6.",
    "with a dot behind": "0.6.",
    "out of one": "0.6/1",
    "above one": "1.5",
    "below zero": "-0.5",
    "percent": "60%",
    "word": "correct",
    "two grades": "0.2 or 0.6",
    "thinking": "<think>0.1</think>0.6",
    "exponent": "6e-1",
    "not a number": "n/a",
    "code": "`0.6`",
    "table": "| 0.6 |",
    "explained": "0.6\n\nIt names one of the two things.",
}
"""Other things that a judge may say."""
_ABILITIES = ("rec", "ocr,math", "rec,know,gen", "ocr,spat", "rec,spat", "know")


def _mm_vet() -> Iterator[Case]:
    number = FIRST
    for turn in range(3):
        for position, (style, write) in enumerate(BASES.items()):
            question = QUESTIONS[(position + turn * 5) % len(QUESTIONS)]
            cells = {
                "question": question.question,
                "answer": "<OR>".join(question.golds),
                "category": _ABILITIES[number % len(_ABILITIES)],
            }
            said = _WORDS[number % len(_WORDS)].format(number % 10)
            yield Case(str(number), cells, style, reply_to(question, write, position), said)
            number += 1
    for style, said in _FURTHER.items():
        question = QUESTIONS[number % len(QUESTIONS)]
        cells = {"question": question.question, "answer": question.golds[0], "category": "math"}
        yield Case(str(number), cells, f"judge: {style}", question.golds[0], said)
        number += 1


SPECS = (
    Spec(
        name="mm-vet.vlmevalkit",
        benchmark="mm-vet",
        rule="snellen",
        oracle=VLMEVALKIT_OPEN,
        path="vlmeval/dataset/utils/mmvet.py, MMVet_auxeval and MMVet_acc",
        cases=_mm_vet,
        arguments={
            "how": "extracted",
            "dataset": "MMVet",
            "said": "score",
            "reader": "utils.mmvet:MMVet_auxeval:score",
            "column": "score",
            "table": ["Category", "acc"],
        },
        # Of the other abilities some questions need nothing else: these count twice there.
        metrics={"score": "Overall", **{f"capability/{ability}": ability for ability in ("ocr", "gen", "spat")}},
    ),
)
