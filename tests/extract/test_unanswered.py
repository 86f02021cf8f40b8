from __future__ import annotations

import pytest

from snellen.core.output import Answer, Empty, Generated, Refused, Truncated
from snellen.extract.unanswered import model_text, non_answer


@pytest.mark.parametrize(
    ("reply", "stop_reason", "answer"),
    [
        ("A", "stop", None),
        ("The ans", "length", None),
        ("", "stop", Empty()),
        (" \n", "length", Truncated()),
        ("", "refusal", Refused("stop reason")),
        ("Flagged. The answer is A", "refusal", Refused("stop reason")),
    ],
)
def test_replies_without_an_answer(reply: str, stop_reason: str, answer: Answer | None) -> None:
    assert non_answer(Generated(reply, stop_reason)) == answer


def test_the_words_of_a_filter_are_not_the_models() -> None:
    assert model_text(Generated("Flagged.", "refusal")) == ""
    assert model_text(Generated("A cat")) == "A cat"
