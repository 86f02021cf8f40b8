"""Reading a free reply into the text of its answer: one fact a row."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.output import Empty, ParsedAnswer, Refused, Truncated
from snellen.extract.open_text import parse_open

READ = [
    ("3", "3", "whole reply"),
    ("Red.", "Red", "whole reply"),
    ('"EXIT"', "EXIT", "whole reply"),
    ("**Stop**", "Stop", "whole reply"),
    ("3.5", "3.5", "whole reply"),
    ("blue</s>", "blue", "whole reply"),
    ("the red car on the left", "the red car on the left", "whole reply"),
    ("The answer is 3.5.", "3.5", "stated answer"),
    ("Answer: 3", "3", "stated answer"),
    ("So the final answer is: 12 cm", "12 cm", "stated answer"),
    ("The answer is 5. No, the answer is 6.", "6", "stated answer"),
    ("答案是5。", "5", "stated answer"),
    (r"\boxed{42}", "42", "boxed"),
    (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}", "boxed"),
    (r"The answer is $\boxed{\text{red}}$.", "red", "boxed"),
    ("<answer> blue </answer>", "blue", "answer"),
    ("<think>red?</think>blue", "blue", "whole reply"),
    ("We look at the sky and see its colour.\n\nblue", "blue", "last line"),
]


@pytest.mark.parametrize(("reply", "value", "rule"), READ)
def test_an_answer_is_read(reply: str, value: str, rule: str) -> None:
    answer = parse_open(reply)
    assert isinstance(answer, ParsedAnswer)
    assert (answer.value, answer.rule) == (value, rule)
    assert answer.span is not None
    assert reply[answer.span[0] : answer.span[1]] == value


def test_a_long_reply_that_marks_no_answer_is_kept_whole() -> None:
    reply = "The picture shows a street with a red car and two trees beside it"
    answer = parse_open(reply + ".")
    assert isinstance(answer, ParsedAnswer)
    assert answer.value == reply


def test_why_nothing_was_read() -> None:
    assert isinstance(parse_open(" \n"), Empty)
    assert isinstance(parse_open("I'm sorry, but I can't help with that."), Refused)
    cut = "The picture shows a street with a red car and two trees beside"
    assert isinstance(parse_open(cut, stop_reason="length"), Truncated)
    assert isinstance(parse_open("", stop_reason="length"), Truncated)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=120))
def test_any_text_can_be_read(reply: str) -> None:
    answer = parse_open(reply)
    if isinstance(answer, ParsedAnswer):
        assert answer.span is not None
        assert reply[answer.span[0] : answer.span[1]] == answer.value
