"""Parsing rules of scripts published with benchmarks about videos."""

from __future__ import annotations

import pytest

from snellen.core.output import Empty, ParsedAnswer, Truncated, Unparsed
from snellen.extract.published.videos import parse_video_holmes, parse_video_holmes_vlmevalkit, quality_parser

SIX = dict(zip("ABCDEF", ("a cat", "Boat", "car", "dog", "egg", "fly"), strict=True))


@pytest.mark.parametrize(
    ("reply", "official", "vlmevalkit"),
    [
        ("<answer>B</answer>", "B", "B"),
        ("<think>A</think><answer>\nC: car\n</answer>", "C", "C"),
        ("<answer>A</answer> no, <answer>D</answer>", "D", "D"),
        ("<answer>B, not A </answer>", "A", "A"),
        ("<answer>Boat</answer>", "B", "B"),
        ("<answer>[E]</answer>", "E", "E"),
        ("<answer>fly</answer>", None, None),
        ("<answer>A</answer><answer>B", "A", "A"),
        ("<answer><answer>C: car</answer>", "C", "C"),
        ("The answer: F", "F", None),
        ("B", "B", None),
    ],
)
def test_video_holmes_looks_for_letters_in_the_last_answer(
    reply: str, official: str | None, vlmevalkit: str | None
) -> None:
    for parse, label in ((parse_video_holmes, official), (parse_video_holmes_vlmevalkit, vlmevalkit)):
        answer = parse(reply, SIX)
        assert (answer.value if isinstance(answer, ParsedAnswer) else None) == label


def test_a_reply_without_a_letter_says_why() -> None:
    assert parse_video_holmes("", SIX) == Empty()
    assert parse_video_holmes("<think>so", SIX, "length") == Truncated()
    assert parse_video_holmes_vlmevalkit("F", SIX) == Unparsed()


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("B", "B"),
        ("B.", "B"),
        ("In short: A. Or B.", "B"),
        ("It is too dark", None),
        ("too dark", "B"),
        ("because\nA", "A"),
        ("A", "A"),
        ("b", None),
    ],
)
def test_q_bench_video_tries_the_gold_first(reply: str, label: str | None) -> None:
    parse = quality_parser(("B",))
    answer = parse(reply, {"A": "fine", "B": "too dark. Or grey"}, "stop")
    assert (answer.value if isinstance(answer, ParsedAnswer) else None) == label
