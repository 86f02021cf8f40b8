"""Checks of puzzles: what another form of an answer, and a formula, may not do."""

from __future__ import annotations

from typing import Any

import pytest

from snellen.benchmarks.open_answers.mme_reasoning.puzzles import CHECKS, solves

CARDS = {"init_cards": [8, 3, 8, 3]}


@pytest.mark.parametrize(
    ("formula", "right"),
    [
        ("8/(3-8/3) = 24", True),
        ("8 / (3 - 8 / 3)", True),
        ("8*3+8-3", False),
        ("8/(3-3)+8", False),
        ("__import__('os').getcwd() + 8383", False),
        ("8" * 300, False),
        ("(" * 100, False),
        ("8 if 3 else 8", False),
    ],
)
def test_24_is_reached_exactly_and_nothing_is_run(formula: str, right: bool) -> None:
    assert solves("judge_24points_function", formula, None, CARDS) is right


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("answer", [None, 3, "A", [], {}, [1, 2], {"A": "x"}, [[1]], {"A": None}])
def test_another_form_is_wrong(name: str, answer: Any) -> None:
    assert solves(name, answer, {"Z": 1}, {}) is False


def test_number_as_text_does_not_count_as_a_number() -> None:
    answer = {"A": "6", "B": "2", "C": "4"}
    assert solves("calculate_answer_function_1", answer, None, None) is False
