"""Benchmarks of mathematics, by the scripts of their authors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.differential.sets import Spec
from tests.differential.specs.open_answers import repository
from tests.differential.styles_math import CHOICES, OPTIONS, VALUES, math_cases
from tests.differential.styles_open import Open

MATHVISTA = repository("lupantech/MathVista", "53d525874bdde205128e6b160b7357a88277d479", "CC BY-SA 4.0")
MATHVISION = repository("mathllm/MATH-V", "a1f5cc3add200c0cd080fad463e500f44ef1fb41", "MIT")
_INTEGERS = ("How many are left?", "What is the sum?", "What is the year?")
_FLOATS = ("What is the length?", "What is the share?")
_LISTS = ("Which numbers?",)
_OF_MATHVISTA = tuple(one for one in VALUES + CHOICES * 2 if one.question in {*_INTEGERS, *_FLOATS, *_LISTS, *OPTIONS})


def _mathvista(question: Open, number: int) -> Mapping[str, Any]:
    options, gold = OPTIONS.get(question.question), question.golds[0]
    kind = (
        "text"
        if options
        else "integer"
        if question.question in _INTEGERS
        else "float"
        if question.question in _FLOATS
        else "list"
    )
    return {
        "question": question.question,
        "question_type": "multi_choice" if options else "free_form",
        "answer_type": kind,
        "precision": len(gold.partition(".")[2]) if kind == "float" else "",
        "choices": str(list(options.values())) if options else "[]",
        "answer": options[gold] if options else gold,
        "task": ("figure question answering", "math word problem")[number % 2],
        "skills": "['algebraic reasoning']",
    }


def _mathvision(question: Open, number: int) -> Mapping[str, Any]:
    options = OPTIONS.get(question.question)
    return {
        "question": question.question,
        "choices": str(list(options.values())) if options else "[]",
        "answer": question.golds[0],
        "category": ("logic", "algebra")[number % 2],
        "level": str(1 + number % 5),
    }


SPECS = (
    Spec(
        name="mathvista.authors",
        benchmark="mathvista",
        rule="official",
        oracle=MATHVISTA,
        path="evaluation/calculate_score.py, normalize_extracted_answer and safe_equal",
        cases=math_cases(_mathvista, _OF_MATHVISTA, recorded=True),
        arguments={"scorer": "mathvista"},
        metrics={"accuracy": "mean"},
    ),
    Spec(
        name="mathvision.authors",
        benchmark="mathvision",
        rule="official",
        oracle=MATHVISION,
        path="evaluation/evaluate.py, evaluate",
        cases=math_cases(_mathvision, VALUES + CHOICES),
        arguments={"scorer": "mathvision"},
        metrics={"accuracy_by_rules": "mean"},
    ),
)
