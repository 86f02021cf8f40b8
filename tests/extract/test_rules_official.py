"""The readings of scripts published with single benchmarks."""

from __future__ import annotations

import pytest

from snellen.core.output import Answer, Empty, NoMatch, ParsedAnswer, Truncated, Unparsed
from snellen.extract.published.official import parse_blink, parse_equal, parse_mmbench, parse_scienceqa

OPTIONS = {"A": "red", "B": "green", "C": "blue", "D": "yellow"}


def value(answer: Answer) -> str | None:
    return answer.value if isinstance(answer, ParsedAnswer) else None


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("B", "B"),
        ("B.", "B"),
        ("(B)", "B"),
        ("(B).", "B"),
        ("Answer :B", "B"),
        ("A red car", "A"),
        ("A red car here", "A"),  # by its text: of four words, the A may be the article
        ("A thing of no colour", None),
        ("It is blue.", "C"),
        ("A or B", None),
        ("A. or B.", None),
        ("**B**", None),
        ("The answer is blue", "C"),
        ("Failed to obtain answer via API", None),
    ],
)
def test_mmbench_compares_words_literally(reply: str, label: str | None) -> None:
    assert value(parse_mmbench(reply, OPTIONS)) == label


def test_mmbench_had_e_as_its_pseudo_choice() -> None:
    assert parse_mmbench("E", OPTIONS) == NoMatch("official")
    assert value(parse_mmbench("E", {**OPTIONS, "E": "pink"})) == "E"


@pytest.mark.parametrize(("reply", "label"), [("A", "A"), (" A\n", "A"), ("A.", None), ("a", None), ("E", None)])
def test_seed_bench_takes_the_label_alone(reply: str, label: str | None) -> None:
    assert value(parse_equal(reply, OPTIONS)) == label


@pytest.mark.parametrize(("reply", "label"), [("(A)", "A"), ("A", None), ("(C) Point C", None), ("(Z)", None)])
def test_blink_takes_the_label_in_parentheses_alone(reply: str, label: str | None) -> None:
    assert value(parse_blink(reply, OPTIONS)) == label
    assert value(parse_blink(reply, {})) == label


@pytest.mark.parametrize("read", [parse_mmbench, parse_equal, parse_blink])
def test_an_unread_reply_keeps_its_reason(read) -> None:
    assert read("", OPTIONS) == Empty()
    assert read("dunno", OPTIONS) == Unparsed()
    assert read("dun", OPTIONS, "length") == Truncated()


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("B", "B"),
        ("B. green", "B"),
        ("B.", None),
        ("(B)", None),
        ("The answer is B.", "B"),
        ("The answer is B", None),
        ("The answer is Bob.", "B"),
        ("The answer is B. No, The answer is C.", None),
        ("The answer is E.", None),
        ("green", None),
    ],
)
def test_scienceqa_as_llava_scores_it(reply: str, label: str | None) -> None:
    assert value(parse_scienceqa(reply, OPTIONS)) == label
