"""Replies that repeat one phrase for ever, as models in a loop write them, are read in no time."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from snellen.core.output import Answer
from snellen.extract.choice import parse_choice
from snellen.extract.multi_label import parse_multi_label
from snellen.extract.open_text import parse_open
from snellen.extract.published.videos import parse_video_holmes
from snellen.extract.yes_no import parse_yes_no

LENGTH = 100_000
OPTIONS = {"A": "a red car", "B": "a blue car", "C": "two dogs", "D": "none"}
READERS: dict[str, Callable[[str], Answer]] = {
    "choice": lambda reply: parse_choice(reply, OPTIONS),
    "letters": lambda reply: parse_multi_label(reply, "ABCD"),
    "yes or no": parse_yes_no,
    "open": parse_open,
    "last answer": lambda reply: parse_video_holmes(reply, OPTIONS),
}
PHRASES = (
    "answer: ",
    "the answer is ",
    "答案是",
    "选A",
    "\\boxed{",
    "A. ",
    "A)\n",
    "(A",
    "A\n",
    "A B C D ",
    "not ",
    "yes no ",
    "<answer>",
    '{"answer": "',
    '"answer"',
    "A is B is ",
    "Option A is correct. Wait, ",
    "<think>",
    "((((",
    "\n",
    "    ",
    "1.",
    "however ",
    "option ",
    "a red car ",
)


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.attack("100,000 characters of one phrase", "read in half a second")
def test_a_loop_is_read_in_half_a_second(reader: str, phrase: str) -> None:
    reply = phrase * (LENGTH // len(phrase))
    # Time of this process alone, and twice what it takes on a core of its own: a busy machine is
    # no failure.
    started = time.process_time()
    READERS[reader](reply)
    assert time.process_time() - started < 1.0


def test_the_last_of_many_statements_counts() -> None:
    reply = "The answer is B. " * 3000 + "So the answer is C."
    answer = parse_choice(reply, OPTIONS)
    assert answer.value == "C"  # type: ignore[union-attr]
