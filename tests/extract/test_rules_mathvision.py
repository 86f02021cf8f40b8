"""MATH-Vision's extraction of short answers, as its authors' `evaluate.py` makes it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from snellen.extract.published.mathvision import parse_short_answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("We multiply.\nSo the answer is \\boxed{42}.", "42"),
        ("\\boxed{a} and then \\boxed{b}", "b"),
        ("B\nbecause it is", "b"),
        ("I think so (D).", "d"),
        ("D.", "d"),
        ("The value is 12.", "12"),
        ("The answer is 5. It was easy.", "5"),
        ("the final answer is\n7", "7"),
        ("x = 3 = y", "y"),
        ("about 50\\%", "about50"),
        ("0.5", "\\frac{1}{2}"),
        (".5", "\\frac{1}{2}"),
        ("-3/4", "\\frac{-3}{4}"),
        ("03/4", "03/4"),
        ("\\sqrt2 + \\frac12", "\\sqrt{2}+\\frac{1}{2}"),
        ("\\frac12", "\\frac12"),
        ("36^{\\circ}", "36"),
        ("{A}", "a"),
        ("(b)", "b"),
        ("5 } and {", "5"),
        ("", ""),
    ],
)
def test_short_answers(reply: str, answer: str) -> None:
    assert parse_short_answer(reply) == answer


def test_extracted_answer_is_unchanged() -> None:
    left = "e}.theansweris:{e"
    assert parse_short_answer(left) == left


def test_golden_replies(golden: Callable[[str], Path]) -> None:
    """Every one of 24,320 replies."""
    differing = []
    for file in sorted(golden("mathvision_test").glob("*.jsonl.gz")):
        if file.name.startswith("problems"):
            continue
        for row in map(json.loads, gzip.decompress(file.read_bytes()).splitlines()):
            if parse_short_answer(row["response"]) != row["model_answer"]:
                differing.append(row["response"])
    assert differing == []
