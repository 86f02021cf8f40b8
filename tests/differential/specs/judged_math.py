"""Benchmarks of mathematics whose judges copy out answers or compare them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.differential.specs.judged_points import Words, judged_spec
from tests.differential.styles_open import Open

_VERSIONS = ("Text Dominant", "Text Lite", "Vision Intensive", "Vision Dominant", "Vision Only")
_FIELDS = (("Plane Geometry", "Angle"), ("Plane Geometry", "Area"), ("Functions", "Property"))


def _mathverse_cells(question: Open, number: int) -> Mapping[str, Any]:
    asked, gold = question.question, question.golds[0]
    if number % 2:
        others = (gold, "no such thing", question.wrong[0], "something else")
        listed = zip("ABCD", (*others[number % 4 :], *others[: number % 4]), strict=True)
        asked = "\n".join([asked, "Choices:", *(f"{label}:{text}" for label, text in listed)])
        gold = "ABCD"[-(number % 4) % 4]
    subject, subfield = _FIELDS[number % 3]
    return {
        "question": asked,
        "question_for_eval": asked,
        "answer": gold,
        "problem_version": _VERSIONS[number % 5],
        "metadata": str({"subject": subject, "subfield": subfield}),
    }


def _bit(n: int) -> str:
    return str(int(n in (0, 2, 3, 7, 8)))


_SAME_ALIKE: Words = {
    "digit": _bit,
    "line break behind": lambda n: f"{_bit(n)}\n",
    "blank before": lambda n: f" {_bit(n)}",
    "blanks around": lambda n: f"  {_bit(n)}  ",
    "one": lambda n: "1",
    "zero": lambda n: "0",
    "the gold itself": lambda n: "{gold}",
    "the gold, a line behind": lambda n: "{gold}\n",
    "the gold, blanks around": lambda n: "  {gold} ",
}
_SAME_UNLIKE: Words = {
    "labelled": lambda n: f"Judgement: {_bit(n)}",
    "labelled, bold": lambda n: f"**Judgement:** {_bit(n)}",
    "bold": lambda n: f"**{_bit(n)}**",
    "bracket": lambda n: f"[{_bit(n)}]",
    "quoted": lambda n: f'"{_bit(n)}"',
    "full stop behind": lambda n: f"{_bit(n)}.",
    "with a point": lambda n: f"{_bit(n)}.0",
    "explained": lambda n: f"{_bit(n)}\nThat is what the two say.",
    "explained before": lambda n: f"So this is what they say.\nJudgement: {_bit(n)}",
    "JSON": lambda n: json.dumps({"judgement": int(_bit(n))}),
    "code": lambda n: f"`{_bit(n)}`",
    "thinking": lambda n: f"<think>1 or 0?</think>{_bit(n)}",
    "a half": lambda n: "0.5",
    "two": lambda n: "2",
    "below zero": lambda n: "-1",
    "word": lambda n: "Correct",
    "yes": lambda n: "Yes",
    "true": lambda n: "True",
    "consistent": lambda n: "They are consistent.",
    "refusal": lambda n: "I'm sorry, but I can't help with that.",
    "null": lambda n: "null",
    "another answer": lambda n: "no such answer",
    "the gold labelled": lambda n: "Extracted Answer: {gold}",
    "the gold bold": lambda n: "**{gold}**",
    "the gold, full stop": lambda n: "{gold}.",
    "the gold in dollars": lambda n: "${gold}$",
    "the gold in a sentence": lambda n: "The answer is {gold}",
}

SPECS = (
    judged_spec(
        "mathverse",
        "MathVerse_MINI",
        "vlmeval/dataset/utils/mathverse.py, MathVerse_auxeval_score and MathVerse_acc",
        _mathverse_cells,
        (_SAME_ALIKE, _SAME_UNLIKE),
        metrics={f"problem_version/{name}": f"{name}/Overall" for name in _VERSIONS},
        marks=["prediction", "question_for_eval"],
        column="score",
        table=["split", "Overall"],
    ),
)
