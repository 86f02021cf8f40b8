"""Reading a reply that names several labels."""

from __future__ import annotations

import pytest

from snellen.core.output import ParsedAnswer, Unparsed
from snellen.extract.multi_label import parse_multi_label


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("BD", "B, D"),
        ("B, D", "B, D"),
        ("D and B", "B, D"),
        ("(B) and (D)", "B, D"),
        ("The answers are B and D.", "B, D"),
        ("The correct options are A, C, and D because", "A, C, D"),
        ("答案是B、D。", "B, D"),
        ("C", "C"),
        ("The answer is (C).", "C"),
    ],
)
def test_the_set_is_read(reply: str, value: str) -> None:
    answer = parse_multi_label(reply, "ABCD")
    assert isinstance(answer, ParsedAnswer)
    assert answer.value == value


@pytest.mark.parametrize("reply", ["A or B", "The answers are not A and B.", "BE", "BB", "ABBA"])
def test_no_set_is_guessed(reply: str) -> None:
    assert isinstance(parse_multi_label(reply, "ABCD"), Unparsed)
