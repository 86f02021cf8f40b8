"""VLMEvalKit's rules: the examples on which its own functions were run."""

from __future__ import annotations

import pytest

from snellen.core.output import Answer, Empty, NoMatch, ParsedAnswer, Refused, Truncated, Unparsed
from snellen.extract.published.vlmevalkit import parse_choice_vlmevalkit, parse_yes_no_vlmevalkit

OPTIONS = {"A": "red", "B": "green", "C": "blue", "D": "yellow"}


def value(answer: Answer) -> str | None:
    return answer.value if isinstance(answer, ParsedAnswer) else None


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("B", "B"),
        ("(B)", "B"),
        ("B. green", "B"),
        ("Option B", "B"),
        ("选项B", None),
        ("b", None),
        ("The correct answer is **B**. Because A is wrong and C too", "B"),
        ("B B B B B B", None),
        ("It is blue.", "C"),
        ("The answer is blue", "B"),
        ("not blue", "C"),
        ("green and blue", None),
        ("A or B", None),
        ("Answer: C</s>", None),
        ("I think B is right because the sky is over there", None),
        ("A cat is on the mat here", None),
        ("", None),
        ("I cannot tell", None),
        ("A red car", "A"),
    ],
)
def test_choices_as_its_functions_read_them(reply: str, label: str | None) -> None:
    assert value(parse_choice_vlmevalkit(reply, OPTIONS)) == label


@pytest.mark.parametrize(
    ("reply", "stop_reason", "answer"),
    [
        ("Z", "stop", NoMatch("vlmevalkit")),
        ("Cannot determine the answer.", "stop", Refused("vlmevalkit")),
        ("", "stop", Empty()),
        ("I cannot tell", "stop", Unparsed()),
        ("I cannot te", "length", Truncated()),
        ("Failed to obtain answer via API. B", "stop", Unparsed()),
    ],
)
def test_outcomes_that_vlmevalkit_calls_z(reply: str, stop_reason: str, answer: Answer) -> None:
    assert parse_choice_vlmevalkit(reply, OPTIONS, stop_reason) == answer


@pytest.mark.parametrize(("label", "words"), [("B", 4), (None, 5)])
def test_a_label_counts_among_the_last_four_words(label: str | None, words: int) -> None:
    reply = "B " + " ".join(["x"] * (words - 1))
    assert value(parse_choice_vlmevalkit(reply, OPTIONS)) == label


@pytest.mark.parametrize(
    ("reply", "label"), [("It is cat, the answer is cat", "C"), ("the answer is a cat", "A"), ("Answer is dog", "D")]
)
def test_the_letter_after_answer_is_needs_no_end(reply: str, label: str) -> None:
    assert value(parse_choice_vlmevalkit(reply, OPTIONS)) == label
    assert value(parse_choice_vlmevalkit(reply, {"E": "red", "F": "green"})) is None


def test_a_reply_twice_as_long_as_all_options_has_no_text() -> None:
    assert value(parse_choice_vlmevalkit("it looks blue", {"A": "blue", "B": "xy"})) is None
    assert value(parse_choice_vlmevalkit("looks blue", {"A": "blue", "B": "x"})) == "A"


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("yes, there is no doubt", None),
        ("Yes,it is blue, and", None),
        ("No,it is", "No"),
        ("Yes.No", None),
        ("no-one", "No"),
        ("not sure", None),
        ("n", None),
        ("YES!", "Yes"),
        ("Yes", "Yes"),
    ],
)
def test_yes_no_as_its_function_reads_them(reply: str, label: str | None) -> None:
    assert value(parse_yes_no_vlmevalkit(reply)) == label
